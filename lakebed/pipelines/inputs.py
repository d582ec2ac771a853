"""Inputs of steps, as default values of a function's parameters: the graph is known before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, TypeVar

from lakebed.errors import Invalid
from lakebed.store import Version

Moment = Version | int | date | str
OnChange = Literal["error", "ignore"]

PUBLISHED = "published"
"""The moment of what readers of the target see, whatever the run has written by now."""


@dataclass(frozen=True, slots=True)
class Read:
    """All rows of a table, a view of the lake, or a step."""

    name: str
    where: str | None = None
    columns: tuple[str, ...] | None = None
    at: Moment | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The rows that changed since the last published run of the step, with `_change_type`; at first all, as inserts."""

    name: str
    net: bool = True


@dataclass(frozen=True, slots=True)
class Appended:
    """The rows that were added since the last published run of the step; at first all."""

    name: str
    on_change: OnChange = "error"


@dataclass(frozen=True, slots=True)
class Streamed:
    """The rows that are added to a table, as a stream that goes on where its flow stopped."""

    name: str
    on_change: OnChange = "error"
    max_files: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """What the runner itself has: a step by its function's name, a parameter of the pipeline, `spark`, `run`, …."""

    name: str


Input = Read | Changed | Appended | Streamed
Source = Input | Given

Frame = TypeVar("Frame")


def read(name: str, *, where: str | None = None, columns: Sequence[str] | None = None, at: Moment | None = None) -> Any:
    """A table, a view or a step as an input: `def daily(orders: DataFrame = lp.read("sales.orders"))`.

    The step gets a DataFrame of its rows as the run's branch has them. With `at="published"` it is what the target had
    when the run began; a table that was not there is an empty frame. `at` is also any moment that `Table.at` takes.
    """
    return Read(_name(name), where, None if columns is None else tuple(columns), at)


def changes(name: str, *, net: bool = True) -> Any:
    """The rows of a table that changed since the last published run of this step, with `_change_type`.

    At first all rows, as inserts. Of an update the row as it is now comes; if its primary key changed, the old key as a
    `delete`, too. With `net=False` every commit's changes come.
    """
    return Changed(_name(name), net)


def appended(name: str, *, on_change: OnChange = "error") -> Any:
    """The rows that were added to a table since the last published run of this step.

    If rows were updated or deleted meanwhile, it is an error that names the commit, or with `on_change="ignore"` those
    are left out.
    """
    if on_change not in ("error", "ignore"):
        raise Invalid("changes of old rows are an error or ignored", expected="error or ignore", found=repr(on_change))
    return Appended(_name(name), on_change)


def _name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise Invalid("an input is named", expected='a table, such as "sales.orders"', found=repr(name))
    return name
