"""Differences of rows applied to a state, and the differences that two states have by brute force."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from lakebed import RowDifference, Schema, Table
from tests.support.feeds import state_of

Found = tuple[str, Any, tuple[str, ...], Any, Any]


def patched(state: Iterable[tuple[Any, ...]], rows: Iterable[RowDifference]) -> Counter[tuple[Any, ...]]:
    """The rows of a state after differences; what goes has to be there."""
    after = Counter(state)
    found = list(rows)
    for row in found:
        if row.before is not None:
            values = tuple(row.before.values())
            assert after[values] > 0, row
            after[values] -= 1
    for row in found:
        if row.after is not None:
            after[tuple(row.after.values())] += 1
    return +after


def expected(first: Table[Any] | None, second: Table[Any] | None, shown: Schema) -> list[Found]:
    """What differs between two states whose first column is their key."""
    before, after = (
        {} if one is None else {row[0]: row for row in state_of(one, shown).values()} for one in (first, second)
    )
    found: list[Found] = []
    for key in {*before, *after}:
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            found.append(("deleted" if new is None else "inserted", key, (), old, new))
        elif old != new:
            cells = zip(shown.names, old, new, strict=True)
            found.append(("updated", key, tuple(name for name, one, other in cells if one != other), old, new))
    return sorted(found, key=repr)


def found_of(rows: Iterable[RowDifference]) -> list[Found]:
    """Differences in the form of `expected`."""
    return sorted(
        (
            (
                row.change,
                next(iter(row.key.values())),
                row.columns,
                None if row.before is None else tuple(row.before.values()),
                None if row.after is None else tuple(row.after.values()),
            )
            for row in rows
        ),
        key=repr,
    )
