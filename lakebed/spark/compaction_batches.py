"""Which groups of a compaction one job writes: many that are small, or one that is not."""

from collections.abc import Iterable, Sequence
from typing import Final

from lakebed.table.keys.compaction import OLDER_SPEC, Group, live_bytes
from lakebed.table.manifest.manifest_pb2 import DataFileRef

SMALL_BYTES: Final = 2 << 20
"""Groups up to this size are written together, by a job that shuffles their rows, which costs more the larger they are.

Together against alone: 84 groups of ten tiny files took a quarter of the time, groups of 0.3 MB half, of 1 to 3 MB as
long, of 15 MB two to three times as long (one or two runs of each, local[2] beside other work).
"""

BATCH_TARGETS: Final = 16
"""A job has groups of so many files of the target's size: what it shuffles, and loses if it fails, has a bound."""

BATCH_FILES: Final = 10_000
"""A job reads so many files at most, unless one group has more."""


def batched(groups: Iterable[Group], target: int) -> list[list[Group]]:
    """The groups in batches: those that are small and become a file each together, up to a bound; the others alone."""
    batches: list[list[Group]] = []
    waiting: list[Group] = []
    files = size = 0
    for one in groups:
        if not _is_small(one, target):
            batches.append([one])
            continue
        files, size = files + len(one.files), size + _live(one.files)
        if waiting and (files > BATCH_FILES or size > BATCH_TARGETS * target):
            batches.append(waiting)
            waiting, files, size = [], len(one.files), _live(one.files)
        waiting.append(one)
    return [*batches, waiting] if waiting else batches


def file_count(files: Sequence[DataFileRef], target: int) -> int:
    """How many files of the target's size the rows of these will be, about."""
    return max(1, round(_live(files) / target))


def _is_small(group: Group, target: int) -> bool:
    becomes_one = group.partition is not OLDER_SPEC and file_count(group.files, target) == 1
    return becomes_one and _live(group.files) <= SMALL_BYTES


def _live(files: Sequence[DataFileRef]) -> int:
    return sum(map(live_bytes, files))
