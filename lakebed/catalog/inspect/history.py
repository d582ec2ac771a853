"""A table with its history in one value, from which documents and system tables are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from lakebed.catalog.data.deltas import entries_file, history, whole_manifest
from lakebed.catalog.objects.properties import properties_of
from lakebed.catalog.objects.walk import created_version, last_changes
from lakebed.catalog.tables.tables import TableState, spec_of, table_state
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.manifest.snapshot import EMPTY, LiveFile, over
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.partition.values import partition_texts


@dataclass(frozen=True, slots=True)
class Step:
    """A snapshot of a table and the delta that made it; `time` is that of its commit, in microseconds since 1970."""

    state: State
    time: int

    @property
    def record(self) -> pb.TableHistory:
        return cast(pb.TableHistory, self.state.record)

    @property
    def id(self) -> int:
        """The snapshot's id."""
        return self.record.snapshot_id

    @property
    def previous_id(self) -> int | None:
        return self.record.previous_snapshot_id if self.record.HasField("previous_snapshot_id") else None

    @property
    def time_ms(self) -> int:
        return self.time // 1000

    @property
    def operation(self) -> str:
        """What the commit did, as the log names it."""
        return operation_name(self.record.operation)

    @property
    def iceberg_operation(self) -> str:
        """The same as one of Iceberg's four operations, or `create`.

        As Iceberg's RowDelta has it: a delete adds no data file. Vectors that give rows back are an overwrite.
        """
        if self.operation in ("create", "compact"):
            return {"create": "create", "compact": "replace"}[self.operation]
        counts = self.record.counts
        added, removed = (bool(counts.get(f"{what}_files", 0)) for what in ("added", "removed"))
        deleted = removed or bool(counts.get("changed_files", 0))
        if deleted:
            return "overwrite" if added or counts.get("added_rows", 0) else "delete"
        return "delete" if not added and self.operation in ("delete", "truncate") else "append"

    def manifest(self, context: Context) -> Manifest:
        """The whole manifest of the delta."""
        return whole_manifest(context, self.state, self.time_ms)

    def entries_file(self, context: Context) -> tuple[str, int] | None:
        """The path and length of the file with the delta's entries; None if they are in the store."""
        return entries_file(context, self.state)


@dataclass(frozen=True, slots=True)
class LastChange:
    """A commit's version and its time, in microseconds since 1970."""

    version: Version
    time: int

    def __str__(self) -> str:
        return f"{self.version} at {datetime_of(self.time):%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class TablePast:
    """A table as it is now, and its snapshots, oldest first."""

    name: tuple[str, ...]
    state: TableState
    properties: Mapping[str, str]
    created: Version | None
    changed: LastChange | None
    specs: tuple[PartitionSpec, ...]
    steps: tuple[Step, ...]
    context: Context = field(repr=False)

    def partition_texts(self, file: DataFileRef, schema_id: int) -> dict[str, str | None]:
        """A file's partition as texts by field name; `schema_id` is the schema that the file was added with."""
        schemas = self.context.bodies
        spec, schema = schemas.spec(self.state.id, file.spec_id), schemas.get(self.state.id, schema_id)
        return partition_texts(file, spec, schema)


def table_past(work: Work, table: str) -> TablePast:
    """The table as the work sees it, with all its committed snapshots; `NotFound` if it is not alive."""
    state = table_state(work, table)
    steps = _steps(work, history(work, state.partition)[::-1])
    [past] = _pasts(work, [state], [steps])
    return past


def newest_of(work: Work, tables: Sequence[str]) -> list[TablePast]:
    """The same for many tables, each with its newest snapshot only: a few round trips, however long the histories."""
    states = [table_state(work, table) for table in tables]
    newest = work.reader.attributes([(state.partition, Attribute.DATA) for state in states])
    steps = iter(_steps(work, [delta for delta in newest if delta is not None]))
    return _pasts(work, states, [() if delta is None else (next(steps),) for delta in newest])


def live_files(context: Context, steps: tuple[Step, ...]) -> list[LiveFile]:
    """The live files after these steps, in the order in which they were added; `steps` begin with the first."""
    return list(over(EMPTY, (step.manifest(context) for step in steps)).on(()).values())


def states(work: Work, object_id: str, attribute: Attribute) -> list[State]:
    """All that an attribute of an object ever was on the line, oldest first."""
    return history(work, object_id, attribute=attribute)[::-1]


def _pasts(work: Work, states: Sequence[TableState], steps: Sequence[tuple[Step, ...]]) -> list[TablePast]:
    changes = last_changes(work, [state.id for state in states])
    newest = [_later(change, own) for change, own in zip(changes, steps, strict=True)]
    times = iter(work.context.metastore.times([version for version in newest if version is not None]))
    return [
        TablePast(
            name_of(work, state.id),
            state,
            properties_of(work, state.id),
            created_version(work, state.id),
            None if changed is None else LastChange(changed, next(times)),
            _specs(work, state),
            own,
            work.context,
        )
        for state, changed, own in zip(states, newest, steps, strict=True)
    ]


def _later(change: Version | None, steps: tuple[Step, ...]) -> Version | None:
    versions = [step.state.version for step in steps[-1:]]
    return max(versions if change is None else [*versions, change], default=None)


def _steps(work: Work, deltas: Sequence[State]) -> tuple[Step, ...]:
    times = work.context.metastore.times([delta.version for delta in deltas])
    return tuple(Step(delta, time) for delta, time in zip(deltas, times, strict=True))


def _specs(work: Work, state: TableState) -> tuple[PartitionSpec, ...]:
    """The specs that the table has had on this line, with the empty one if it was created without partitions."""
    if work.attribute(state.id, Attribute.SPEC) is None:
        return (state.spec,)
    past = states(work, state.id, Attribute.SPEC)
    ids = [cast(pb.TableSpec, state.record).spec_id for state in past]
    born_without = bool(past) and past[0].version != created_version(work, state.id)
    distinct = dict.fromkeys([*([0] if born_without else []), *ids, state.spec.id])
    return tuple(spec_of(work, state.id, spec_id) for spec_id in distinct)
