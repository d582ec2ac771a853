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
from lakebed.catalog.data.target import Target
from lakebed.catalog.tables.properties import Properties
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import SeenStateChanged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.metastore import DataRead
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.partition.values import PartitionKey, partition_key


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


def rows_deleted(target: Target, rows: Deletion) -> RowChange:
    """Write the vectors, and remove files that have no row left. The positions have to be of rows that are there."""
    files = target.files
    full = [file for file, positions in rows.some if len(positions) == live_rows(files, file)]
    gone = {file.path for file in full}
    partial = [(file, positions) for file, positions in rows.some if file.path not in gone]
    changed = write_vectors(files, target.state.data_folder, partial)
    return RowChange((*rows.whole, *full), changed)


def rows_replaced(target: Target, written: Written, rows: Deletion) -> RowChange:
    """Delete rows, and add the written ones that replace them; if that fails, discard what was written."""
    try:
        gone = rows_deleted(target, rows)
    except BaseException:
        RowChange(written=written).discard(target.files)
        raise
    return RowChange(gone.removed, gone.changed, written)


ROW_CHANGES: Final = "write.row-changes"


class RowChanges(Enum):
    """How rows are taken out of files."""

    MERGE_ON_READ = "merge-on-read"  # by vectors, which readers look at
    COPY_ON_WRITE = "copy-on-write"


CopyRows = Callable[[Target, Sequence[DataFileRef]], Sequence[DataFileRef]]
"""Writes the rows that the vectors of files leave, with their lineage."""


def row_changes(properties: Properties) -> RowChanges:
    """How a table wants its rows changed; `Invalid` if the property names no such way."""
    found = properties.get(ROW_CHANGES)
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
    work: Work, target: Target, change: RowChange, copy_rows: CopyRows, discard: Discard = RowChange.discard
) -> RowChange:
    """The change with new files in the place of those that got vectors, which are taken away again.

    It is a change of rows like others, no compaction: the log counts the copied rows as removed and added. If it fails,
    `discard` takes away what the change had written.
    """
    if not change.changed:
        return change
    files = target.files
    copied: tuple[DataFileRef, ...] = ()
    try:
        live = live_among(work, target.state, {one.path: one for one in change.changed})
        copied = tuple(copy_rows(target, change.changed))
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
