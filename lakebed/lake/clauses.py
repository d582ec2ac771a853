"""The clauses that `Table.merge` is given, in the order in which they are asked: the first that holds decides.

They are values: they can be compared, kept and pickled. Names, types and conditions are checked when rows are merged.
"""

from collections.abc import Mapping
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.assignments import Values
from lakebed.table.expression.merge_clauses import Clause, Then, When
from lakebed.table.filter.condition import Condition

Where = str | Condition | None
"""A condition over `target.x` and `source.x`, as SQL or made from `lakebed.col`."""


def when_matched_update(values: Values | None = None, where: Where = None) -> Clause:
    """Set columns of the table's row, without values all of them, to the source's of the same names."""
    return Clause(When.MATCHED, Then.UPDATE, _given(values), where)


def when_matched_delete(where: Where = None) -> Clause:
    """Delete the table's row."""
    return Clause(When.MATCHED, Then.DELETE, None, where)


def when_not_matched_insert(values: Values | None = None, where: Where = None) -> Clause:
    """Add the source's row: without values all columns by name; columns that have none get their default."""
    return Clause(When.NOT_MATCHED, Then.INSERT, _given(values), where)


def when_not_matched_by_source_update(values: Values, where: Where = None) -> Clause:
    """Set columns of a row that no row of the source matches."""
    if values is None:
        raise _no_values(values)
    return Clause(When.NOT_MATCHED_BY_SOURCE, Then.UPDATE, _given(values), where)


def when_not_matched_by_source_delete(where: Where = None) -> Clause:
    """Delete a row that no row of the source matches."""
    return Clause(When.NOT_MATCHED_BY_SOURCE, Then.DELETE, None, where)


def _given(values: Values | None) -> tuple[tuple[str, Any], ...] | None:
    if values is None:
        return None
    if not isinstance(values, Mapping) or not values:
        raise _no_values(values)
    return tuple(values.items())


def _no_values(values: Any) -> Invalid:
    return Invalid(
        "values are given by column", expected='such as {"price": "source.price * 2"}', found=repr(values)[:80]
    )
