"""A feed between two ends of a table: its steps, commit by commit or net, and the columns that its rows have."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.columns import read_by_name, shown_schema
from lakebed.catalog.feed.deltas import (
    FileChange,
    all_entries,
    file_changes,
    live_entries,
    manifests_between,
    touched,
    uncompacted,
)
from lakebed.catalog.feed.ends import End, activations, common_version, is_past_of, state_of_holder
from lakebed.catalog.feed.steps import ALWAYS, Doubt, Piece, Rows, Step, differing, live_piece
from lakebed.catalog.tables.tables import TableState, schema_of
from lakebed.errors import NotFound
from lakebed.store import Version
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Feed:
    """What a feed reads: its steps, oldest first, and the table's columns as all of them show them.

    `commits` is how many commits changed the table's files between its ends, compactions included.
    """

    schema: Schema
    steps: tuple[Step, ...]
    commits: int
    is_net: bool


def feed_of(since: End, until: End, *, net: bool) -> Feed:
    """The feed that turns one state of a table into another; net if the first is not in the other's past."""
    if until.state is None:
        raise NotFound("the table is not there yet", subject=f"table {until.table}, version {until.version}")
    if net or not is_past_of(since, until):
        return _Planner(since, until).net()
    return _Planner(since, until).by_commit()


class _Planner:
    def __init__(self, since: End, until: End) -> None:
        assert until.state is not None
        self._since, self._until, self._newest = since, until, until.state
        self._schemas: dict[tuple[str, int], Schema] = {}
        self._commits = 0

    # Commit by commit.

    def by_commit(self) -> Feed:
        steps = self._timed(list(self._steps()))
        return self._finished(steps, is_net=False)

    def _steps(self) -> Iterator[Step]:
        holder, start = self._since.holder, self._since
        for version, following in activations(self._since, self._until):
            if holder is not None:
                before = self._until.at(version.previous())
                yield from self._steps_of(holder, start, version)
                yield self._swap(before, self._until.at(version), version)
                start = self._until.at(version)
            holder = following
        if holder is not None:
            yield from self._steps_of(holder, start, None)

    def _steps_of(self, holder: str, start: End, before: Version | None) -> Iterator[Step]:
        """The commits to one edition after a start, up to another version or the end."""
        state = state_of_holder(self._until, holder)
        deltas = manifests_between(self._until.work, state.partition, start.version, before)
        known = live_entries(start.work, start.state, touched(deltas))
        for change in file_changes(self._until.work.context, known, deltas):
            self._note(state, change)
            step = self._step(state, change)
            if step.removed.pieces or step.added.pieces:
                yield step

    def _step(self, state: TableState, change: FileChange) -> Step:
        removed, added = differing(self._until.work.context.files, change.before, change.after)
        doubt = ALWAYS if change.is_brought else Doubt(change.sequence - 1, change.sequence)
        return Step(change.version, 0, self._rows(state, removed), self._rows(state, added), doubt)

    def _swap(self, before: End, after: End, version: Version) -> Step:
        """All rows of one edition go, all of another come."""
        self._commits += 1
        gone, come = self._all_rows(before), self._all_rows(after)
        return Step(version, 0, gone, come, matched=False)

    # Net.

    def net(self) -> Feed:
        same = self._since.holder == self._until.holder
        step = self._difference() if same else self._swap(self._since, self._until, self._until.version)
        wrote = table_files(self._until.work, self._newest).version
        known = [version for version in (wrote, None if same else self._activated()) if version is not None]
        version = max(known, default=self._until.version)
        steps = [replace(step, version=version, is_net=True)] if step.removed.pieces or step.added.pieces else []
        return self._finished(self._timed(steps), is_net=True)

    def _activated(self) -> Version | None:
        """When the edition at the end became active, if that was after the two lines parted."""
        start = self._until.at(common_version(self._since, self._until))
        return max((version for version, _ in activations(start, self._until)), default=None)

    def _difference(self) -> Step:
        since, until = self._since, self._until
        common = common_version(since, until)
        first = until if common == until.version else until.at(common)
        lines = [manifests_between(end.work, self._newest.partition, common) for end in (since, until)]
        wanted = touched([*lines[0], *lines[1]])
        start = live_entries(first.work, first.state, wanted)
        ours, theirs = ([*file_changes(until.work.context, start, deltas)] for deltas in lines)
        for change in (*ours, *theirs):
            self._note(self._newest, change)
        removed, added = differing(
            until.work.context.files,
            uncompacted(live_entries(since.work, since.state, wanted), ours),
            uncompacted(live_entries(until.work, until.state, wanted), theirs),
        )
        doubt = ALWAYS if ours or any(change.is_brought for change in theirs) else _doubt_of(theirs)
        return Step(until.version, 0, self._rows(self._newest, removed), self._rows(self._newest, added), doubt)

    # Both.

    def _note(self, state: TableState, change: FileChange) -> None:
        self._commits += 1
        self._know(state, change.schema_id)

    def _know(self, state: TableState, schema_id: int) -> None:
        place = (str(state.id), schema_id)
        if place not in self._schemas:
            known = state.schema if state.schema.id == schema_id else None
            self._schemas[place] = known or schema_of(self._until.work, state.id, schema_id)

    def _rows(self, state: TableState, pieces: tuple[Piece, ...]) -> Rows:
        context = self._until.work.context
        return Rows(Sources(context.files, str(state.id), context.metastore), state.schema, pieces)

    def _all_rows(self, end: End) -> Rows:
        if end.state is None:
            return self._rows(self._newest, ())
        entries = all_entries(end.work, end.state).values()
        files = end.work.context.files
        pieces = sorted((live_piece(files, file) for file in entries), key=lambda piece: piece.file.first_row_id)
        return self._rows(end.state, tuple(piece for piece in pieces if piece.rows))

    def _timed(self, steps: list[Step]) -> list[Step]:
        times = self._until.work.context.metastore.times([step.version for step in steps]) if steps else []
        return [replace(step, time=time) for step, time in zip(steps, times, strict=True)]

    def _finished(self, steps: Iterable[Step], *, is_net: bool) -> Feed:
        """The feed, each side read by the columns that all steps show."""
        newest = str(self._newest.id)
        ends = [end.state.schema for end in (self._since, self._until) if end.state and str(end.state.id) == newest]
        noted = [schema for (holder, _), schema in self._schemas.items() if holder == newest]
        shown = shown_schema(self._newest.schema, [*ends, *noted])

        def read_by(rows: Rows) -> Rows:
            own = rows.sources.table == newest
            return replace(rows, schema=shown if own else read_by_name(rows.schema, shown))

        read = (replace(step, removed=read_by(step.removed), added=read_by(step.added)) for step in steps)
        return Feed(shown, tuple(read), self._commits, is_net)


def _doubt_of(changes: list[FileChange]) -> Doubt:
    return Doubt(changes[0].sequence - 1, changes[-1].sequence) if changes else Doubt(0, 0)
