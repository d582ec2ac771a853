"""Rows for one of several tables of a step."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows, and the table that they are for."""

    table: str
    frame: Any


def rows(table: str, frame: Any) -> Rows:
    """Rows for one of the tables of a step that has several: `yield lp.rows("sales.orders", orders)`."""
    return Rows(table, frame)
