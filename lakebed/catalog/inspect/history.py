"""A table with its history in one value, from which documents and system tables are made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from lakebed.catalog.data.deltas import histories, history, record_of, summary_of, whole_manifest
from lakebed.catalog.data.frames import framed_manifest
from lakebed.catalog.objects.properties import properties_of
from lakebed.catalog.objects.walk import created_version, last_changes
from lakebed.catalog.tables.storage import Storage, storage_of, stored_record
from lakebed.catalog.tables.tables import TableState, spec_of, table_state, table_states
from lakebed.catalog.transaction.bodies import SCHEMA, SPEC
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.framed import FramedManifest
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

    def summary(self, context: Context) -> dict[str, str]:
        """What the caller said of the snapshot."""
        return summary_of(context, self.state)

    def frame(self, context: Context) -> FramedManifest:
        """The whole frame of the delta's manifest."""
        return framed_manifest(context, self.state, self.time_ms)


@dataclass(frozen=True, slots=True)
class LastChange:
    """A commit's version and its time, in microseconds since 1970."""

    version: Version
    time: int

    def __str__(self) -> str:
        return f"{self.version} at {datetime_of(self.time):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class TablePast:
    """A table as it is now, and its snapshots, oldest first."""

    name: tuple[str, ...]
    state: TableState
    properties: Mapping[str, str]
    storage: Storage
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


def pasts_of(work: Work, tables: Sequence[str]) -> Iterator[TablePast]:
    """The same for many tables: a few round trips for all whose histories are short, some for each of the others."""
    states = table_states(work, tables)
    pages = work.reader.histories([(state.partition, Attribute.DATA, None) for state in states])
    deltas = [page.items[::-1] for page in pages if page.token is None]
    steps = iter(_steps(work, [delta for own in deltas for delta in own]))
    records = [record_of(delta) for own in deltas for delta in own]
    work.context.bodies.load((record.table_id, SCHEMA, record.schema_id) for record in records)
    short = [state for state, page in zip(states, pages, strict=True) if page.token is None]
    pasts = iter(_pasts(work, short, [tuple(islice(steps, len(own))) for own in deltas]))
    for state, page in zip(states, pages, strict=True):
        yield next(pasts) if page.token is None else table_past(work, state.id)


def newest_of(work: Work, tables: Sequence[str]) -> list[TablePast]:
    """Many tables, each with its newest snapshot only: a few round trips for all, however long the histories."""
    states = table_states(work, tables)
    newest = work.reader.attributes([(state.partition, Attribute.DATA) for state in states])
    steps = iter(_steps(work, [delta for delta in newest if delta is not None]))
    return _pasts(work, states, [() if delta is None else (next(steps),) for delta in newest])


def live_files(context: Context, steps: tuple[Step, ...]) -> list[LiveFile]:
    """The live files after these steps, in the order in which they were added; `steps` begin with the first."""
    return list(over(EMPTY, (step.manifest(context) for step in steps)).on(()).values())


def states(work: Work, ids: Sequence[str], attribute: Attribute) -> list[list[State]]:
    """All that an attribute of each object ever was on the line, oldest first."""
    return [own[::-1] for own in histories(work, [(object_id, None) for object_id in ids], attribute)]


def _pasts(work: Work, states: Sequence[TableState], steps: Sequence[tuple[Step, ...]]) -> list[TablePast]:
    changes = last_changes(work, [state.id for state in states])
    specs = _specs(work, states)
    newest = [_later(change, own) for change, own in zip(changes, steps, strict=True)]
    times = iter(work.context.metastore.times([version for version in newest if version is not None]))
    return [
        TablePast(
            name_of(work, state.id),
            state,
            properties_of(work, state.id),
            storage_of(stored_record(work, state.id)),
            created_version(work, state.id),
            None if changed is None else LastChange(changed, next(times)),
            specs[state.id],
            own,
            work.context,
        )
        for state, changed, own in zip(states, newest, steps, strict=True)
    ]


def _later(change: Version | None, steps: tuple[Step, ...]) -> Version | None:
    versions = [step.state.version for step in steps[-1:]]
    return max(versions if change is None else [*versions, change], default=None)


def step_of(work: Work, delta: State) -> Step:
    """The snapshot that a delta made."""
    return _steps(work, [delta])[0]


def _steps(work: Work, deltas: Sequence[State]) -> tuple[Step, ...]:
    times = work.context.metastore.times([delta.version for delta in deltas])
    return tuple(Step(delta, time) for delta, time in zip(deltas, times, strict=True))


def _specs(work: Work, tables: Sequence[TableState]) -> dict[str, tuple[PartitionSpec, ...]]:
    """By table, the specs that it has had on this line, with the empty one if it was created without partitions."""
    changed = [table for table in tables if work.attribute(table.id, Attribute.SPEC) is not None]
    pasts = states(work, [table.id for table in changed], Attribute.SPEC) if changed else []
    ids = {table.id: _spec_ids(work, table, past) for table, past in zip(changed, pasts, strict=True)}
    work.context.bodies.load((table, SPEC, spec_id) for table, own in ids.items() for spec_id in own)
    had = {table: tuple(spec_of(work, table, spec_id) for spec_id in own) for table, own in ids.items()}
    return {table.id: had.get(table.id, (table.spec,)) for table in tables}


def _spec_ids(work: Work, table: TableState, past: Sequence[State]) -> list[int]:
    ids = [cast(pb.TableSpec, state.record).spec_id for state in past]
    born_without = bool(past) and past[0].version != created_version(work, table.id)
    return list(dict.fromkeys([*([0] if born_without else []), *ids, table.spec.id]))
