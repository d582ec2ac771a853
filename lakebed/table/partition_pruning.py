"""Pruning by partitions: whether a file can have a row that a filter keeps, told from its partition values alone.

A condition on a column is projected onto the partition value (Iceberg's inclusive projection): `ordered_at <
'2024-03-15'` lets no day through but those up to 2024-03-14.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

from lakebed.table.bounds import scaled, unscaled
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
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.partition_spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.partition_values import partition_values
from lakebed.table.schema import Schema
from lakebed.table.transforms import Transform
from lakebed.table.types import DATE, INT, LONG, TIMESTAMP, TIMESTAMPTZ, Decimal, Type

_Known = list[tuple[BoundField, Value | None]]  # a file's partition
_DISCRETE = (INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ)
_HOLDS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def may_match_partition(filter: Filter, spec: PartitionSpec, schema: Schema, file: DataFileRef) -> bool:
    """Whether the file can have a row that the filter keeps; False only if its partition values rule every row out.

    A file of another spec than the one given may have any row.
    """
    if file.spec_id != spec.id or not spec.fields:
        return True
    values = partition_values(file, spec, schema)
    bound = bound_fields(spec, schema)
    return _may(filter, [(one, values[one.field.field_id]) for one in bound if one.field.field_id in values])


def _may(filter: Filter, known: _Known) -> bool:
    match filter:
        case And(parts):
            return all(_may(part, known) for part in parts)
        case Or(parts):
            return any(_may(part, known) for part in parts)
        case leaf:
            return all(
                _leaf_may(leaf, one, value)
                for one, value in known
                if one.source.id == leaf.field.id and one.field.transform.name != "void"
            )


def _leaf_may(leaf: Leaf, bound: BoundField, value: Value | None) -> bool:
    """Whether a row of this partition can pass. Every transform but void gives null for null, and only for it."""
    if isinstance(leaf, IsNull):
        return value is None
    if value is None:
        return False
    transform, type = bound.field.transform, bound.source.type
    match leaf:
        case NotNull():
            return True
        case IsNan():
            return _is_nan(value)
        case NotNan():
            return not _is_nan(value)
        case OneOf(_, values):
            return any(transform.apply(type, one) == value for one in values)
        case NoneOf(_, values):
            return not (transform.name == "identity" and value in values)
        case Comparison(_, sign, compared) if transform.name == "identity":
            return _HOLDS[sign](value, compared)
        case Comparison(_, sign, compared):
            return _comparison_may(sign, compared, transform, type, value)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)  # a partition of floating-point values is an identity


def _comparison_may(sign: Operator, compared: Value, transform: Transform, type: Type, value: Value) -> bool:
    match sign:
        case Operator.EQUAL:
            return transform.apply(type, compared) == value
        case Operator.NOT_EQUAL:
            return True
        case _ if not transform.keeps_order:
            return True
        case Operator.LESS:
            return value <= transform.apply(type, _moved(type, compared, -1))  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return value <= transform.apply(type, compared)  # type: ignore[operator]
        case Operator.GREATER:
            return value >= transform.apply(type, _moved(type, compared, 1))  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return value >= transform.apply(type, compared)  # type: ignore[operator]


def _moved(type: Type, value: Value, step: int) -> Value:
    """The next value up or down where a type has one, else the value itself: `x < 5` of whole numbers is `x <= 4`."""
    if isinstance(type, Decimal):
        return scaled(unscaled(value, type.scale) + step, type.scale)  # type: ignore[arg-type]
    return value + step if type in _DISCRETE else value  # type: ignore[operator]
