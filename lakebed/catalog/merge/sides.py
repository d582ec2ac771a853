"""The three states that a merge looks at: the base, ours and theirs, each a line at a version."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.data.deltas import history, whole_manifest
from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.states import ObjectState, read_states
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Commit
from lakebed.records import records_pb2 as pb
from lakebed.table.merge.files import Side, SideDelta
from lakebed.table.merge.sides import COMPACT, Files, state

# What a side can have done to an object, in the words of the matrix.
CREATED = "created"
UNDROPPED = "undropped"
RENAMED = "renamed"
PROPERTIES = "properties"
SCHEMA = "schema"
SPEC = "spec"
SORT = "sort order"
VIEW = "view"
DATA = "data"
COMPACTED = "compacted"

HARD = frozenset({CREATED, UNDROPPED, RENAMED, SCHEMA, VIEW, DATA})
"""Changes that a drop on the other side would lose."""
SOFT = frozenset({PROPERTIES, SPEC, SORT})
"""Changes that a drop on the other side wins over, and says so."""


@dataclass(frozen=True, slots=True)
class MergeSide:
    """One side: its state, and the commits that led to it from the base."""

    work: Work
    commits: tuple[Commit, ...]
    states: Mapping[str, ObjectState]

    @classmethod
    def of(cls, work: Work, commits: tuple[Commit, ...], ids: Collection[str]) -> "MergeSide":
        return cls(work, commits, read_states(work, ids))

    def files(self, table: TableState) -> Side:
        """The table's live files on this side, and what it did to them since the base."""
        own = {(one.line, one.version) for one in self.commits}
        first = min((version for _, version in own), default=None)
        since = [] if first is None else history(self.work, table.partition, first.previous())
        deltas = [
            SideDelta(_operation(one.record), whole_manifest(self.work.context, one), one.version)
            for one in reversed(since)
            if (one.line, one.version) in own
        ]
        return Side(committed_files(self.work, table), deltas)

    def birth(self, object_id: str) -> Commit | None:
        """The first commit of this side that had to do with an object."""
        found = [one for one in self.commits if any(done.object_id == object_id for done in one.operations)]
        return min(found, key=lambda one: one.version, default=None)


def changes(
    base: ObjectState | None, side: ObjectState, files: Files, before: Files, deltas: Collection[SideDelta]
) -> frozenset[str]:
    """What a side did to an object that is there on it. Files are compared by what they are, however they came."""
    if base is None:
        return frozenset({CREATED})
    found = {what for what, differs in _differences(base, side) if differs}
    if {path: state(one) for path, one in files.items()} != {path: state(one) for path, one in before.items()}:
        found.add(COMPACTED if deltas and all(one.operation == COMPACT for one in deltas) else DATA)
    return frozenset(found)


def _differences(base: ObjectState, side: ObjectState) -> list[tuple[str, bool]]:
    found = [
        (UNDROPPED, side.is_kept and not base.is_kept),
        (RENAMED, base.place != side.place),
        (PROPERTIES, base.properties != side.properties),
        (VIEW, base.view != side.view),
    ]
    if base.table is not None and side.table is not None:
        found += [
            (SCHEMA, _columns(base.table) != _columns(side.table)),
            (SPEC, base.table.spec != side.table.spec),
            (SORT, base.table.sort_order != side.table.sort_order),
        ]
    return found


def _columns(table: TableState) -> tuple[object, ...]:
    """What is compared of a schema: not its number, since a change that was taken back is none."""
    return table.schema.fields, table.schema.identifier_ids


def _operation(record: object) -> str:
    return pb.OperationType.Name(cast(pb.TableHistory, record).operation).lower()
