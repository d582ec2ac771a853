"""Flows: streams that add rows to the table of a step, each with a position of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Values = Callable[[str], Any]
"""The value of a parameter by its name, made when it is asked for."""


@dataclass(frozen=True, slots=True)
class Cdc:
    """How changes that arrive in any order are applied to a table: by `keys`, the one with the last `sequence` counts.

    `sequence` and `deletes` are expressions of Spark, as text or Column. With `scd` 2 a table keeps every version of a
    row; `tracked` are the columns of which a new value begins one, None for all.
    """

    keys: tuple[str, ...]
    sequence: Any
    deletes: Any = None
    columns: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    scd: Literal[1, 2] = 1
    tracked: tuple[str, ...] | None = None
    untracked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A stream into a table. `rows` makes it, given the values of the step's parameters; `code` is what it would do."""

    name: str
    rows: Callable[[Values], Any]
    code: str
    conf: Mapping[str, str] = field(default_factory=dict)
    cdc: Cdc | None = None
