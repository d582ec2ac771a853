"""Compaction: rows that lie in many files, inline, in old partitions or among deleted ones, written again as few files.

No row changes: each keeps its id and the sequence number of its last change, as columns of the new files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import pyarrow

from lakebed.arrow.last_changes import LastChanges
from lakebed.arrow.scan import Scan
from lakebed.arrow.sorted_rows import HELD_BYTES, SortedRows
from lakebed.arrow.write import write, write_groups
from lakebed.arrow.write_options import WriteOptions
from lakebed.arrow.write_rows import with_columns, write_options
from lakebed.catalog.levels import places
from lakebed.catalog.planning import plan_unread
from lakebed.catalog.row_change import RowChange, Written
from lakebed.catalog.sources import sources
from lakebed.catalog.tables import TableState
from lakebed.catalog.vectors import live_rows
from lakebed.catalog.work import Work
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.table.compaction_choice import OLDER_SPEC, Group, choose_by_key, choose_by_size
from lakebed.table.file_sides import state as file_state
from lakebed.table.filter import Filter
from lakebed.table.inline import file_paths
from lakebed.table.key_ranges import key_order
from lakebed.table.levels import COMPACTED_LEVEL
from lakebed.table.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.metadata_columns import LAST_UPDATED, ROW_ID
from lakebed.table.partition_values import partition_values, set_partition
from lakebed.table.plan import Plan, PlannedFile
from lakebed.table.schema import Schema
from lakebed.table.sort_order import SortOrder

Where = Callable[[Schema], Filter | None]
"""Which rows' files are compacted, as the table's schema of the moment has it."""


class Compaction:
    """One compaction, which is made again if files that it takes are changed before its commit.

    Groups of files that are as they were are not written again for that.
    """

    def __init__(self, where: Where, target_bytes: int | None = None, held_bytes: int = HELD_BYTES) -> None:
        self._where = where
        self._target = _checked_target(target_bytes)
        self._held_bytes = held_bytes
        self._done: dict[Any, list[DataFileRef]] = {}
        self._last: RowChange | None = None

    def make(self, work: Work, state: TableState) -> RowChange | None:
        """Write the rows of the files that are worth it; None if there are none."""
        self._last = self._made(work, state)
        return self._last

    def discard(self, files: Files) -> None:
        """Take away all that was written. What can't be deleted now is left for garbage collection."""
        self._last = None
        self.discard_unused(files)

    def discard_unused(self, files: Files) -> None:
        """The same, but for what the last change has."""
        used = set() if self._last is None else {one.path for one in self._last.written.files}
        files.delete_many(path for one in self._done.values() for path in file_paths(one) if path not in used)

    def _made(self, work: Work, state: TableState) -> RowChange | None:
        options = _with_target(write_options(work, state), self._target)
        order = key_order(state.schema, state.sort_order)
        groups = self._chosen(work, state, order, options.file_bytes)
        if not groups:
            return None
        writer = _Writer(work, state, order, options, self._held_bytes)
        outputs = [self._written(writer, one) for one in groups]
        return RowChange(
            removed=[file for one in groups for file in one.files],
            written=Written([file for one in outputs for file in one]),
            rewrites=[
                Rewrite(inputs=_paths(group.files), outputs=_paths(made))
                for group, made in zip(groups, outputs, strict=True)
            ],
        )

    def _chosen(self, work: Work, state: TableState, order: SortOrder | None, target: int) -> list[Group]:
        files = _committed(work, state, None)
        filter = self._where(state.schema)
        asked = files if filter is None else _committed(work, state, filter)
        paths = frozenset(one.path for one in asked)
        placed = [
            replace(one, partition=OLDER_SPEC) if one.file.spec_id != state.spec.id else one
            for one in places(work, state, files if order is not None else asked)
        ]
        if order is None:
            return choose_by_size(placed, target)
        held = [one for one in places(work, state, _own(work, state)) if one.level > 0]
        return choose_by_key(placed, paths, target, held)

    def _written(self, writer: "_Writer", group: Group) -> list[DataFileRef]:
        state = writer.state
        form = state.schema.id, state.spec.id, state.sort_order.id
        key = (*form, frozenset((one.path, file_state(one)) for one in group.files))
        if key not in self._done:
            self._done[key] = writer.written(group)
        return [_copied(one) for one in self._done[key]]  # the commit completes them, and may have to do it again


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the rows of groups for a table. `order` is that of its key if it has levels."""

    work: Work
    state: TableState
    order: SortOrder | None
    options: WriteOptions
    held_bytes: int

    def written(self, group: Group) -> list[DataFileRef]:
        """New files with exactly the rows of the group that are not deleted."""
        if self.order is None or group.partition is OLDER_SPEC:
            made = self._by_stream(group)
        else:
            made = self._by_key(group, self.order)
        expected = sum(live_rows(self.work.home.files, one) for one in group.files)
        found = sum(one.num_rows for one in made)
        if found != expected:
            self.work.home.files.delete_many(file_paths(made))
            subject = ", ".join(_paths(group.files)[:3])
            raise Corrupt(
                "files have other rows than their entries say", subject=subject, expected=expected, found=found
            )
        return made

    def _by_stream(self, group: Group) -> list[DataFileRef]:
        changes = LastChanges()
        state, reader = self.state, self._read(group.files)
        rows = pyarrow.RecordBatchReader.from_batches(reader.schema, changes.noted(reader))
        folder, schema = state.data_folder, self._form.schema
        made = write(self.work.home.files, folder, schema, rows, state.spec, state.sort_order, self.options)
        for one in made:
            changes.tell(one)
        return made

    def _by_key(self, group: Group, order: SortOrder) -> list[DataFileRef]:
        """Files that have no key in common, each with its first and its last."""
        rows = SortedRows(lambda *asked: self._read(group.files, *asked), self._form.schema, order, self.held_bytes)
        noted: list[_RowGroup] = []

        def tables() -> Iterator[pyarrow.Table]:
            for one in rows.groups(self.options):
                noted.append(_RowGroup(one.key_min, one.key_max))
                noted[-1].changes.note(one.rows.column(LAST_UPDATED.physical_name))
                yield one.rows

        made = write_groups(self.work.home.files, self.state.data_folder, self._form.schema, tables(), self.options)
        left = iter(noted)
        for file in made:
            self._complete(file, group.files[0], list(islice(left, max(1, len(file.blocks)))))
        return made

    def _complete(self, file: DataFileRef, like: DataFileRef, groups: Sequence["_RowGroup"]) -> None:
        """Tell of a file what is known of its row groups, and put it in the partition of another."""
        file.level = COMPACTED_LEVEL
        file.key_min, file.key_max = groups[0].key_min, groups[-1].key_max
        file.key_schema_id = self.state.schema.id
        for one in groups[1:]:
            groups[0].changes.add(one.changes)
        groups[0].changes.tell(file)
        if like.HasField("spec_id"):
            spec, schema = self.state.spec, self.state.schema
            set_partition(file, spec, schema, list(partition_values(like, spec, schema).values()))

    @property
    def _form(self) -> TableState:
        return with_columns(self.state, ROW_ID, LAST_UPDATED)

    def _read(
        self, files: Sequence[DataFileRef], filter: Filter | None = None, columns: Sequence[str] | None = None
    ) -> pyarrow.RecordBatchReader:
        planned = tuple(map(PlannedFile, files))
        names = self._form.schema.names if columns is None else columns
        plan = Plan(planned, len(planned), len(planned))
        scan = Scan(sources(self.work, self.state.id), self.state.schema, planned, filter, names, plan=plan)
        return scan.to_batches()


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """What is known of rows that are written, without the rows."""

    key_min: bytes
    key_max: bytes
    changes: LastChanges = field(default_factory=LastChanges)


def _committed(work: Work, state: TableState, filter: Filter | None) -> list[DataFileRef]:
    """The files that may have rows that pass, but for those that the work itself added or changed.

    Their rows have no ids yet, or were deleted by nobody but the work.
    """
    own = {one.path for one in _own(work, state)}
    return [one.file for one in plan_unread(work, state, filter).files if one.file.path not in own]


def _own(work: Work, state: TableState) -> tuple[DataFileRef, ...]:
    pending = work.deltas.get(state.id)
    return () if pending is None else (*pending.added, *pending.changed)


def _with_target(options: WriteOptions, target: int | None) -> WriteOptions:
    """Files of about the target's size, which takes row groups that are smaller."""
    file_bytes = options.file_bytes if target is None else target
    return replace(options, file_bytes=file_bytes, group_bytes=max(1, min(options.group_bytes, file_bytes // 2)))


def _checked_target(target: int | None) -> int | None:
    if target is None or (isinstance(target, int) and not isinstance(target, bool) and target > 0):
        return target
    raise Invalid("the target is no size of files", subject="target_bytes", expected="1 or more", found=repr(target))


def _copied(file: DataFileRef) -> DataFileRef:
    copy = DataFileRef()
    copy.CopyFrom(file)
    return copy


def _paths(files: Sequence[DataFileRef]) -> list[str]:
    return [one.path for one in files]
