"""How a caller settles the conflicts of a merge: by a function, or by a table of decisions."""

from collections.abc import Callable, Mapping

from lakebed.catalog.merge.rows import OURS, THEIRS, Choice
from lakebed.catalog.merge.settling import AnyConflict, Resolve
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.errors import Invalid

Decisions = Resolve | Mapping[str, Mapping[object, Choice]]
"""A function of a conflict, or decisions by the table's name and the row's key.

A key of several columns is a tuple. In a table without a primary key, rows are known by their ids.
"""


def parse_decisions(given: Decisions | None) -> Resolve | None:
    """The function that settles conflicts; `Invalid` if these are not decisions."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return _by_key(given)
    if callable(given):
        return _checked(given)
    raise Invalid(
        "these are not decisions",
        expected="a function of a conflict, or a mapping of tables to mappings of keys",
        found=type(given).__name__,
    )


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
