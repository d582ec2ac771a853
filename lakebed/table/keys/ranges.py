"""Ranges of primary keys, their filters, the sort order of a key, and whether files can share keys."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lakebed.table.filter.filter import Comparison, Filter, Operator, Value, all_of, any_of
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.sort_order import Direction, SortField, SortOrder
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound

Key = tuple[Value, ...]

_KEY_ORDER_ID = 1  # any id but that of no order


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from `low` to below `high`; None if there is no limit."""

    low: Key | None = None
    high: Key | None = None

    def cut(self, keys: Iterable[Key]) -> Iterator["KeyRange"]:
        """The range, cut at these keys, which are inside it and in order; each begins a new range."""
        for low, high in pairwise([self.low, *keys, self.high]):
            yield KeyRange(low, high)

    def filter(self, schema: Schema) -> Filter | None:
        """The filter for rows with these keys; None if it is all rows."""
        parts = []
        if self.low is not None:
            parts.append(_compared(schema, self.low, Operator.GREATER, Operator.GREATER_OR_EQUAL))
        if self.high is not None:
            parts.append(_compared(schema, self.high, Operator.LESS, Operator.LESS))
        return all_of(parts) if parts else None


ALL = KeyRange()


def key_order(schema: Schema, order: SortOrder) -> SortOrder | None:
    """The table's sort order if it begins with the primary key, the key's own order if it has none; else None."""
    key = tuple(SortField(id, IDENTITY) for id in schema.identifier_ids)
    if not key:
        return None
    if not order.fields:
        return SortOrder(key, _KEY_ORDER_ID)
    first = order.fields[: len(key)]
    ascends = all(field.direction is Direction.ASCENDING and field.transform == IDENTITY for field in first)
    return order if ascends and tuple(field.source_id for field in first) == schema.identifier_ids else None


def comparisons(schema: Schema, key: Sequence[Value], operator: Operator = Operator.EQUAL) -> list[Filter]:
    """Comparisons of the primary key's columns, or the first few of them, with these values."""
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    return [Comparison(way[-1], operator, value, inside=way[:-1]) for way, value in zip(ways, key, strict=False)]


def may_share_keys(schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a key of ours may also be in theirs, by the bounds of the files; without bounds it may."""
    return any(_may_share(schema, our, their) for our in ours for their in theirs)


def _compared(schema: Schema, key: Key, operator: Operator, last: Operator) -> Filter:
    """Lexicographic comparison: a column is compared where all columns before it are equal."""
    equal, other = comparisons(schema, key), comparisons(schema, key, operator)
    ends = [*other[:-1], comparisons(schema, key, last)[-1]]
    return any_of([all_of([*equal[:place], end]) for place, end in enumerate(ends)])


def _may_share(schema: Schema, our: DataFileRef, their: DataFileRef) -> bool:
    return all(
        _overlap(schema.field_by_id(id).type, _statistics(our, id), _statistics(their, id))
        for id in schema.identifier_ids
    )


def _overlap(type: Type, our: ColumnStatistics | None, their: ColumnStatistics | None) -> bool:
    if our is None or their is None:
        return True
    return not (_is_below(type, our, their) or _is_below(type, their, our))


def _is_below(type: Type, column: ColumnStatistics, other: ColumnStatistics) -> bool:
    if not column.HasField("upper") or not other.HasField("lower"):
        return False
    return bool(decode_bound(type, column.upper) < decode_bound(type, other.lower))


def _statistics(file: DataFileRef, field_id: int) -> ColumnStatistics | None:
    return next((column for column in file.statistics if column.field_id == field_id), None)
