"""A plan: which files, and which of their row groups, a scan has to read, and why the others need not be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef

RANGES, PARTITIONS, ZONE_MAPS = "ranges", "partitions", "zone maps"
ROW_GROUPS, BLOOM_FILTERS = "row groups", "bloom filters"
"""The steps, in their order."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to read: the row groups that may have rows, None for all, and what is left to test of each row."""

    file: DataFileRef
    blocks: tuple[int, ...] | None = None
    residual: Filter | None = None

    @property
    def num_blocks(self) -> int:
        """How many row groups are read; a file whose entry lists none counts as one."""
        return max(1, len(self.file.blocks)) if self.blocks is None else len(self.blocks)


@dataclass(frozen=True, slots=True)
class Cut:
    """What one step of pruning took away."""

    files: int = 0
    blocks: int = 0
    reason: str = ""  # why it did not take more


@dataclass(frozen=True, slots=True)
class Plan:
    """Files in a fixed order: the same snapshot and filter give the same plan.

    `cuts` are by step, in order; `filter` is what it was made for. Files may become objects only when they are asked
    for: whoever needs them twice, and they are many, should keep them.
    """

    files: Sequence[PlannedFile]
    total_files: int
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    filter: Filter | None = None

    @property
    def blocks(self) -> int:
        """How many row groups are read."""
        return sum(one.num_blocks for one in self.files)

    @property
    def total_blocks(self) -> int:
        """Those and what was cut: all row groups of the files whose statistics left them in."""
        return self.blocks + sum(one.blocks for one in self.cuts.values())
