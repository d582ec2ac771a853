"""What a file's partition values say about a filter: that no row passes, or that every row does."""

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

Known = list[tuple[BoundField, Value | None]]
"""A file's partition: its fields, each with its value."""

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

    A file of another spec than the one given may have any row.
    """
    if file.spec_id != spec.id or not spec.fields:
        return True
    return _may(filter, known_partition(spec, schema, file))


def known_partition(spec: PartitionSpec, schema: Schema, file: DataFileRef) -> Known:
    """The partition of a file of this spec, as far as the schema still has its columns."""
    values = partition_values(file, spec, schema)
    return [(one, values[one.field.field_id]) for one in bound_fields(spec, schema) if one.field.field_id in values]


def of_leaf(leaf: Leaf, known: Known) -> Known:
    """What says something of the leaf's column."""
    return [
        (bound, value)
        for bound, value in known
        if bound.source.id == leaf.field.id and bound.field.transform.name != "void"
    ]


def _may(filter: Filter, known: Known) -> bool:
    match filter:
        case And(parts):
            return all(_may(part, known) for part in parts)
        case Or(parts):
            return any(_may(part, known) for part in parts)
        case leaf:
            return all(leaf_may_match_partition(leaf, bound, value) for bound, value in of_leaf(leaf, known))


def leaf_may_match_partition(leaf: Leaf, bound: BoundField, value: Value | None) -> bool:
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
            return is_nan(value)  # a partition of floating-point values is an identity
        case NotNan():
            return not is_nan(value)
        case OneOf(_, values):
            return any(transform.apply(type, one) == value for one in values)
        case NoneOf(_, values):
            return not (is_whole(transform, value) and value in values)
        case Like(_, pattern):
            return may_be_like_in_partition(pattern, transform, value)
        case NotLike(_, pattern):
            return not is_like_in_partition(pattern, transform, value)
        case Comparison(_, sign, compared) if is_whole(transform, value):
            return _HOLDS[sign](value, compared)
        case Comparison(_, sign, compared):
            return _comparison_may(sign, compared, transform, type, value)


def may_be_like_in_partition(pattern: Pattern, transform: Transform, value: Value) -> bool:
    """Whether a text of this partition can match the pattern."""
    if not isinstance(value, str):
        return True  # a bucket's number
    if is_whole(transform, value):
        return pattern.matches(value)
    return value.startswith(pattern.prefix[: len(value)])


def is_like_in_partition(pattern: Pattern, transform: Transform, value: Value) -> bool:
    """Whether every text of this partition matches the pattern."""
    if not isinstance(value, str):
        return False
    if is_whole(transform, value):
        return pattern.matches(value)
    return pattern.is_prefix and value.startswith(pattern.prefix)


def is_whole(transform: Transform, value: Value) -> bool:
    """Whether a partition's value is that of the column in all of its rows: also a text too short to be cut."""
    if transform.name == "truncate" and isinstance(value, str | bytes):
        return len(value) < (transform.parameter or 0)
    return transform.name == "identity"


def _comparison_may(sign: Operator, compared: Value, transform: Transform, type: Type, value: Value) -> bool:
    match sign:
        case Operator.EQUAL:
            return transform.apply(type, compared) == value
        case Operator.NOT_EQUAL:
            return True
        case _ if not transform.keeps_order:
            return True
        case Operator.LESS:
            return value <= transform.apply(type, moved(type, compared, -1))  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return value <= transform.apply(type, compared)  # type: ignore[operator]
        case Operator.GREATER:
            return value >= transform.apply(type, moved(type, compared, 1))  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return value >= transform.apply(type, compared)  # type: ignore[operator]


def moved(type: Type, value: Value, step: int) -> Value:
    """The next value up or down where a type has one, else the value itself: `x < 5` of whole numbers is `x <= 4`."""
    if isinstance(type, Decimal):
        return scaled(unscaled(value, type.scale) + step, type.scale)  # type: ignore[arg-type]
    return value + step if type in _DISCRETE else value  # type: ignore[operator]


def residual(filter: Filter, spec: PartitionSpec, schema: Schema, file: DataFileRef) -> Filter:
    """What is left to test of the file's rows: the filter without what its partition values make certain, true or not.

    `ALWAYS` if every row passes, `NEVER` if none does. Of a file of another spec than the one given nothing is certain.
    """
    if file.spec_id != spec.id or not spec.fields:
        return filter
    return _residual(filter, known_partition(spec, schema, file))


def _residual(filter: Filter, known: Known) -> Filter:
    match filter:
        case And(parts):
            return all_of([_residual(part, known) for part in parts])
        case Or(parts):
            return any_of([_residual(part, known) for part in parts])
        case leaf:
            return _leaf_residual(leaf, of_leaf(leaf, known))


def _leaf_residual(leaf: Leaf, known: Known) -> Filter:
    if any(_leaf_covers(leaf, bound, value) for bound, value in known):
        return ALWAYS
    possible = all(leaf_may_match_partition(leaf, bound, value) for bound, value in known)
    return leaf if possible else NEVER


def _leaf_covers(leaf: Leaf, bound: BoundField, value: Value | None) -> bool:
    if isinstance(leaf, IsNull) or value is None:
        return isinstance(leaf, IsNull) and value is None
    transform, type = bound.field.transform, bound.source.type
    if is_whole(transform, value):
        return leaf_may_match_partition(leaf, bound, value)
    match leaf:
        case NotNull() | NotNan():
            return True  # a partition of floating-point values is an identity
        case IsNan() | OneOf():
            return False
        case NoneOf(_, values):
            return all(transform.apply(type, one) != value for one in values)
        case Like(_, pattern):
            return is_like_in_partition(pattern, transform, value)
        case NotLike(_, pattern):
            return not may_be_like_in_partition(pattern, transform, value)
        case Comparison(_, operator, compared):
            return _comparison_covers(operator, compared, transform, type, value)


def _comparison_covers(operator: Operator, compared: Value, transform: Transform, type: Type, value: Value) -> bool:
    """Whether all that has this partition value compares so. Of whole numbers `x <= 5` is `x < 6`."""
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
            return value < transform.apply(type, moved(type, compared, 1))  # type: ignore[operator]
        case Operator.GREATER:
            return value > transform.apply(type, compared)  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return value > transform.apply(type, moved(type, compared, -1))  # type: ignore[operator]
