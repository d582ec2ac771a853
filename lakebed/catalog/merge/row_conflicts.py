"""Conflicts of rows, with the commits that changed the row on each side."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from lakebed.catalog.data.deltas import history, record_of, whole_manifest
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.deltas import Entries, live_entries
from lakebed.catalog.feed.steps import Piece, differing, live_piece
from lakebed.catalog.merge.rows import DisputedRow, Numbered, NumberedRows, Place, RowNumbers
from lakebed.catalog.merge.sides import MergeSide
from lakebed.catalog.merge.states import ObjectState, kind_name
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Expired, NotFound
from lakebed.metastore import Commit as StoredCommit
from lakebed.metastore import State
from lakebed.metastore.kinds import operation_name
from lakebed.store import Version
from lakebed.table.manifest.delta import DELETED
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.merge.sides import COMPACT

_FROM_A_STATE: Final = ("merge_branch", "reset")
"""Operations whose last parent is the state that they brought."""

_HELD: Final = 1 << 20
"""Of a commit with at most so many rows, the ids of all are kept: the next disputed row may be one of them."""


def row_conflict(
    state: ObjectState, name: str, disputed: DisputedRow, ours: "RowAuthors", theirs: "RowAuthors"
) -> RowConflict:
    """What an engine found, as a caller sees it."""
    return RowConflict(
        state.id,
        name,
        kind_name(state),
        disputed.what,
        disputed.key,
        disputed.row_id,
        disputed.columns,
        disputed.base,
        disputed.ours,
        disputed.theirs,
        ours.commit(disputed.row_id, disputed.ours_place, disputed.base_place),
        theirs.commit(disputed.row_id, disputed.theirs_place, disputed.base_place),
    )


class RowAuthors:
    """Finds the commits of a side that changed rows last, as `blame` does: back through moves, into what was merged.

    Nothing is read if the delta of a commit says it by itself. Else the ids of the rows that it removed are.
    """

    def __init__(self, side: MergeSide, table: TableState | None, sources: Sources, numbers: RowNumbers | None) -> None:
        self._side, self._table, self._sources, self._numbers = side, table, sources, numbers
        self._commits = {(commit.line, commit.version): commit for commit in side.commits}
        self._lines: dict[tuple[str, Version], list[_Delta]] = {}

    def commit(self, row_id: int | None, place: Place | None, before: Place | None) -> Commit | None:
        """The commit that made the row what it is at a place, or that deleted it; None if no commit of the side did."""
        if self._table is None or not self._commits or (place is None and before is None):
            return None
        found = self._search(self._side.work, row_id, place, before)
        return None if found is None else commit_of(found)

    def _search(self, work: Work, row_id: int | None, place: Place | None, before: Place | None) -> StoredCommit | None:
        for delta in self._deltas(work):
            if place is not None:
                if not delta.brings(place):
                    continue
                in_source = self._in_source(delta, row_id, place, before)
                moved = self._moved_from(delta, row_id, place) if in_source is None else None
                if moved is None:
                    return in_source or delta.commit
                place = moved
            elif self._deletes(delta, row_id, before):
                return self._in_source(delta, row_id, None, before) or delta.commit
        return None

    def _deltas(self, work: Work) -> "list[_Delta]":
        """The deltas of a line since the base, newest first."""
        key = work.ref.line.id, work.base
        if key not in self._lines:
            assert self._table is not None
            first = min(version for _, version in self._commits).previous()
            self._lines[key] = [
                _Delta(work, self._table, state, self._commits.get((state.line, state.version)))
                for state in history(work, self._table.partition, first)
            ]
        return self._lines[key]

    def _moved_from(self, delta: "_Delta", row_id: int | None, place: Place) -> Place | None:
        """Where a row was before a commit that only moved it; None if the commit changed or inserted it."""
        may_move = delta.operation == COMPACT or delta.removes_files
        if not may_move or row_id is None or self._numbers is None:
            return None
        was = self._numbered(delta, delta.removed, row_id)
        if was is None or delta.operation == COMPACT:
            return None if was is None else was.place
        now = self._numbered(delta, [piece for piece in delta.brought if piece.file.path == place[0]], row_id)
        is_copy = now is not None and now.sequence == was.sequence != delta.sequence
        return was.place if is_copy else None

    def _deletes(self, delta: "_Delta", row_id: int | None, before: Place | None) -> bool:
        """Whether a commit removed a row that the side does not have any more."""
        if delta.operation == COMPACT:
            return False
        if before is not None and delta.removes(before) and not delta.brought:
            return True
        if row_id is None or self._numbers is None:
            return before is not None and delta.removes(before)
        return bool(delta.removed) and self._numbered(delta, delta.removed, row_id) is not None

    def _in_source(
        self, delta: "_Delta", row_id: int | None, place: Place | None, before: Place | None
    ) -> StoredCommit | None:
        """The commit on the line that a merge brought; None if the row was not there, or that line is purged."""
        stored = delta.commit
        if delta.operation not in _FROM_A_STATE or stored is None or not stored.parents:
            return None
        context, at = self._side.work.context, stored.parents[-1]
        try:
            source = Work(context, open_line(context, self._side.work.ref.catalog, at.line), at.version)
            is_there = place is None or self._has(source, place)
            return self._search(source, row_id, place, before) if is_there else None
        except (NotFound, Expired):
            return None

    def _has(self, source: Work, place: Place) -> bool:
        assert self._table is not None
        found = live_entries(source, self._table, {place[0]: DataFileRef(path=place[0])})
        return _has([live_piece(source.context.files, file) for file in found.values()], place)

    def _numbered(self, delta: "_Delta", pieces: Sequence[Piece], row_id: int) -> Numbered | None:
        assert self._numbers is not None
        if sum(piece.rows for piece in pieces) > _HELD:
            return self._numbers.numbered_rows(self._sources, pieces, range(row_id, row_id + 1)).get(row_id)
        key = tuple(piece.file.path for piece in pieces)
        if key not in delta.known:
            delta.known[key] = self._numbers.numbered_rows(self._sources, pieces)
        return delta.known[key].get(row_id)


class _Delta:
    """What one commit did to the places of rows; read when it is asked for."""

    def __init__(self, work: Work, table: TableState, state: State, commit: StoredCommit | None) -> None:
        self.commit = commit
        self.operation = operation_name(record_of(state).operation)
        self.sequence = record_of(state).sequence_number
        self.known: dict[tuple[str, ...], NumberedRows] = {}
        self._work, self._table, self._state = work, table, state

    @cached_property
    def _manifest(self) -> Manifest:
        return whole_manifest(self._work.context, self._state)

    @property
    def removes_files(self) -> bool:
        """Whether it removed whole files: rows of them may be in others now, as they were."""
        return any(file.status == DELETED for file in self._manifest.data_files)

    @cached_property
    def _sides(self) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """The rows that it removed from their places, and those that it brought to theirs."""
        named: Entries = {file.path: file for file in self._manifest.data_files}
        past = Work(self._work.context, self._work.ref, self._state.version.previous())
        before = live_entries(past, self._table, named)
        after = {path: file for path, file in named.items() if file.status != DELETED}
        return differing(self._work.context.files, before, after)

    @property
    def removed(self) -> tuple[Piece, ...]:
        return self._sides[0]

    @property
    def brought(self) -> tuple[Piece, ...]:
        return self._sides[1]

    def brings(self, place: Place) -> bool:
        return self._names(place[0]) and _has(self.brought, place)

    def removes(self, place: Place) -> bool:
        return self._names(place[0]) and _has(self.removed, place)

    def _names(self, path: str) -> bool:
        return any(file.path == path for file in self._manifest.data_files)


def _has(pieces: Sequence[Piece], place: Place) -> bool:
    path, position = place
    return any(piece.file.path == path and position not in piece.left_out for piece in pieces)
