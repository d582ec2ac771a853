"""Changes of a table's rows, as an engine hands them over for a commit.

A deletion becomes removed files and deletion vectors, or copies of the files without the deleted rows if the table
wants copy-on-write; an overwrite of partitions removes their files. Nobody can see any of it before the commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import BitMap64

from lakebed.catalog.data.changes import change_files, check_fits, delta_of, put_rows
from lakebed.catalog.data.deletion_vectors import check_same_rows, live_rows, write_vectors
from lakebed.catalog.data.levels import partition_of
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.planning import plan_unread
from lakebed.catalog.data.reads import partitions_read
from lakebed.catalog.data.target import Target
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import SeenStateChanged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.metastore import DataRead
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.partition.condition import partitions_condition
from lakebed.table.partition.values import partition_key
from lakebed.table.plan.plan import PlannedFile

CopyRows = Callable[[Target, Sequence[DataFileRef]], Sequence[DataFileRef]]
"""Writes the rows of files that their vectors leave, with their lineage."""


@dataclass(frozen=True, slots=True)
class Written:
    """The entries of rows that were written, and the bodies of the inline entries by inline id."""

    files: Sequence[DataFileRef] = ()
    bodies: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows that are deleted, by whole files and by vectors, and rows that are written.

    `copied` are new files with the remaining rows of removed files. `overwritten` is the condition of an overwrite.
    `detail` is added to the log's entry.
    """

    removed: Sequence[DataFileRef] = ()
    changed: Sequence[DataFileRef] = ()
    written: Written = field(default_factory=Written)
    rewrites: Sequence[Rewrite] = ()
    overwritten: str | None = None
    detail: str = ""
    copied: Sequence[DataFileRef] = ()

    @property
    def paths(self) -> set[str]:
        """The files that were written for it: of rows, and of vectors."""
        return {*file_paths(self.written.files), *self._vector_paths}

    def left_of(self, planned: Iterable[PlannedFile]) -> list[PlannedFile]:
        """Of the table's files, those that have rows after the change, without the rows that it deletes."""
        removed, changed = {file.path for file in self.removed}, {file.path: file for file in self.changed}
        return [
            replace(entry, file=changed.get(entry.file.path, entry.file))
            for entry in planned
            if entry.file.path not in removed
        ]

    def discard(self, files: Files) -> None:
        """Delete everything that was written. What can't be deleted now is left for garbage collection."""
        files.delete_many(self.paths)

    def discard_vectors(self, files: Files) -> None:
        """Delete the vectors, or the copies that replace them, and leave the written rows."""
        files.delete_many(self._vector_paths)

    @property
    def _vector_paths(self) -> set[str]:
        return {*file_paths(self.copied), *(file.dv_path for file in self.changed if file.dv_path)}


@dataclass(frozen=True, slots=True)
class Deletion:
    """Rows to delete: all of some files, and those at given positions of others."""

    whole: Sequence[DataFileRef] = ()
    some: Sequence[tuple[DataFileRef, BitMap64]] = ()


Discard = Callable[[RowChange, Files], None]
"""Deletes what was written for a change that is not committed: all of it, or what no other attempt uses."""


def put_change(
    work: Work,
    seen: Work,
    written: TableState,
    operation: str,
    change: RowChange,
    detail: str,
    summary: Mapping[str, str],
) -> None:
    """Make the change in the work that it was prepared for; any other work is a `Conflict`: its rows may differ."""
    if work is not seen:
        raise SeenStateChanged("rows that were read")
    state = check_fits(work, written)
    delta = replace(
        delta_of(state, operation),
        added=(*change.written.files, *change.copied),
        removed=tuple(change.removed),
        changed=tuple(change.changed),
        rewrites=tuple(change.rewrites),
        overwritten=change.overwritten,
        summary=summary,
    )
    change_files(work, state, delta, ": ".join(filter(None, (detail, change.detail))))
    put_rows(work, state, change.written.bodies)
    work.wrote(change.paths)


def rows_deleted(target: Target, rows: Deletion) -> RowChange:
    """Write the vectors, and remove files without a row left. The positions must be those of live rows."""
    files = target.files
    full = [file for file, positions in rows.some if len(positions) == live_rows(files, file)]
    emptied = {file.path for file in full}
    partial = [(file, positions) for file, positions in rows.some if file.path not in emptied]
    changed = write_vectors(files, target.state.data_folder, partial)
    return RowChange((*rows.whole, *full), changed)


def rows_replaced(target: Target, written: Written, rows: Deletion) -> RowChange:
    """Delete rows, and add the written rows that replace them; if that fails, discard what was written."""
    try:
        deleted = rows_deleted(target, rows)
    except BaseException:
        RowChange(written=written).discard(target.files)
        raise
    return RowChange(deleted.removed, deleted.changed, written)


def without_vectors(
    work: Work, target: Target, change: RowChange, copy_rows: CopyRows, discard: Discard = RowChange.discard
) -> RowChange:
    """The change with copies that replace the files with new vectors; the vectors are deleted again.

    It is a change of rows, not a compaction: the log counts the copied rows as removed and added. If it fails,
    `discard` deletes what the change had written.
    """
    if not change.changed:
        return change
    files = target.files
    copied: tuple[DataFileRef, ...] = ()
    try:
        live = live_among(work, target.state, {file.path: file for file in change.changed})
        copied = tuple(copy_rows(target, change.changed))
        check_same_rows(files, change.changed, copied)
    except BaseException:
        files.delete_many([file.path for file in copied])
        discard(change, files)
        raise
    change.discard_vectors(files)
    rows = sum(file.num_rows for file in copied)
    return replace(
        change,
        removed=(*change.removed, *live.values()),
        changed=(),
        copied=copied,
        detail=f"{rows} other rows of {len(live)} files copied",
    )


def overwrite_partitions(work: Work, state: TableState, written: Written) -> RowChange:
    """Remove the files of the partitions that the written rows are in; files of another spec are `Invalid`."""
    keys = frozenset(partition_key(file) for file in written.files)
    live = [planned.file for planned in plan_unread(work, state).files]
    _check_one_spec(state, (file.spec_id for file in live))
    values = frozenset(partition_of(work, state, file) for file in written.files)
    removed = [file for file in live if partition_of(work, state, file) in values]
    read = keys | {partition_key(file) for file in removed}
    work.read_rows(DataRead(state.partition, partitions_read(work.context, read)))
    return RowChange(removed, (), written, overwritten=_overwritten_condition(state, written))


def _overwritten_condition(state: TableState, written: Written) -> str | None:
    """None if a condition on columns can't express the partitions: a merge takes that for all rows."""
    return partitions_condition(written.files, state.spec, state.schema) if written.files else "false"


def _check_one_spec(state: TableState, specs: Iterable[int]) -> None:
    other = set(specs) - {state.spec.id}
    if other:
        raise Invalid(
            "the table has files of older partition specs, whose rows may belong to any partition of the newest",
            expected=f"only files of spec {state.spec.id}",
            found=f"files of spec {', '.join(map(str, sorted(other)))}",
            advice="Rewrite them by the newest spec with compact(), or overwrite with a condition.",
        )
