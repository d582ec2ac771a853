"""A plan: the files, and their row groups, that a scan reads, what each step of pruning left out, and its text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakebed.table.filter.filter import Filter, leaves_of, predicates_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef

RANGES, PARTITIONS, ZONE_MAPS = "ranges", "partitions", "zone maps"
ROW_GROUPS, BLOOM_FILTERS = "row groups", "bloom filters"
"""The steps of pruning, in order."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to read: the row groups that may have rows (None for all), and the filter left to test on each row."""

    file: DataFileRef
    row_groups: tuple[int, ...] | None = None
    residual: Filter | None = None

    @property
    def num_row_groups(self) -> int:
        """How many row groups are read; a file whose entry lists none counts as one."""
        return max(1, len(self.file.blocks)) if self.row_groups is None else len(self.row_groups)


@dataclass(frozen=True, slots=True)
class Cut:
    """What one step of pruning left out."""

    files: int = 0
    row_groups: int = 0
    reason: str = ""  # why it did not leave out more


@dataclass(frozen=True, slots=True)
class Plan:
    """Files in a fixed order: the same snapshot and filter give the same plan.

    `cuts` are by step, in order; `filter` is the one it was made for. Files may become objects each time they are
    iterated: keep them if there are many and you need them twice.
    """

    files: Sequence[PlannedFile]
    total_files: int
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    filter: Filter | None = None
    live_rows: Callable[[], int] | None = None  # counts all rows of all files at once, where that is cheaper

    @property
    def row_groups(self) -> int:
        """How many row groups are read."""
        return sum(planned.num_row_groups for planned in self.files)

    @property
    def total_row_groups(self) -> int:
        """How many row groups are read or were cut: all those of the files that their statistics left in."""
        return self.row_groups + sum(cut.row_groups for cut in self.cuts.values())


def plan_text(plan: Plan) -> str:
    """One line for the whole plan, then one for each step, in order."""
    return "\n".join(_lines(plan))


def plan_counts(plan: Plan) -> dict[str, object]:
    """The numbers of the same text, by name; `steps` in their order."""
    return {
        "files_read": len(plan.files),
        "files": plan.total_files,
        "row_groups_read": plan.row_groups,
        "row_groups": plan.total_row_groups,
        "steps": [
            {"step": step, "files_cut": cut.files, "row_groups_cut": cut.row_groups, "reason": cut.reason or None}
            for step, cut in plan.cuts.items()
        ],
    }


def _lines(plan: Plan) -> Iterator[str]:
    files, row_groups = _count_text(plan.total_files, "file"), _count_text(plan.total_row_groups, "row group")
    yield f"reads {len(plan.files)} of {files}, {plan.row_groups} of {row_groups}"
    for step, cut in plan.cuts.items():
        reasons = [cut.reason, *(_columns_without_statistics(plan) if step == ZONE_MAPS else ())]
        yield f"{step}: {_cut_text(replace(cut, reason='; '.join(filter(None, reasons))))}"
    for predicate in () if plan.filter is None else predicates_of(plan.filter):
        yield f"rows: tested by {predicate.text}"


def _columns_without_statistics(plan: Plan) -> Iterator[str]:
    """The tested columns that files of the plan have no statistics of."""
    tested = {} if plan.filter is None else {leaf.field.id: leaf.field for leaf in leaves_of(plan.filter)}
    for column in tested.values():
        count = sum(1 for planned in plan.files if not _is_known(planned.file, column.id))
        if count:
            yield f"{_count_text(count, 'file')} without statistics of {column.name}"


def _is_known(file: DataFileRef, field_id: int) -> bool:
    return any(
        known.field_id == field_id and (known.HasField("lower") or known.HasField("null_count"))
        for known in file.statistics
    )


def _cut_text(cut: Cut) -> str:
    text = f"cut {_count_text(cut.files, 'file')}, {_count_text(cut.row_groups, 'row group')}"
    return f"{text}; {cut.reason}" if cut.reason else text


def _count_text(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
