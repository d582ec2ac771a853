"""Which files a compaction takes that is asked to sort: those that lie across others, or whose row groups do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lakebed.table.keys.compaction import (
    OLDER_SPEC,
    Group,
    Item,
    choose_by_size,
    is_due,
    is_small,
    packed,
    partitions,
)
from lakebed.table.keys.levels import Placed
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound

_Point = tuple[int, Any]  # values are compared among those of one rank: below them, or above, are nulls

_BOTTOM: _Point = (-1, 0)
_TOP: _Point = (3, 0)


@dataclass(frozen=True, slots=True)
class _Range:
    """What the first field of the order has in a file or a row group, as far as statistics tell."""

    low: _Point
    high: _Point


def choose_by_order(files: Iterable[Placed], order: SortOrder, schema: Schema, target: int) -> list[Group]:
    """Groups of files that have values of the order's first field in common, other than a last that is the next first.

    Files that only touch are in order already, and so is one whose row groups do; they are taken if they are small and
    lie beside one another, or have deleted rows. Files of an older spec are chosen as by size.
    """
    groups: list[Group] = []
    axis = _Axis(order.fields[0], schema.field_by_id(order.fields[0].source_id).type)
    for partition, members in partitions(files).items():
        if partition is OLDER_SPEC:
            groups += choose_by_size(members, target)
        else:
            groups += [Group(found, partition) for found in packed(_items(members, axis, target), target)]
    return groups


def _items(files: Sequence[Placed], axis: "_Axis", target: int) -> Iterator[Item | None]:
    """What may be taken, in the order; None where a file lies between that is left as it is."""
    for found in _clusters(files, axis):
        alone = found[0]
        due = len(found) > 1 or is_due(alone) or not axis.is_in_order(alone.file)
        taken = due or is_small(alone.file, target)
        yield Item(tuple(one.file for one in found), due) if taken else None


def _clusters(files: Sequence[Placed], axis: "_Axis") -> Iterator[list[Placed]]:
    """Files in the order, those together that have more in common than where one ends and the next begins."""
    found: list[Placed] = []
    high = _BOTTOM
    ranged = [(axis.range(one.file.statistics, one.file.num_rows), one) for one in files]
    for range, one in sorted(ranged, key=lambda pair: (pair[0].low, pair[0].high)):
        if found and range.low >= high:
            yield found
            found, high = [], _BOTTOM
        found.append(one)
        high = max(high, range.high)
    if found:
        yield found


@dataclass(frozen=True, slots=True)
class _Axis:
    """The first field of an order, and the type of its column."""

    field: SortField
    type: Type

    def range(self, statistics: Iterable[ColumnStatistics], rows: int) -> _Range:
        known = next((one for one in statistics if one.field_id == self.field.source_id), None)
        if known is None or not known.HasField("null_count") or not self.field.transform.keeps_order:
            return _Range(_BOTTOM, _TOP)
        nulls, null = known.null_count, (0 if self._has_nulls_below else 2, 0)
        if nulls == rows:
            return _Range(null, null)
        if not (known.HasField("lower") and known.HasField("upper")):
            return _Range(_BOTTOM, _TOP)
        low, high = self._point(known.lower), self._point(known.upper)
        return _Range(min(low, null), max(high, null)) if nulls else _Range(low, high)

    def is_in_order(self, file: DataFileRef) -> bool:
        """Whether each row group begins where the one before it ended."""
        ranges = [self.range(one.columns, one.num_rows) for one in file.blocks]
        if self.field.direction is Direction.DESCENDING:
            ranges.reverse()
        return all(one.high <= other.low for one, other in pairwise(ranges))

    @property
    def _has_nulls_below(self) -> bool:
        return (self.field.direction is Direction.ASCENDING) == (self.field.null_order is NullOrder.FIRST)

    def _point(self, bound: bytes) -> _Point:
        return 1, self.field.transform.apply(self.type, decode_bound(self.type, bound))
