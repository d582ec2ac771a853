"""A plan: which files, and which of their row groups, a scan has to read, and why the others need not be."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakebed.table.filter.filter import Filter, leaves_of
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
    live_rows: Callable[[], int] | None = None  # counts all rows of all files at once, where that is cheaper

    @property
    def blocks(self) -> int:
        """How many row groups are read."""
        return sum(one.num_blocks for one in self.files)

    @property
    def total_blocks(self) -> int:
        """Those and what was cut: all row groups of the files whose statistics left them in."""
        return self.blocks + sum(one.blocks for one in self.cuts.values())


def plan_text(plan: Plan) -> str:
    """One line for all, then one for each step, in the order of the steps."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    files, blocks = _many(plan.total_files, "file"), _many(plan.total_blocks, "row group")
    yield f"reads {len(plan.files)} of {files}, {plan.blocks} of {blocks}"
    for step, cut in plan.cuts.items():
        reasons = [cut.reason, *(_unbounded(plan) if step == ZONE_MAPS else ())]
        yield f"{step}: {_cut_text(replace(cut, reason='; '.join(filter(None, reasons))))}"


def _unbounded(plan: Plan) -> Iterator[str]:
    """What is not known of the files that are left."""
    tested = {} if plan.filter is None else {one.field.id: one.field for one in leaves_of(plan.filter)}
    for column in tested.values():
        count = sum(1 for one in plan.files if not _is_known(one.file, column.id))
        if count:
            yield f"{_many(count, 'file')} without statistics of {column.name}"


def _is_known(file: DataFileRef, field_id: int) -> bool:
    return any(
        one.field_id == field_id and (one.HasField("lower") or one.HasField("null_count")) for one in file.statistics
    )


def _cut_text(cut: Cut) -> str:
    text = f"cut {_many(cut.files, 'file')}, {_many(cut.blocks, 'row group')}"
    return f"{text}; {cut.reason}" if cut.reason else text


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
