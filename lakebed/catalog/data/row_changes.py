"""What an engine made of a change of rows: files, vectors and bodies that are written, for a commit to show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from pyroaring import BitMap64

from lakebed.catalog.data.changes import change_files, delta_of, fitting, put_rows
from lakebed.catalog.data.deletion_vectors import check_same_rows, live_rows, write_vectors
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.planning import plan_unread
from lakebed.catalog.data.reads import partitions_read
from lakebed.catalog.tables.properties import text
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import SeenStateChanged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.metastore import DataRead
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.partition.values import PartitionKey, partition_key
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field


@dataclass(frozen=True, slots=True)
class Written:
    """The entries of rows that were written, and the bodies of those that are inline, by inline id."""

    files: Sequence[DataFileRef] = ()
    bodies: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows taken away, by whole files and by vectors, and rows written. `overwritten` is the condition of an overwrite.

    `copied` are files with rows that others had which are taken away, as they were there. `detail` is what the log says
    of it besides. Nobody can see any of it yet.
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
        return {*file_paths(self.written.files), *self._paths_besides}

    @property
    def _paths_besides(self) -> set[str]:
        return {*file_paths(self.copied), *(one.dv_path for one in self.changed if one.dv_path)}

    def discard(self, files: Files) -> None:
        """Take away what was written. What can't be deleted now is left for garbage collection."""
        files.delete_many(self.paths)

    def discard_vectors(self, files: Files) -> None:
        """Take away the vectors, or the copies in their place, and leave the rows that were written."""
        files.delete_many(self._paths_besides)


Discard = Callable[[RowChange, Files], None]
"""Takes away what was written for a change that is not made: all, or what no other attempt has."""


def with_columns(state: TableState, *columns: Field) -> TableState:
    """The table with columns of lineage behind its own, for rows that are written again."""
    schema = Schema((*state.schema.fields, *columns), state.schema.id, state.schema.identifier_ids)
    return replace(state, schema=schema)


def put_change(work: Work, seen: Work, written: TableState, operation: str, change: RowChange, detail: str) -> None:
    """Make the change in the work that it was made for; in another one it is a `Conflict`, for its rows may differ."""
    if work is not seen:
        raise SeenStateChanged("rows that were read")
    state = fitting(work, written)
    delta = replace(
        delta_of(state, operation),
        added=(*change.written.files, *change.copied),
        removed=tuple(change.removed),
        changed=tuple(change.changed),
        rewrites=tuple(change.rewrites),
        overwritten=change.overwritten,
    )
    change_files(work, state, delta, ": ".join(filter(None, (detail, change.detail))))
    put_rows(work, state, change.written.bodies)
    work.wrote(change.paths)


@dataclass(frozen=True, slots=True)
class Deletion:
    """Rows to be taken away: all of some files, and of others those at these positions."""

    whole: Sequence[DataFileRef] = ()
    some: Sequence[tuple[DataFileRef, BitMap64]] = ()


def rows_deleted(work: Work, state: TableState, rows: Deletion) -> RowChange:
    """Write the vectors. A file that has no row left is removed. The positions have to be of rows that are there."""
    files = work.context.files
    full = [file for file, places in rows.some if len(places) == live_rows(files, file)]
    gone = {one.path for one in full}
    changed = write_vectors(files, state.data_folder, [one for one in rows.some if one[0].path not in gone])
    return RowChange((*rows.whole, *full), changed)


def replaced(work: Work, state: TableState, written: Written, rows: Deletion) -> RowChange:
    """Take rows away, and have those in their place that are written; if that fails these are discarded."""
    try:
        gone = rows_deleted(work, state, rows)
    except BaseException:
        RowChange(written=written).discard(work.context.files)
        raise
    return RowChange(gone.removed, gone.changed, written)


ROW_CHANGES: Final = "write.row-changes"


class RowChanges(Enum):
    """How rows are taken out of files."""

    MERGE_ON_READ = "merge-on-read"  # by vectors, which readers look at
    COPY_ON_WRITE = "copy-on-write"


Rewritten = Callable[[Work, TableState, Sequence[DataFileRef]], Sequence[DataFileRef]]
"""Writes the rows of files that their vectors leave, with their lineage."""


def row_changes(work: Work, table: str) -> RowChanges:
    """How a table wants it; `Invalid` if its property is no such way."""
    found = text(work, table, ROW_CHANGES)
    try:
        return RowChanges.MERGE_ON_READ if found is None else RowChanges(found)
    except ValueError:
        raise Invalid(
            "a property of the table is no way to change rows",
            subject=ROW_CHANGES,
            expected=" or ".join(one.value for one in RowChanges),
            found=repr(found),
            advice="Mend it with set_properties, or unset it.",
        ) from None


def without_vectors(
    work: Work, state: TableState, change: RowChange, rewritten: Rewritten, discard: Discard = RowChange.discard
) -> RowChange:
    """The change with new files in the place of those that got vectors, which are taken away again.

    It is a change of rows like others, no compaction: the log counts the copied rows as removed and added. If it fails,
    `discard` takes away what the change had written.
    """
    if not change.changed:
        return change
    files = work.context.files
    copied: tuple[DataFileRef, ...] = ()
    try:
        live = live_among(work, state, {one.path: one for one in change.changed})
        copied = tuple(rewritten(work, state, change.changed))
        check_same_rows(files, change.changed, copied)
    except BaseException:
        files.delete_many([one.path for one in copied])
        discard(change, files)
        raise
    change.discard_vectors(files)
    rows = sum(one.num_rows for one in copied)
    return replace(
        change,
        removed=(*change.removed, *live.values()),
        changed=(),
        copied=copied,
        detail=f"{rows} other rows of {len(live)} files copied",
    )


def overwrite_partitions(work: Work, state: TableState, written: Written) -> RowChange:
    """Take away the files of the partitions that the written rows are in; files of another spec are `Invalid`."""
    keys = frozenset(partition_key(one) for one in written.files)
    work.read_rows(DataRead(state.partition, partitions_read(work.context, keys)))
    live = [one.file for one in plan_unread(work, state).files]
    _check_one_spec(state, (one.spec_id for one in live))
    return RowChange([one for one in live if partition_key(one) in keys], (), written, overwritten=_nothing_told(keys))


def _nothing_told(keys: frozenset[PartitionKey]) -> str | None:
    """Which rows that were can't be said as a condition on columns: a merge takes it for all of them."""
    return None if keys else "false"


def _check_one_spec(state: TableState, specs: Iterable[int]) -> None:
    other = set(specs) - {state.spec.id}
    if other:
        raise Invalid(
            "the table has files of older partition specs, whose rows may belong to any partition of the newest",
            expected=f"files of spec {state.spec.id} alone",
            found=f"files of spec {', '.join(map(str, sorted(other)))}",
            advice="compact() writes them again by the newest spec; or overwrite with a condition.",
        )
