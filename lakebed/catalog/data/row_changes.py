"""What an engine made of a change of rows: files, vectors and bodies that are written, for a commit to show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakebed.catalog.data.changes import change_files, delta_of, fitting, put_rows
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import Stale
from lakebed.catalog.transaction.work import Work
from lakebed.files import Files
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
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
        raise Stale("rows that were read")
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
