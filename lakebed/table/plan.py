"""A plan: which files, and which of their row groups, a scan has to read, and why the others need not be."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.table.filter import Filter
from lakebed.table.manifest_pb2 import DataFileRef

RANGES, PARTITIONS, ZONE_MAPS = "ranges", "partitions", "zone maps"
ROW_GROUPS, BLOOM_FILTERS = "row groups", "bloom filters"
"""The steps, in their order."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to read: the row groups that may have rows, None for all, and what is left to test of each row."""

    file: DataFileRef
    blocks: tuple[int, ...] | None = None
    residual: Filter | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What one step of pruning took away."""

    files: int = 0
    blocks: int = 0
    reason: str = ""  # why it did not take more


@dataclass(frozen=True, slots=True)
class Plan:
    """Files in a fixed order: the same snapshot and filter give the same plan.

    `cuts` are by step, in order; `filter` is what it was made for.
    """

    files: tuple[PlannedFile, ...]
    total_files: int
    total_blocks: int
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    filter: Filter | None = None
