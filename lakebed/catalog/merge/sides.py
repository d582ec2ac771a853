"""One side of a merge, ours or theirs: its objects, its commits since the base, and what they did to an object."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.data.deltas import history, whole_manifest
from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.states import ObjectState, read_states
from lakebed.catalog.tables.tables import TableState, schema_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Commit, State
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import Manifest
from lakebed.table.merge.files import Side, SideDelta
from lakebed.table.merge.sides import COMPACT, Files, state

# What a side can have done to an object, in the words of the matrix of acceptance/002.
CREATED = "created"
UNDROPPED = "undropped"
RENAMED = "renamed"
PROPERTIES = "properties"
FIELDS = "storage or owner"
SCHEMA = "schema"
SPEC = "spec"
SORT = "sort order"
VIEW = "view"
ACTIVE = "active edition"
STREAM = "stream"
STATE = "state"
PARTITION = "partition"
DATA = "data"
COMPACTED = "compacted"

HARD = frozenset({CREATED, UNDROPPED, RENAMED, SCHEMA, VIEW, ACTIVE, STREAM, STATE, DATA})
"""Changes that a drop on the other side would lose."""
SOFT = frozenset({PROPERTIES, FIELDS, SPEC, SORT, PARTITION})
"""Changes that lose to a drop on the other side; the result reports them."""

HELD = frozenset({SCHEMA, STREAM, DATA, COMPACTED, PROPERTIES, SPEC, SORT})
"""Changes of a table's object that are changes of its first edition."""

PICK = "cherry_pick"
"""The operation that does again what a commit of another line did, without following from it."""

BACK = frozenset({"revert", "restore"})
"""Operations that bring rows back which the line had before."""


@dataclass(frozen=True, slots=True)
class MergeSide:
    """The objects of a side, and the commits that led to them from the base.

    `at_base` are those of them that merged what is at the base too: the side overwrote nothing by them. `common` are
    those that the other side has too, by merges that crossed: what they did to files is at the base (`bases`).
    """

    work: Work
    commits: tuple[Commit, ...]
    states: Mapping[str, ObjectState]
    at_base: frozenset[Version] = frozenset()
    common: frozenset[tuple[str, Version]] = frozenset()

    @classmethod
    def of(
        cls,
        work: Work,
        commits: tuple[Commit, ...],
        ids: Collection[str],
        at_base: frozenset[Version],
        common: frozenset[tuple[str, Version]],
    ) -> "MergeSide":
        return cls(work, commits, read_states(work, ids), at_base, common)

    def files(self, table: TableState) -> Side:
        """The table's live files on this side, and what it alone did to them since the base."""
        own = {(commit.line, commit.version) for commit in self.commits} - self.common
        first = min((version for _, version in own), default=None)
        since = [] if first is None else history(self.work, table.partition, first.previous())
        deltas = [
            SideDelta(_operation(delta.record), self._manifest(delta), delta.version, delta.version in self.at_base)
            for delta in reversed(since)
            if (delta.line, delta.version) in own
        ]
        return Side(committed_files(self.work, table), deltas)

    def _manifest(self, delta: State) -> Manifest:
        manifest = whole_manifest(self.work.context, delta)
        if delta.version in self.at_base:
            manifest.ClearField("overwritten")
        return manifest

    def columns_since(self, table: TableState) -> frozenset[int]:
        """The ids of all columns that a table had on this side after the base."""
        own = {(commit.line, commit.version) for commit in self.commits}
        past = (
            history(self.work, str(table.id), min(version for _, version in own).previous(), Attribute.SCHEMA)
            if own
            else []
        )
        numbers = {cast(pb.TableSchema, one.record).schema_id for one in past if (one.line, one.version) in own}
        return frozenset().union(*(schema_of(self.work, table.id, number).ways for number in numbers))

    def operations_on(self, object_id: str) -> frozenset[str]:
        """The types of all operations on an object since the base."""
        return frozenset(
            done.type for commit in self.commits for done in commit.operations if done.object_id == object_id
        )

    def birth(self, object_id: str) -> Commit | None:
        """The first commit of this side that touched an object."""
        commits = [one for one in self.commits if any(done.object_id == object_id for done in one.operations)]
        return min(commits, key=lambda commit: commit.version, default=None)


def changes(
    base: ObjectState | None, side: ObjectState, files: Files, before: Files, deltas: Collection[SideDelta]
) -> frozenset[str]:
    """What a side did to an object that it has. Files are compared by their state, however they got there."""
    if base is None:
        return frozenset({CREATED})
    done = {what for what, differs in _differences(base, side) if differs}
    if {path: state(file) for path, file in files.items()} != {path: state(file) for path, file in before.items()}:
        done.add(COMPACTED if deltas and all(delta.operation == COMPACT for delta in deltas) else DATA)
    return frozenset(done)


def _differences(base: ObjectState, side: ObjectState) -> list[tuple[str, bool]]:
    differences = [
        (UNDROPPED, side.is_kept and not base.is_kept),
        (RENAMED, base.place != side.place),
        (PROPERTIES, base.properties != side.properties),
        (FIELDS, base.fields != side.fields),
        (VIEW, base.view != side.view),
        (ACTIVE, base.active != side.active),
        (STREAM, base.stream != side.stream),
        (STATE, base.state != side.state),
        (PARTITION, base.partition != side.partition),
    ]
    if base.table is not None and side.table is not None and side.type not in (pb.STREAM, pb.PARTITION):
        differences += [
            (SCHEMA, _columns(base.table) != _columns(side.table)),
            (SPEC, base.table.spec != side.table.spec),
            (SORT, base.table.sort_order != side.table.sort_order),
        ]
    return differences


def _columns(table: TableState) -> tuple[object, ...]:
    """What is compared of a schema: not its id, because a change that was undone is not a change."""
    return table.schema.fields, table.schema.identifier_ids


def _operation(record: object) -> str:
    return operation_name(cast(pb.TableHistory, record).operation)
