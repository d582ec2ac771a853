"""The snapshots of a table: its state after each of its deltas."""

from dataclasses import dataclass
from datetime import datetime

from lakebed.catalog.data.deltas import history, record_of, summary_of
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.work import Work
from lakebed.errors import NotFound
from lakebed.metastore import DataRead, State
from lakebed.metastore.kinds import operation_name
from lakebed.store import Version


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

    def __str__(self) -> str:
        """One line of a list: id, version, time, what was done, and its counts."""
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in sorted(self.counts.items()))
        done = self.operation.replace("_", " ")
        return f"{self.id}  version {self.version}  {self.time:%Y-%m-%d %H:%M:%S}  {done}  {counts}".rstrip()


def snapshots(work: Work, state: TableState) -> list[SnapshotInfo]:
    """The table's snapshots, newest first; a later snapshot is a conflict with this read."""
    work.read(DataRead(state.partition))
    states = history(work, state.partition)
    times = work.context.metastore.times([delta.version for delta in states])
    return [_info(work.context, delta, time) for delta, time in zip(states, times, strict=True)]


def find_snapshot(work: Work, state: TableState, snapshot_id: int) -> Version:
    """The version that made a snapshot, or `NotFound`."""
    return delta_of_snapshot(work, state, snapshot_id).version


def delta_of_snapshot(work: Work, state: TableState, snapshot_id: int | None = None) -> State:
    """The delta that made a snapshot, the newest if None; `NotFound` if there is none."""
    for delta in history(work, state.partition):
        if snapshot_id is None or record_of(delta).snapshot_id == snapshot_id:
            return delta
    problem = "there is no snapshot yet" if snapshot_id is None else f"there is no snapshot {snapshot_id}"
    raise NotFound(problem, subject=f"table {state.id}")


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
