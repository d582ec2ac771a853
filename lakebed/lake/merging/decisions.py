"""How a caller settles the conflicts of a merge: by a function, or by a table of decisions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from lakebed.catalog.merge.progress import conflict_id, from_json
from lakebed.catalog.merge.rows import OURS, THEIRS, Choice
from lakebed.catalog.merge.settling import AnyConflict, Resolve
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.errors import Invalid


class DecidedRows(Protocol):
    """Rows with decisions, such as a table of Arrow."""

    def to_pylist(self) -> list[dict[str, Any]]: ...


Decisions = Resolve | Mapping[str, Mapping[Any, Choice]] | DecidedRows | Iterable[Mapping[str, Any]]
"""A function of a conflict, decisions by the table's name and the row's key, or rows with a `decision`.

A key of several columns is a tuple. In a table without a primary key, rows are known by their ids. A row names its
conflict by its `id`, as `MergeInProgress.to_arrow` has it, or by `name` and `key`.
"""


def parse_decisions(given: Decisions | None) -> Resolve | None:
    """The function that settles conflicts; `Invalid` if these are not decisions."""
    if given is None:
        return None
    rows = decided_rows(given)
    if rows is not None:
        return _by_rows(rows)
    if isinstance(given, Mapping):
        return _by_key(given)
    if callable(given):
        return _checked(given)
    raise Invalid(
        "these are not decisions",
        expected="a function of a conflict, a mapping of tables to mappings of keys, or rows with decisions",
        found=type(given).__name__,
    )


def decided_rows(given: object) -> list[Mapping[str, Any]] | None:
    """The rows with a decision of a table of conflicts; None if it is something else."""
    rows = given.to_pylist() if hasattr(given, "to_pylist") else given
    if callable(rows) or isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        return None
    found = [row for row in rows if isinstance(row, Mapping) and row.get("decision") is not None]
    for row in found:
        if not isinstance(row.get("id"), str) and (not isinstance(row.get("name"), str) or "key" not in row):
            expected = "a row of to_arrow(), with its id, or one with name and key"
            raise Invalid("a decision names its conflict", expected=expected, found=dict(row))
    return found


def choice_of(row: Mapping[str, Any]) -> Choice:
    """The decision of a row: a side, or another row, also as JSON."""
    given = row["decision"]
    if given in (OURS, THEIRS):
        return str(given)
    choice = from_json(given) if isinstance(given, str) else given
    if not isinstance(choice, Mapping):
        raise Invalid("this is not a decision", expected='"ours", "theirs", or a row', found=repr(given))
    return dict(choice)


def _by_rows(rows: Sequence[Mapping[str, Any]]) -> Resolve:
    by_id = {row["id"]: choice_of(row) for row in rows if isinstance(row.get("id"), str)}
    by_key = {(row["name"], _plain_key(row["key"])): choice_of(row) for row in rows if row.get("id") is None}

    def resolve(conflict: AnyConflict) -> Choice:
        choice = by_id.get(conflict_id(conflict))
        if choice is None and by_key and isinstance(conflict, RowConflict):
            choice = by_key.get((conflict.name, key_of(conflict)))
        return _parsed(choice, conflict)

    return resolve


def _plain_key(key: object) -> object:
    """A key as `key_of` has it, of a row that may have it as a mapping or a list."""
    values = tuple(key.values()) if isinstance(key, Mapping) else tuple(key) if isinstance(key, list) else (key,)
    return values[0] if len(values) == 1 else values


def _by_key(given: Mapping[str, Mapping[object, Choice]]) -> Resolve:
    for table, decisions in given.items():
        if not isinstance(decisions, Mapping):
            raise Invalid(
                "these are not decisions",
                subject=repr(table),
                expected='a mapping of keys, as in {"sales.orders": {17: "theirs"}}',
                found=type(decisions).__name__,
            )

    def resolve(conflict: AnyConflict) -> Choice:
        if not isinstance(conflict, RowConflict):
            return None
        return _parsed(given.get(conflict.name, {}).get(key_of(conflict)), conflict)

    return resolve


def key_of(conflict: RowConflict) -> object:
    """The key of a row as decisions name it: one value, a tuple of several, or the row's id."""
    values = tuple(conflict.key.values())
    return conflict.row_id if not values else values[0] if len(values) == 1 else values


def _checked(function: Callable[[AnyConflict], object]) -> Resolve:
    return lambda conflict: _parsed(function(conflict), conflict)


def _parsed(choice: object, conflict: AnyConflict) -> Choice:
    if choice is None or choice in (OURS, THEIRS):
        return choice
    if isinstance(conflict, RowConflict) and isinstance(choice, Mapping):
        return dict(choice)
    expected = '"ours", "theirs", a row as a mapping, or None'
    raise Invalid("this does not settle a conflict", subject=str(conflict), expected=expected, found=repr(choice))
