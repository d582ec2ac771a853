"""The snapshots of a table: its state after each of its deltas."""

from dataclasses import dataclass
from datetime import datetime

from lakebed.catalog.data.deltas import history, record_of, summary_of, whole_manifest
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.work import Work
from lakebed.errors import NotFound
from lakebed.metastore import DataRead, State
from lakebed.metastore.kinds import operation_name
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import Manifest


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot of a table, as `Table.snapshots` lists it. `counts` are of its delta, `totals` of the table.

    `summary` is what the caller of the write said of it.
    """

    id: int
    previous_id: int | None
    sequence_number: int
    version: Version
    time: datetime
    operation: str
    schema_id: int
    spec_id: int
    counts: dict[str, int]
    totals: dict[str, int]
    summary: dict[str, str]


def snapshots(work: Work, state: TableState) -> list[SnapshotInfo]:
    """The table's snapshots, newest first; a later snapshot is a conflict with this read."""
    work.read(DataRead(state.partition))
    states = history(work, state.partition)
    times = work.context.metastore.times([delta.version for delta in states])
    return [_info(work.context, delta, time) for delta, time in zip(states, times, strict=True)]


def find_snapshot(work: Work, state: TableState, snapshot_id: int) -> Version:
    """The version that made a snapshot, or `NotFound`."""
    for delta in history(work, state.partition):
        if record_of(delta).snapshot_id == snapshot_id:
            return delta.version
    raise NotFound(f"there is no snapshot {snapshot_id}", subject=f"table {state.id}")


def manifests(work: Work, state: TableState) -> list[Manifest]:
    """The whole manifest of every commit to the table, oldest first."""
    states = history(work, state.partition)[::-1]
    times = work.context.metastore.times([delta.version for delta in states])
    return [whole_manifest(work.context, delta, time // 1000) for delta, time in zip(states, times, strict=True)]


def _info(context: Context, state: State, time: int) -> SnapshotInfo:
    record = record_of(state)
    return SnapshotInfo(
        id=record.snapshot_id,
        previous_id=record.previous_snapshot_id if record.HasField("previous_snapshot_id") else None,
        sequence_number=record.sequence_number,
        version=state.version,
        time=datetime_of(time),
        operation=operation_name(record.operation),
        schema_id=record.schema_id,
        spec_id=record.spec_id,
        counts=dict(record.counts),
        totals=dict(record.totals),
        summary=summary_of(context, state),
    )
