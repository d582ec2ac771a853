"""Coverage by partitions: whether every row of a file surely passes a filter, told from its partition values alone.

A condition on a column is projected onto the partition value (Iceberg's strict projection): days up to 2024-03-14 have
nothing but rows with `ordered_at < '2024-03-15'`.
"""

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
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import BoundField, PartitionSpec
from lakebed.table.partition.transforms import Transform
from lakebed.table.plan.partitions import (
    Known,
    is_like_in_partition,
    is_whole,
    known_partition,
    leaf_may_match_partition,
    may_be_like_in_partition,
    moved,
    of_leaf,
)
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type


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
