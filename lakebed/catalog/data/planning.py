"""Planning a read: which files of a table, and which of their row groups, may have rows that pass a filter.

Each step prunes what the step before left: the ranges of a checkpoint's parts, partitions, zone maps, row groups, bloom
filters. Files of a checkpoint are tested column by column, and become objects only if they are left, or, without a
filter, when a caller asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lakebed.catalog.data.checkpoints import load_part
from lakebed.catalog.data.live_files import LiveFiles, TableFiles, table_files
from lakebed.catalog.data.reads import rows_read
from lakebed.catalog.tables.tables import TableState, spec_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import numpy, pyarrow
from lakebed.metastore import DataRead
from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import Comparison, Filter, Leaf, OneOf, Operator, leaves_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.partition.values import PartitionKey, partition_key
from lakebed.table.plan.blooms import bloom_matches
from lakebed.table.plan.partitions import may_match_partition, residual
from lakebed.table.plan.plan import BLOOM_FILTERS, PARTITIONS, RANGES, ROW_GROUPS, ZONE_MAPS, Cut, Plan, PlannedFile
from lakebed.table.plan.pruning import may_match, row_group_matches
from lakebed.table.plan.vectorized import prune
from lakebed.table.schema.schema import Schema

COLUMNAR_FILES = 64
"""If more files than these are in no checkpoint, they are turned into columns first, which are remembered."""


def plan(work: Work, state: TableState, filter: Filter | None = None) -> Plan:
    """The files to read, in the order of their rows' ids; files that the work itself added come last.

    The work remembers the filter as read: a later delta that may have rows for it is a conflict.
    """
    work.read_rows(DataRead(state.partition, rows_read(work.context, filter)))
    return plan_unread(work, state, filter)


def plan_keys(work: Work, state: TableState, filter: Filter | None = None) -> Plan:
    """The same plan, for a change that relies on which keys there are.

    A later delta that may have rows for the filter is a conflict even for a transaction that lets others change what
    it read: two rows would have one key.
    """
    work.read(DataRead(state.partition, rows_read(work.context, filter)))
    return plan_unread(work, state, filter)


def plan_unread(work: Work, state: TableState, filter: Filter | None = None) -> Plan:
    """The same plan, without remembering the filter as read."""
    files = LiveFiles(work.context, table_files(work, state), work.deltas.get(state.partition))
    if filter is None:
        return Plan(files, len(files), live_rows=files.live_rows)
    planner = _Planner(work, state, filter, len(files))
    left = [live for live in planner.committed(files.committed) if live.file.path not in files.altered]
    left.sort(key=lambda live: (live.file.first_row_id, live.file.path))
    left += planner.one_by_one(LiveFile(file, 0, state.schema.id) for file in files.own)
    return planner.planned(left)


@dataclass(slots=True)
class _Planner:
    """Prunes the files of one table by one filter, and counts what each step cut."""

    work: Work
    state: TableState
    filter: Filter
    total: int
    cuts: dict[str, Cut] = field(default_factory=dict)
    residuals: dict[PartitionKey, Filter] = field(default_factory=dict)
    equal_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.equal_ids = frozenset(leaf.field.id for leaf in leaves_of(self.filter) if _is_equality(leaf))

    @property
    def context(self) -> Context:
        return self.work.context

    def committed(self, files: TableFiles) -> Iterator[LiveFile]:
        overlay = files.overlay
        for live in self._of_checkpoint(files):
            path = live.file.path
            if path not in overlay.removed:
                changed = overlay.changed.get(path)
                yield live if changed is None else replace(live, file=changed)
        if len(overlay.added) > COLUMNAR_FILES:
            yield from self._of_columns(_columns_of(self.context, files))
        else:
            yield from self.one_by_one(overlay.added.values())

    def _of_checkpoint(self, files: TableFiles) -> Iterator[LiveFile]:
        for part, ranges in () if files.checkpoint is None else files.checkpoint.with_ranges():
            if not may_match(self.filter, ranges):
                self._cut(RANGES, part.files)
            else:
                yield from self._of_columns(load_part(self.context, part))

    def _of_columns(self, columns: FileColumns) -> Iterator[LiveFile]:
        pruned = prune(self.filter, columns, self.state.schema, self._specs(columns), self._schemas(columns))
        left = int(numpy.count_nonzero(pruned.by_partition))
        rows = numpy.flatnonzero(pruned.kept).tolist()
        self._cut(PARTITIONS, columns.num_rows - left)
        self._cut(ZONE_MAPS, left - len(rows), pruned.reason)
        yield from columns.files(rows)

    def one_by_one(self, files: Iterable[LiveFile]) -> Iterator[LiveFile]:
        for live in files:
            if not may_match_partition(self.filter, self._spec(live.file.spec_id), self.state.schema, live.file):
                self._cut(PARTITIONS, 1)
            elif not may_match(self.filter, live.file, self._schema(live.schema_id)):
                self._cut(ZONE_MAPS, 1)
            else:
                yield live

    def planned(self, left: Sequence[LiveFile]) -> Plan:
        files = tuple(planned for live in left for planned in self._in_row_groups(live))
        self._uncount_removed(len(files))
        return Plan(files, self.total, self._explained_cuts(), self.filter)

    def _uncount_removed(self, left: int) -> None:
        """Count no file as cut that a delta had removed: files of a checkpoint are tested before that is known."""
        over = sum(cut.files for cut in self.cuts.values()) + left - self.total
        for step in (ZONE_MAPS, PARTITIONS, RANGES):
            cut = self.cuts.get(step, Cut())
            removed = min(over, cut.files)
            if removed > 0:
                self.cuts[step] = replace(cut, files=cut.files - removed)
                over -= removed

    def _explained_cuts(self) -> dict[str, Cut]:
        """What the steps cut, in their order, and why a step without anything to test by cut nothing."""
        asked = {leaf.field.id for leaf in leaves_of(self.filter)}
        reasons = {}
        if not asked & self.state.spec.source_ids:
            reasons[PARTITIONS] = "the spec has none of the filter's columns"
        if not self.equal_ids:
            reasons[BLOOM_FILTERS] = "no column is compared for equality"
        elif BLOOM_FILTERS not in self.cuts:
            reasons[BLOOM_FILTERS] = "no file has one for the columns compared for equality"
        steps = (RANGES, PARTITIONS, ZONE_MAPS, ROW_GROUPS, BLOOM_FILTERS)
        cuts = {step: self.cuts.get(step, Cut()) for step in steps}
        return {step: replace(cut, reason=cut.reason or reasons.get(step, "")) for step, cut in cuts.items()}

    def _in_row_groups(self, live: LiveFile) -> Iterator[PlannedFile]:
        """The file with the row groups that may have rows, if there are any."""
        file, filter = live.file, self.filter
        if not (file.blocks or (self.equal_ids and _has_bloom(file, self.equal_ids))):
            yield PlannedFile(file, residual=self._residual(file))
            return
        written = self._schema(live.schema_id)
        every = max(1, len(file.blocks))
        matches = tuple(range(every)) if not file.blocks else row_group_matches(filter, file, written) or ()
        left = matches
        self._cut_row_groups(ROW_GROUPS, every - len(matches), not matches)
        if matches and _has_bloom(file, self.equal_ids):
            left = bloom_matches(filter, file, matches, self._bloom, written)
            self._cut_row_groups(BLOOM_FILTERS, len(matches) - len(left), not left)
        if left:
            yield PlannedFile(file, left if len(left) < every else None, self._residual(file))

    def _bloom(self, path: str, offset: int, length: int) -> bytes:
        """A bloom filter, which never changes."""
        return self.context.blooms.get((path, offset, length), lambda: self.context.files.read(path, offset, length))

    def _cut_row_groups(self, step: str, row_groups: int, is_whole: bool) -> None:
        before = self.cuts.get(step, Cut())
        self.cuts[step] = replace(before, files=before.files + is_whole, row_groups=before.row_groups + row_groups)

    def _residual(self, file: DataFileRef) -> Filter | None:
        """The part of the filter that the file's partition leaves open: the same for all files of a partition."""
        if not file.spec_id:
            return None
        key = partition_key(file)
        if key not in self.residuals:
            self.residuals[key] = residual(self.filter, self._spec(file.spec_id), self.state.schema, file)
        return self.residuals[key]

    def _cut(self, step: str, files: int, reason: str = "") -> None:
        before = self.cuts.get(step, Cut())
        self.cuts[step] = replace(before, files=before.files + files, reason=reason or before.reason)

    def _specs(self, columns: FileColumns) -> dict[int, PartitionSpec]:
        return {spec_id: self._spec(spec_id) for spec_id in _distinct(columns, "spec_id")}

    def _schemas(self, columns: FileColumns) -> dict[int, Schema]:
        return {schema_id: self._schema(schema_id) for schema_id in _distinct(columns, "schema_id")}

    def _spec(self, spec_id: int) -> PartitionSpec:
        return spec_of(self.work, self.state.id, spec_id)

    def _schema(self, schema_id: int) -> Schema:
        if schema_id == self.state.schema.id:
            return self.state.schema
        return self.context.bodies.get(self.state.id, schema_id)


def _is_equality(leaf: Leaf) -> bool:
    return isinstance(leaf, OneOf) or (isinstance(leaf, Comparison) and leaf.operator is Operator.EQUAL)


def _has_bloom(file: DataFileRef, ids: frozenset[int]) -> bool:
    """Whether one of these columns has a bloom filter in the file."""
    first = file.blocks[0].columns if file.blocks else file.statistics
    return any(column.field_id in ids and column.HasField("bloom_offset") for column in first)


def _distinct(columns: FileColumns, name: str) -> list[int]:
    def values() -> list[int]:
        return [value or 0 for value in pyarrow.compute.unique(columns.column(name)).to_pylist()]

    return columns.remembered(("distinct", name), values)


def _columns_of(context: Context, files: TableFiles) -> FileColumns:
    """The files that deltas added, as columns: built once for each snapshot."""
    place = (files.overlay.table_id, str(files.overlay.snapshot_id))
    known = context.columns.get(place)
    if known is None or known[0] is not files.overlay:
        known = (files.overlay, FileColumns.of(list(files.overlay.added.values())))
        context.columns.put(place, known)
    return known[1]
