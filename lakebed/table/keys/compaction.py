"""Which files a compaction takes, and which of them go together."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lakebed.table.keys.levels import Placed, clusters
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef

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
