"""Which files a compaction rewrites, and in which groups: by their size, their keys or a sort order."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from lakebed.table.keys.levels import Placed, clusters
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound

SMALL: Final = 3, 4
"""A file below this fraction (numerator, denominator) of the target size is worth joining with others."""

GROUP_TARGETS: Final = 4
"""A group has at most this many times the target size, except for files whose keys overlap.

A merge takes or leaves a group as a whole, so it should be no larger than necessary.
"""

OLDER_SPEC: Final = None
"""The partition of files that were written with another spec than the table's newest."""

_Point = tuple[int, Any]  # rank and value: nulls have a rank of their own, below or above that of values

_BOTTOM: _Point = (-1, 0)
_TOP: _Point = (3, 0)


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are rewritten together, and their partition."""

    files: tuple[DataFileRef, ...]
    partition: Hashable

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(file.file_size for file in self.files)


def choose_by_size(files: Iterable[Placed], target: int) -> list[Group]:
    """Groups of files that are small, inline, of an older spec or have deleted rows, by partition."""
    groups: list[Group] = []
    for partition, members in _by_partition(files).items():
        wanted = (placed for placed in members if _is_due(placed) or _is_small(placed.file, target))
        items = [_Item((placed.file,), _is_due(placed)) for placed in wanted]
        groups += [Group(batch, partition) for batch in _packed(items, target)]
    return groups


def choose_by_key(
    files: Iterable[Placed], asked: frozenset[str], target: int, held: Sequence[Placed] = ()
) -> list[Group]:
    """Groups of files whose keys no other file above level 0 of their partition overlaps.

    Of the files asked for (by path), a group takes those of level 0, with all files above that overlap them, those with
    deleted rows, and small neighbours. Files of an older spec are chosen by size: the partitions of their rows are
    unknown before they are read. Held files stay as they are, with all files that overlap them.
    """
    groups: list[Group] = []
    kept = frozenset(placed.file.path for placed in held)
    for partition, members in _by_partition((*files, *held)).items():
        wanted = [placed for placed in members if placed.level > 0 or placed.file.path in asked]
        if partition is OLDER_SPEC:
            groups += choose_by_size([placed for placed in wanted if placed.file.path in asked], target)
        else:
            groups += [Group(batch, partition) for batch in _packed(_key_items(wanted, asked, kept, target), target)]
    return groups


def choose_by_order(files: Iterable[Placed], order: SortOrder, schema: Schema, target: int) -> list[Group]:
    """Groups of files whose ranges of the order's first field overlap.

    Files whose ranges only touch are in order, and so is a file whose row groups only touch; they are taken if they
    are small neighbours or have deleted rows. Files of an older spec are chosen by size.
    """
    groups: list[Group] = []
    axis = _Axis(order.fields[0], schema.field_by_id(order.fields[0].source_id).type)
    for partition, members in _by_partition(files).items():
        if partition is OLDER_SPEC:
            groups += choose_by_size(members, target)
        else:
            groups += [Group(batch, partition) for batch in _packed(_order_items(members, axis, target), target)]
    return groups


def most_gain_first(groups: Iterable[Group], target: int) -> list[Group]:
    """The groups, sorted by gain: those with the most small files and deleted rows per byte to write come first."""
    return sorted(groups, key=lambda group: -_gain(group, target) / max(1, sum(map(live_bytes, group.files))))


def live_bytes(file: DataFileRef) -> int:
    """About how many bytes the rows that are not deleted take."""
    if not file.deleted_rows or not file.num_rows:
        return file.file_size
    return file.file_size * (file.num_rows - file.deleted_rows) // file.num_rows


@dataclass(frozen=True, slots=True)
class _Item:
    """Files that stay together, and whether they have to be rewritten or only join others."""

    files: tuple[DataFileRef, ...]
    is_due: bool

    @property
    def size(self) -> int:
        return sum(map(live_bytes, self.files))


def _by_partition(files: Iterable[Placed]) -> dict[Hashable, list[Placed]]:
    by_partition: defaultdict[Hashable, list[Placed]] = defaultdict(list)
    for placed in files:
        by_partition[placed.partition].append(placed)
    return by_partition


def _is_due(placed: Placed) -> bool:
    """Whether a file has to be rewritten, even alone."""
    return placed.partition is OLDER_SPEC or is_inline(placed.file) or placed.file.HasField("dv_path")


def _is_small(file: DataFileRef, target: int) -> bool:
    """Whether a file is far enough below the target to be joined with others."""
    part, whole = SMALL
    return live_bytes(file) * whole < target * part


def _packed(items: Iterable[_Item | None], target: int) -> Iterator[tuple[DataFileRef, ...]]:
    """Neighbours joined up to the size of a group, if one of them is due or there will be fewer files."""
    waiting: list[_Item] = []
    size = 0
    for item in (*items, None):
        if waiting and (item is None or size + item.size > GROUP_TARGETS * target):
            if any(pending.is_due for pending in waiting) or _makes_fewer(waiting, size, target):
                yield tuple(file for pending in waiting for file in pending.files)
            waiting, size = [], 0
        if item is not None:
            waiting.append(item)
            size += item.size


def _makes_fewer(items: Sequence[_Item], size: int, target: int) -> bool:
    return -(-size // target) < sum(len(item.files) for item in items)


def _gain(group: Group, target: int) -> float:
    """By how many files the group shrinks, plus the fraction of deleted rows of each file."""
    after = -(-sum(map(live_bytes, group.files)) // target)
    return len(group.files) - after + sum(file.deleted_rows / file.num_rows for file in group.files if file.num_rows)


def _key_items(
    files: Iterable[Placed], asked: frozenset[str], kept: frozenset[str], target: int
) -> Iterator[_Item | None]:
    """What a group may take, in the order of keys; None for a file between that stays as it is."""
    for cluster in clusters(files):
        # Lakebed's own commits leave no overlapping files above level 0; rewriting them together fixes them.
        due = len(cluster) > 1 or any(
            placed.level == 0 or (_is_due(placed) and placed.file.path in asked) for placed in cluster
        )
        first = cluster[0].file
        if any(placed.file.path in kept for placed in cluster):
            yield None
        elif due or (first.path in asked and _is_small(first, target)):
            yield _Item(tuple(placed.file for placed in cluster), due)
        else:
            yield None


def _order_items(files: Sequence[Placed], axis: "_Axis", target: int) -> Iterator[_Item | None]:
    """What a group may take, in order; None for a file between that stays as it is."""
    for cluster in _clusters(files, axis):
        first = cluster[0]
        due = len(cluster) > 1 or _is_due(first) or not axis.is_in_order(first.file)
        taken = due or _is_small(first.file, target)
        yield _Item(tuple(placed.file for placed in cluster), due) if taken else None


def _clusters(files: Sequence[Placed], axis: "_Axis") -> Iterator[list[Placed]]:
    """Files in order; those whose ranges do more than touch are together."""
    cluster: list[Placed] = []
    high = _BOTTOM
    ranged = [(axis.range(placed.file.statistics, placed.file.num_rows), placed) for placed in files]
    for range, placed in sorted(ranged, key=lambda pair: (pair[0].low, pair[0].high)):
        if cluster and range.low >= high:
            yield cluster
            cluster, high = [], _BOTTOM
        cluster.append(placed)
        high = max(high, range.high)
    if cluster:
        yield cluster


@dataclass(frozen=True, slots=True)
class _Range:
    """The range of the order's first field in a file or a row group, by its statistics."""

    low: _Point
    high: _Point


@dataclass(frozen=True, slots=True)
class _Axis:
    """The first field of an order, and the type of its column."""

    field: SortField
    type: Type

    def range(self, statistics: Iterable[ColumnStatistics], rows: int) -> _Range:
        known = next((column for column in statistics if column.field_id == self.field.source_id), None)
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
        """Whether no row group begins before the previous one ends."""
        ranges = [self.range(row_group.columns, row_group.num_rows) for row_group in file.blocks]
        if self.field.direction is Direction.DESCENDING:
            ranges.reverse()
        return all(before.high <= after.low for before, after in pairwise(ranges))

    @property
    def _has_nulls_below(self) -> bool:
        return (self.field.direction is Direction.ASCENDING) == (self.field.null_order is NullOrder.FIRST)

    def _point(self, bound: bytes) -> _Point:
        return 1, self.field.transform.apply(self.type, decode_bound(self.type, bound))
