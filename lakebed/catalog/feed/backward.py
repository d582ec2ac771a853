"""The past of rows, from the newest commit back: which commits touched their files, and what those were before."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.deletion_vectors import read_vector
from lakebed.catalog.data.deltas import record_of, whole_manifest
from lakebed.catalog.feed.deltas import Entries, live_entries, manifests_between, touched
from lakebed.catalog.feed.ends import End, common_version, end_at
from lakebed.catalog.feed.steps import Piece, differing
from lakebed.catalog.objects.log import log_page
from lakebed.catalog.tables.tables import TableState, schema_of
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.scopes import Pinned, Scope
from lakebed.errors import Expired, NotFound
from lakebed.metastore.pages import every
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import DELETED
from lakebed.table.manifest.manifest_pb2 import DataFileRef

Place = tuple[str, int]
"""Where a row is: the path of its file, and its position there."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit to a table's files: the files that it names, and the columns that the table had."""

    version: Version
    schema_id: int
    files: Mapping[str, DataFileRef]


class Past:
    """One line's past of a table, up to a version."""

    def __init__(self, scope: Scope, end: End, state: TableState) -> None:
        self._scope, self.end, self.state = scope, end, state

    def touches(self) -> Iterator[Touch]:
        """The commits to the table's files, newest first; each is read when it is asked for."""
        work = self.end.work
        for state in every(partial(work.reader.history, self.state.partition, Attribute.DATA)):
            files = touched([(state, whole_manifest(work.context, state))])
            yield Touch(state.version, record_of(state).schema_id, files)

    def before(self, touch: Touch) -> Entries:
        """The entries that the files of a commit had before it."""
        past = self._scope.at(touch.version.previous()).read()
        return live_entries(past, self.state, touch.files)

    def removed(self, touch: Touch, before: Entries) -> tuple[Piece, ...]:
        """The rows that a commit removed from their places."""
        after = {path: file for path, file in touch.files.items() if file.status != DELETED}
        return differing(self.end.work.context.files, before, after)[0]

    def pieces_at(self, places: Iterable[Place]) -> tuple[Piece, ...]:
        """The rows in these places of live files."""
        positions: dict[str, list[int]] = {}
        for path, position in places:
            positions.setdefault(path, []).append(position)
        live = live_entries(self.end.work, self.state, {path: DataFileRef(path=path) for path in positions})
        return tuple(_only(file, positions[path]) for path, file in live.items())

    def had(self, field_id: int, touch: Touch) -> bool:
        """Whether the table had a column when a commit was made."""
        return field_id in schema_of(self.end.work, str(self.state.id), touch.schema_id).ways

    def has_column(self, field_id: int) -> bool:
        """Whether the table has a column at the end of this past."""
        return self.end.state is not None and field_id in self.end.state.schema.ways

    def has(self, entries: Mapping[str, DataFileRef], place: Place) -> bool:
        """Whether a place has a row in these entries."""
        path, position = place
        if path not in entries:
            return False
        vector = read_vector(self.end.work.context.files, entries[path])
        return vector is None or position not in vector

    def commit(self, version: Version) -> Commit:
        """The commit of a version of the line."""
        return log_page(self._scope.at(version).read(), 1)[0][0]

    def commit_that_added(self, field_id: int, after: Version) -> Commit | None:
        """The commit after a version that gave the table a column; None if the column is older."""
        work, holder = self.end.work, str(self.state.id)
        states = [*every(partial(work.reader.history, holder, Attribute.SCHEMA, since=after))]
        for state in reversed(states):
            if field_id in schema_of(work, holder, state.record.schema_id).ways:  # type: ignore[attr-defined]
                return self.commit(state.version)
        return None

    def source_of(self, commit: Commit) -> "Past | None":
        """The state that a merge brought, or that a reset went back to; None if it can't be read."""
        if not commit.parents:  # a share's log has none: what is on other lines is not shown
            return None
        context, place = self._scope.context, commit.parents[-1]
        try:
            ref = open_line(context, self._scope.ref.catalog, place.line)
            scope = Pinned(context, ref, place.version)
            end = end_at(scope, self.end.table, place.version)
        except (NotFound, Expired):  # its branch, or the table there, is purged
            return None
        is_same = end.state is not None and end.state.partition == self.state.partition
        return Past(scope, end, self.state) if is_same else None

    def brought_to(self, other: "Past", version: Version) -> tuple[Piece, ...]:
        """The rows of this state that another line did not have in their places before a version.

        They are in files that one of the two has touched since the lines parted.
        """
        since = other._scope.at(version.previous())
        there = End(since, since.read(), other.end.table, other.state)
        common = common_version(self.end, there)
        deltas = [*manifests_between(self.end.work, self.state.partition, common)]
        deltas += manifests_between(there.work, self.state.partition, common)
        files = touched(deltas)
        had, has = (live_entries(end.work, self.state, files) for end in (there, self.end))
        return differing(self.end.work.context.files, had, has)[1]


def _only(file: DataFileRef, positions: Iterable[int]) -> Piece:
    left_out = BitMap64()
    left_out.add_range(0, file.num_rows)
    return Piece(file, FrozenBitMap64(left_out - BitMap64(positions)))


def past_of(scope: Scope, table: str) -> Past:
    """The past of a table on a line, from the scope's version back; in a transaction from its base."""
    version = scope.read().base
    end = end_at(scope, table, version)
    if end.state is None:
        raise NotFound("the table is not there yet", subject=f"table {table}, version {version}")
    return Past(end.scope, end, end.state)
