"""Ranges of primary keys, as values and as filters, and the order of a table's rows by its key."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lakebed.table.filter.filter import Comparison, Filter, Operator, Value, all_of, any_of
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.sort_order import Direction, SortField, SortOrder
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound

Key = tuple[Value, ...]

_IDENTITY = Transform("identity")
_OF_KEYS = 1  # any id but that of no order


def key_order(schema: Schema, order: SortOrder) -> SortOrder | None:
    """The table's sort order if it begins with the primary key, the key's own if it has none; else None."""
    key = tuple(SortField(one, _IDENTITY) for one in schema.identifier_ids)
    if not key:
        return None
    if not order.fields:
        return SortOrder(key, _OF_KEYS)
    first = order.fields[: len(key)]
    ascends = all(one.direction is Direction.ASCENDING and one.transform == _IDENTITY for one in first)
    return order if ascends and tuple(one.source_id for one in first) == schema.identifier_ids else None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from `low` on and below `high`; None has no end."""

    low: Key | None = None
    high: Key | None = None

    def cut(self, keys: Iterable[Key]) -> Iterator["KeyRange"]:
        """The range in pieces; each of the keys, which are inside it and in order, begins another."""
        for low, high in pairwise([self.low, *keys, self.high]):
            yield KeyRange(low, high)

    def filter(self, schema: Schema) -> Filter | None:
        """What the rows with these keys pass; None if all do."""
        parts = []
        if self.low is not None:
            parts.append(_compared(schema, self.low, Operator.GREATER, Operator.GREATER_OR_EQUAL))
        if self.high is not None:
            parts.append(_compared(schema, self.high, Operator.LESS, Operator.LESS))
        return all_of(parts) if parts else None


ALL = KeyRange()


def comparisons(schema: Schema, key: Sequence[Value], operator: Operator = Operator.EQUAL) -> list[Filter]:
    """Each column of the primary key, or of as many as there are values, compared with its value."""
    ways = [schema.way_by_id(one) for one in schema.identifier_ids]
    return [Comparison(way[-1], operator, value, inside=way[:-1]) for way, value in zip(ways, key, strict=False)]


def _compared(schema: Schema, key: Key, operator: Operator, last: Operator) -> Filter:
    """Column by column: one is compared where those before it are equal."""
    equal, other = comparisons(schema, key), comparisons(schema, key, operator)
    ends = [*other[:-1], comparisons(schema, key, last)[-1]]
    return any_of([all_of([*equal[:place], end]) for place, end in enumerate(ends)])


def may_share_keys(schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a key of the one may be in the other; only bounds are looked at, and where there are none it may."""
    return any(_may_share(schema, one, other) for one in ours for other in theirs)


def _may_share(schema: Schema, one: DataFileRef, other: DataFileRef) -> bool:
    return all(
        _overlap(schema.field_by_id(field).type, _statistics(one, field), _statistics(other, field))
        for field in schema.identifier_ids
    )


def _overlap(type: Type, one: ColumnStatistics | None, other: ColumnStatistics | None) -> bool:
    if one is None or other is None:
        return True
    return not (_is_below(type, one, other) or _is_below(type, other, one))


def _is_below(type: Type, one: ColumnStatistics, other: ColumnStatistics) -> bool:
    if not one.HasField("upper") or not other.HasField("lower"):
        return False
    return bool(decode_bound(type, one.upper) < decode_bound(type, other.lower))


def _statistics(file: DataFileRef, field: int) -> ColumnStatistics | None:
    return next((one for one in file.statistics if one.field_id == field), None)
