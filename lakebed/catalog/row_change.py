"""What an engine made of a change of rows: files, vectors and bodies that are written, for a commit to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakebed.catalog.file_changes import change_files, delta_of, fitting, put_rows
from lakebed.catalog.scopes import Stale
from lakebed.catalog.tables import TableState
from lakebed.catalog.work import Work
from lakebed.files import Files
from lakebed.table.inline import file_paths
from lakebed.table.manifest_pb2 import DataFileRef, Rewrite


@dataclass(frozen=True, slots=True)
class Written:
    """The entries of rows that were written, and the bodies of those that are inline, by inline id."""

    files: Sequence[DataFileRef] = ()
    bodies: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows taken away, by whole files and by vectors, and rows written. `overwritten` is the condition of an overwrite.

    Nobody can see any of it yet.
    """

    removed: Sequence[DataFileRef] = ()
    changed: Sequence[DataFileRef] = ()
    written: Written = field(default_factory=Written)
    rewrites: Sequence[Rewrite] = ()
    overwritten: str | None = None

    @property
    def paths(self) -> set[str]:
        """The files that were written for it: of rows, and of vectors."""
        return {*file_paths(self.written.files), *(one.dv_path for one in self.changed if one.dv_path)}

    def discard(self, files: Files) -> None:
        """Take away what was written. What can't be deleted now is left for garbage collection."""
        files.delete_many(self.paths)

    def discard_vectors(self, files: Files) -> None:
        """Take away the vectors alone."""
        files.delete_many({one.dv_path for one in self.changed if one.dv_path})


def put_change(work: Work, seen: Work, written: TableState, operation: str, change: RowChange, detail: str) -> None:
    """Make the change in the work that it was made for; in another one it is a `Conflict`, for its rows may differ."""
    if work is not seen:
        raise Stale("rows that were read")
    state = fitting(work, written)
    delta = replace(
        delta_of(state, operation),
        added=tuple(change.written.files),
        removed=tuple(change.removed),
        changed=tuple(change.changed),
        rewrites=tuple(change.rewrites),
        overwritten=change.overwritten,
    )
    change_files(work, state, delta, detail)
    put_rows(work, state, change.written.bodies)
    work.wrote(change.paths)
