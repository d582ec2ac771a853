"""Which files a compaction takes, and which of them go together."""

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
"""A file below this part of the target is worth being put together with others."""

GROUP_TARGETS: Final = 4
"""So many files of the target's size go through one group at most, but for files whose keys overlap.

A group is what a merge takes or leaves as a whole, so it should not be larger than it has to be.
"""

OLDER_SPEC: Final = None
"""The partition of files that were set apart by another spec than the table's newest."""


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are written again together, and the partition that all of them are in."""

    files: tuple[DataFileRef, ...]
    partition: Hashable

    @property
    def size(self) -> int:
        """The bytes that are read for it."""
        return sum(one.file_size for one in self.files)


@dataclass(frozen=True, slots=True)
class Item:
    """Files that stay together; whether they have to be written again, or only go with others."""

    files: tuple[DataFileRef, ...]
    is_due: bool

    @property
    def size(self) -> int:
        return sum(map(live_bytes, self.files))


def choose_by_size(files: Iterable[Placed], target: int) -> list[Group]:
    """Groups of files that are small, inline, of an older spec or have deleted rows, partition by partition."""
    groups: list[Group] = []
    for partition, members in partitions(files).items():
        items = [Item((one.file,), is_due(one)) for one in members if is_due(one) or is_small(one.file, target)]
        groups += [Group(found, partition) for found in packed(items, target)]
    return groups


def choose_by_key(
    files: Iterable[Placed], asked: frozenset[str], target: int, held: Sequence[Placed] = ()
) -> list[Group]:
    """Groups of files whose keys no other file above level 0 of their partition overlaps.

    Taken are the files of level 0 among those asked for (by their paths), with all above it that they overlap; of the
    others those asked for that have deleted rows, or are small and lie beside one another. Files of an older spec are
    chosen as by size: which partitions their rows go to is not known before they are read. Those that are held stay as
    they are, with all that they overlap.
    """
    groups: list[Group] = []
    kept = frozenset(one.file.path for one in held)
    for partition, members in partitions((*files, *held)).items():
        wanted = [one for one in members if one.level > 0 or one.file.path in asked]
        if partition is OLDER_SPEC:
            groups += choose_by_size([one for one in wanted if one.file.path in asked], target)
        else:
            groups += [Group(found, partition) for found in packed(_by_key(wanted, asked, kept, target), target)]
    return groups


def most_gain_first(groups: Iterable[Group], target: int) -> list[Group]:
    """The groups in another order: many small files and many deleted rows, for few bytes to be written, come first."""
    return sorted(groups, key=lambda one: -_gain(one, target) / max(1, sum(map(live_bytes, one.files))))


def _gain(group: Group, target: int) -> float:
    """How many files fewer there will be, and what part of each is deleted rows."""
    after = -(-sum(map(live_bytes, group.files)) // target)
    return len(group.files) - after + sum(one.deleted_rows / one.num_rows for one in group.files if one.num_rows)


def is_small(file: DataFileRef, target: int) -> bool:
    """Whether a file is so much below the target that it should be put together with others."""
    part, whole = SMALL
    return live_bytes(file) * whole < target * part


def live_bytes(file: DataFileRef) -> int:
    """About how many bytes the rows take that are not deleted."""
    if not file.deleted_rows or not file.num_rows:
        return file.file_size
    return file.file_size * (file.num_rows - file.deleted_rows) // file.num_rows


def partitions(files: Iterable[Placed]) -> dict[Hashable, list[Placed]]:
    found: defaultdict[Hashable, list[Placed]] = defaultdict(list)
    for one in files:
        found[one.partition].append(one)
    return found


def is_due(one: Placed) -> bool:
    """Whether a file has to be written again, though it be alone."""
    return one.partition is OLDER_SPEC or is_inline(one.file) or one.file.HasField("dv_path")


def _by_key(files: Iterable[Placed], asked: frozenset[str], kept: frozenset[str], target: int) -> Iterator[Item | None]:
    """What may be taken, in the order of keys; None where a file lies between that is left as it is."""
    for found in clusters(files):
        # Files above level 0 that overlap are none that Lakebed's own commits leave; together they are mended.
        due = len(found) > 1 or any(one.level == 0 or (is_due(one) and one.file.path in asked) for one in found)
        alone = found[0].file
        if any(one.file.path in kept for one in found):
            yield None
        elif due or (alone.path in asked and is_small(alone, target)):
            yield Item(tuple(one.file for one in found), due)
        else:
            yield None


def packed(items: Iterable[Item | None], target: int) -> Iterator[tuple[DataFileRef, ...]]:
    """Neighbours together, up to the size of a group, where one of them is due or there will be fewer files."""
    waiting: list[Item] = []
    size = 0
    for item in (*items, None):
        if waiting and (item is None or size + item.size > GROUP_TARGETS * target):
            if any(one.is_due for one in waiting) or _makes_fewer(waiting, size, target):
                yield tuple(file for one in waiting for file in one.files)
            waiting, size = [], 0
        if item is not None:
            waiting.append(item)
            size += item.size


def _makes_fewer(items: Sequence[Item], size: int, target: int) -> bool:
    return -(-size // target) < sum(len(one.files) for one in items)


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
