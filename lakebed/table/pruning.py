"""Pruning: whether a data file can have a row that a filter keeps, told from its statistics alone."""

import math

from lakebed.table.bounds import decode_bound
from lakebed.table.filter import (
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Leaf,
    NoneOf,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
    Value,
)
from lakebed.table.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.types import Field


def may_match(filter: Filter, file: DataFileRef) -> bool:
    """Whether the file can have a row that the filter keeps; False only if it surely has none.

    What is unset in the statistics is unknown. So is a column without any: the file may lack it, or nobody looked.
    """
    match filter:
        case And(parts):
            return all(may_match(part, file) for part in parts)
        case Or(parts):
            return any(may_match(part, file) for part in parts)
        case _:
            return _leaf_may_match(filter, _statistics(file, filter.field))


def _statistics(file: DataFileRef, field: Field) -> ColumnStatistics:
    return next((one for one in file.statistics if one.field_id == field.id), ColumnStatistics())


def _leaf_may_match(leaf: Leaf, known: ColumnStatistics) -> bool:
    match leaf:
        case IsNull():
            return not (known.HasField("null_count") and known.null_count == 0)
        case IsNan():
            return not (known.HasField("nan_count") and known.nan_count == 0) and _has_values(known)
        case NotNull() | NotNan():
            return _has_values(known)
        case Comparison():
            return _has_values(known) and _comparison_may_match(leaf, *_bounds(leaf.field, known))
        case OneOf(field, values):
            lower, upper = _bounds(field, known)
            return _has_values(known) and any(_is_within(value, lower, upper) for value in values)
        case NoneOf(field, values):
            lower, upper = _bounds(field, known)
            return _has_values(known) and not (lower is not None and lower == upper and lower in values)


def _has_values(known: ColumnStatistics) -> bool:
    counted = known.HasField("value_count") and known.HasField("null_count")
    return not (counted and known.null_count == known.value_count)


def _bounds(field: Field, known: ColumnStatistics) -> tuple[Value | None, Value | None]:
    """The bounds of what is neither null nor NaN, each None if unknown."""
    lower = decode_bound(field.type, known.lower) if known.HasField("lower") else None
    upper = decode_bound(field.type, known.upper) if known.HasField("upper") else None
    return _ordered(lower), _ordered(upper)


def _ordered(bound: Value | None) -> Value | None:
    # Some writers take NaN for a minimum or maximum; parquet.thrift says to ignore such a bound.
    return None if isinstance(bound, float) and math.isnan(bound) else bound


def _comparison_may_match(leaf: Comparison, lower: Value | None, upper: Value | None) -> bool:
    """Whether a value between the bounds passes. They may lie outside the smallest and largest value, never inside."""
    value = leaf.value
    match leaf.operator:
        case Operator.EQUAL:
            return _is_within(value, lower, upper)
        case Operator.NOT_EQUAL:
            return not (lower is not None and lower == upper == value)
        case Operator.LESS:
            return lower is None or lower < value  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return lower is None or lower <= value  # type: ignore[operator]
        case Operator.GREATER:
            return upper is None or upper > value  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return upper is None or upper >= value  # type: ignore[operator]


def _is_within(value: Value, lower: Value | None, upper: Value | None) -> bool:
    return (lower is None or lower <= value) and (upper is None or value <= upper)  # type: ignore[operator]
