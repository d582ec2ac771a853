"""Pruning by partition values: whether a row of a file can pass a filter, and what is left to test of its rows."""

import operator
from collections.abc import Callable
from typing import Any

from lakebed.table.filter.filter import (
    ALWAYS,
    NEVER,
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Leaf,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
    Predicate,
    Value,
    all_of,
    any_of,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.partition.transforms import Transform
from lakebed.table.partition.values import partition_values
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import (
    DATE,
    INT,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    Decimal,
    Type,
)
from lakebed.table.types.values import is_nan, scaled, unscaled

_Partition = list[tuple[BoundField, Value | None]]
"""A file's partition: its fields and their values."""

_DISCRETE = (INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
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

    A file with another spec than this may have any row.
    """
    if file.spec_id != spec.id or not spec.fields:
        return True
    return _may_match(filter, _known_partition(spec, schema, file))


def residual(filter: Filter, spec: PartitionSpec, schema: Schema, file: DataFileRef) -> Filter:
    """The filter left to test on the file's rows: without the terms that its partition values make true or false.

    `ALWAYS` if every row passes, `NEVER` if none does; the whole filter for a file with another spec than this.
    """
    if file.spec_id != spec.id or not spec.fields:
        return filter
    return _residual(filter, _known_partition(spec, schema, file))


def leaf_may_match_partition(leaf: Leaf, bound: BoundField, value: Value | None) -> bool:
    """Whether a row of this partition can pass. Every transform but void gives null for null, and only for null."""
    if isinstance(leaf, IsNull):
        return value is None
    if value is None:
        return False
    transform, type = bound.field.transform, bound.source.type
    match leaf:
        case NotNull():
            return True
        case IsNan():
            return is_nan(value)  # a partition of floating-point values is an identity
        case NotNan():
            return not is_nan(value)
        case OneOf(_, values):
            return any(transform.apply(type, option) == value for option in values)
        case NoneOf(_, values):
            return not (_is_exact(transform, value) and value in values)
        case Like(_, pattern):
            return _may_be_like(pattern, transform, value)
        case NotLike(_, pattern):
            return not _is_like(pattern, transform, value)
        case Comparison(_, sign, compared) if _is_exact(transform, value):
            return _HOLDS[sign](value, compared)
        case Comparison(_, sign, compared):
            return _comparison_may_match(sign, compared, transform, type, value)


def _may_match(filter: Filter, known: _Partition) -> bool:
    match filter:
        case And(parts):
            return all(_may_match(part, known) for part in parts)
        case Or(parts):
            return any(_may_match(part, known) for part in parts)
        case Predicate():
            return True
        case leaf:
            return all(leaf_may_match_partition(leaf, bound, value) for bound, value in _of_column(leaf, known))


def _residual(filter: Filter, known: _Partition) -> Filter:
    match filter:
        case And(parts):
            return all_of([_residual(part, known) for part in parts])
        case Or(parts):
            return any_of([_residual(part, known) for part in parts])
        case Predicate():
            return filter
        case leaf:
            return _leaf_residual(leaf, _of_column(leaf, known))


def _known_partition(spec: PartitionSpec, schema: Schema, file: DataFileRef) -> _Partition:
    """The partition of a file with this spec, without fields of dropped columns."""
    values, fields = partition_values(file, spec, schema), bound_fields(spec, schema)
    return [(bound, values[bound.field.field_id]) for bound in fields if bound.field.field_id in values]


def _of_column(leaf: Leaf, known: _Partition) -> _Partition:
    """The fields that are about the leaf's column."""
    return [
        (bound, value)
        for bound, value in known
        if bound.source.id == leaf.field.id and bound.field.transform.name != "void"
    ]


def _leaf_residual(leaf: Leaf, known: _Partition) -> Filter:
    if any(_leaf_covers(leaf, bound, value) for bound, value in known):
        return ALWAYS
    possible = all(leaf_may_match_partition(leaf, bound, value) for bound, value in known)
    return leaf if possible else NEVER


def _leaf_covers(leaf: Leaf, bound: BoundField, value: Value | None) -> bool:
    if isinstance(leaf, IsNull) or value is None:
        return isinstance(leaf, IsNull) and value is None
    transform, type = bound.field.transform, bound.source.type
    if _is_exact(transform, value):
        return leaf_may_match_partition(leaf, bound, value)
    match leaf:
        case NotNull() | NotNan():
            return True  # floating-point columns have identity partitions only, which were handled above
        case IsNan() | OneOf():
            return False
        case NoneOf(_, values):
            return all(transform.apply(type, option) != value for option in values)
        case Like(_, pattern):
            return _is_like(pattern, transform, value)
        case NotLike(_, pattern):
            return not _may_be_like(pattern, transform, value)
        case Comparison(_, operator, compared):
            return _comparison_covers(operator, compared, transform, type, value)


def _comparison_may_match(sign: Operator, compared: Value, transform: Transform, type: Type, value: Value) -> bool:
    match sign:
        case Operator.EQUAL:
            return transform.apply(type, compared) == value
        case Operator.NOT_EQUAL:
            return True
        case _ if not transform.keeps_order:
            return True
        case Operator.LESS:
            return value <= transform.apply(type, _next_value(type, compared, -1))  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return value <= transform.apply(type, compared)  # type: ignore[operator]
        case Operator.GREATER:
            return value >= transform.apply(type, _next_value(type, compared, 1))  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return value >= transform.apply(type, compared)  # type: ignore[operator]


def _comparison_covers(operator: Operator, compared: Value, transform: Transform, type: Type, value: Value) -> bool:
    """Whether the comparison holds for every value in this partition. For whole numbers `x <= 5` is `x < 6`."""
    match operator:
        case Operator.EQUAL:
            return False
        case Operator.NOT_EQUAL:
            return transform.apply(type, compared) != value
        case _ if not transform.keeps_order:
            return False
        case Operator.LESS:
            return value < transform.apply(type, compared)  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return value < transform.apply(type, _next_value(type, compared, 1))  # type: ignore[operator]
        case Operator.GREATER:
            return value > transform.apply(type, compared)  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return value > transform.apply(type, _next_value(type, compared, -1))  # type: ignore[operator]


def _may_be_like(pattern: Pattern, transform: Transform, value: Value) -> bool:
    """Whether a text of this partition can match the pattern."""
    if not isinstance(value, str):
        return True  # the number of a bucket
    if _is_exact(transform, value):
        return pattern.matches(value)
    return value.startswith(pattern.prefix[: len(value)])


def _is_like(pattern: Pattern, transform: Transform, value: Value) -> bool:
    """Whether every text of this partition matches the pattern."""
    if not isinstance(value, str):
        return False
    if _is_exact(transform, value):
        return pattern.matches(value)
    return pattern.is_prefix and value.startswith(pattern.prefix)


def _is_exact(transform: Transform, value: Value) -> bool:
    """Whether the partition's value is the column's value in all rows: an identity, or a text too short to be cut."""
    if transform.name == "truncate" and isinstance(value, str | bytes):
        return len(value) < (transform.parameter or 0)
    return transform.name == "identity"


def _next_value(type: Type, value: Value, step: int) -> Value:
    """The next value up or down if the type has one, else the value itself: for whole numbers `x < 5` is `x <= 4`."""
    if isinstance(type, Decimal):
        return scaled(unscaled(value, type.scale) + step, type.scale)  # type: ignore[arg-type]
    return value + step if type in _DISCRETE else value  # type: ignore[operator]
