"""Filters that Spark pushes to a Python data source (Spark 4.1 and later), as conditions of Lakebed's."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.filter.column import Column, col
from lakebed.table.filter.condition import Condition

_CONDITIONS: dict[str, Callable[[Column, Any], Condition]] = {
    "EqualTo": lambda column, value: column == value,
    "EqualNullSafe": lambda column, value: column.is_null() if value is None else column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
    "In": lambda column, value: column.is_in([one for one in value if one is not None]),
    "IsNull": lambda column, _: column.is_null(),
    "IsNotNull": lambda column, _: column.is_not_null(),
    "StringStartsWith": lambda column, value: column.starts_with(value),
}

# A session may push values through Java's old calendar, which has this day for the ten before it, and near the first
# changes of a zone's clock, the last before 1900, other times. `hidden` says which session.
_UNSURE_DAY = date(1582, 10, 15)
_SURE_FROM = datetime(1900, 1, 1, tzinfo=UTC)


def condition_of(filter: Any) -> Condition | None:
    """The condition that a filter means, None if it has none here; for nulls both are true or neither is.

    Filters are told by their class's name: Spark 4.0 has none of the classes.
    """
    kind = type(filter).__name__
    if kind == "Not":
        inner = None if _knows_null(filter.child) else condition_of(filter.child)
        return None if inner is None else ~inner
    make = _CONDITIONS.get(kind)
    value: Any = getattr(filter, "value", None)
    if make is None or any(map(_is_unsure, value if kind == "In" else (value,))):
        return None
    try:
        return make(col(*_quoted(filter.attribute)), value)
    except Invalid:  # a value of a type that no condition has; Spark evaluates the filter itself
        return None


def _knows_null(filter: Any) -> bool:
    """Whether a filter is false where its condition is unknown, or unknown where that is false: with a null in it."""
    kind = type(filter).__name__
    return kind == "EqualNullSafe" or (kind == "In" and None in filter.value)


def _is_unsure(value: Any) -> bool:
    """Whether the query may have had another date or time."""
    if isinstance(value, datetime):
        return value.tzinfo is not None and value < _SURE_FROM
    return isinstance(value, date) and value == _UNSURE_DAY


def _quoted(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as `col` takes them: a single one may have a dot."""
    return names if len(names) > 1 else (f"`{names[0].replace('`', '``')}`",)
