"""What a table's files are at a version: the deltas of its history, folded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from lakebed.catalog.commits import EPOCH
from lakebed.catalog.deltas import Delta, new_rows, then
from lakebed.catalog.names import spelled
from lakebed.catalog.objects import name_of
from lakebed.catalog.tables import TableState, spec_of, table_state
from lakebed.catalog.work import Work
from lakebed.errors import Conflict, Corrupt, NotFound
from lakebed.files import Files
from lakebed.metastore import DataRead, Operation, State
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table import frame
from lakebed.table.delta import DeltaHead, whole
from lakebed.table.filter import Filter
from lakebed.table.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.partition_pruning import may_match_partition
from lakebed.table.pruning import may_match
from lakebed.table.snapshot import Snapshot, fold


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot of a table, as `Table.snapshots` lists it. `counts` are of its delta, `totals` of the table."""

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


def live_files(work: Work, state: TableState, filter: Filter | None = None) -> list[DataFileRef]:
    """The table's files, those that the work itself added last; with a filter, those whose partition may have its rows.

    It becomes part of what the work has read: a later delta that may have rows for the filter is a conflict.
    """
    work.read_rows(DataRead(state.partition, objection(work.home.files, filter)))
    files = live_files_unread(work, state)
    return files if filter is None else _in_partitions(work, state, files, filter)


def _in_partitions(work: Work, state: TableState, files: Sequence[DataFileRef], filter: Filter) -> list[DataFileRef]:
    """Those whose partition, by the spec that each was written for, may have rows for the filter."""
    specs = {number: spec_of(work, state.id, number) for number in {one.spec_id for one in files}}
    return [one for one in files if may_match_partition(filter, specs[one.spec_id], state.schema, one)]


def append(work: Work, written: TableState, files: Sequence[DataFileRef]) -> None:
    """Add files, which were written for the table as it was in `written`; `Conflict` if they no longer fit."""
    state = table_state(work, written.id)
    if not fits(state, written):
        raise Conflict(
            "the table's schema, partition spec or storage changed while its files were written",
            subject=spelled(name_of(work, state.id)),
            expected=f"schema {written.schema.id}, spec {written.spec.id}",
            found=f"schema {state.schema.id}, spec {state.spec.id}",
            advice="Write them again.",
        )
    put_delta(work, state, replace(delta_of(state, "insert"), added=tuple(files)))


def fits(state: TableState, written: TableState) -> bool:
    """Whether files that were written for a table as it was can be added to it as it is."""
    return (state.schema.id, state.spec.id, state.partition) == (written.schema.id, written.spec.id, written.partition)


def delta_of(state: TableState, operation: str) -> Delta:
    """A delta to a table that changes no file."""
    return Delta(state.id, state.partition, state.location, state.schema, operation, spec_id=state.spec.id)


def change_files(work: Work, state: TableState, delta: Delta, detail: str = "") -> None:
    """Add, remove and change files; `Conflict` unless what is removed or changed is live, now and at the commit."""
    live = {one.path for one in live_files_unread(work, state)}
    touched = frozenset(one.path for one in (*delta.removed, *delta.changed))
    for path in sorted(touched - live):
        raise Conflict(
            "a file is not live",
            subject=f"{spelled(name_of(work, state.id))}: {path}",
            expected="a file that is live",
            advice="Read the table again, and decide anew.",
        )
    work.read(DataRead(state.partition, _touch(work.home.files, touched)))
    put_delta(work, state, delta, detail)


def put_delta(work: Work, state: TableState, delta: Delta, detail: str = "") -> None:
    """Add a delta to those of the work, and to its operations."""
    before = work.deltas.get(state.id)
    work.deltas[state.id] = delta if before is None else then(before, delta)
    work.note(Operation(delta.operation, state.id, spelled(name_of(work, state.id)), delta.counts, detail))


def live_files_unread(work: Work, state: TableState) -> list[DataFileRef]:
    """The table's files, without making them part of what the work has read."""
    pending = work.deltas.get(state.id)
    committed = snapshot(work, state).files
    return list((committed if pending is None else pending.live(committed)).values())


def snapshot(work: Work, state: TableState) -> Snapshot:
    """The table's committed files."""
    states = history(work, state.partition)
    return fold(whole(stored_manifest(work.home.files, one), head(one)) for one in reversed(states))


def manifests(work: Work, state: TableState) -> list[Manifest]:
    """The whole manifest of every commit to the table, oldest first."""
    states = history(work, state.partition)[::-1]
    times = work.home.metastore.times([one.version for one in states])
    return [
        whole(stored_manifest(work.home.files, one), head(one, time // 1000))
        for one, time in zip(states, times, strict=True)
    ]


def snapshots(work: Work, state: TableState) -> list[SnapshotInfo]:
    """The table's snapshots, newest first; any later one is a conflict with who looked."""
    work.read(DataRead(state.partition))
    states = history(work, state.partition)
    times = work.home.metastore.times([one.version for one in states])
    return [_info(one, time) for one, time in zip(states, times, strict=True)]


def find_snapshot(work: Work, state: TableState, snapshot_id: int) -> Version:
    """The version that made a snapshot, or `NotFound`."""
    for one in history(work, state.partition):
        if _record(one).snapshot_id == snapshot_id:
            return one.version
    raise NotFound(f"there is no snapshot {snapshot_id}", subject=f"table {state.id}")


def history(work: Work, partition: str) -> list[State]:
    """The deltas of a partition, newest first."""
    states, token = list[State](), None
    while True:
        page = work.reader.history(partition, Attribute.DATA, token=token)
        states += page.items
        token = page.token
        if token is None:
            return states


def head(state: State, time_ms: int = 0) -> DeltaHead:
    """What a delta's record says beside its manifest; the time comes from its version."""
    record = _record(state)
    return DeltaHead(
        snapshot_id=record.snapshot_id,
        previous_snapshot_id=record.previous_snapshot_id if record.HasField("previous_snapshot_id") else None,
        sequence_number=record.sequence_number,
        schema_id=record.schema_id,
        spec_id=record.spec_id,
        table_id=record.table_id,
        time_ms=time_ms,
        last_column_id=record.last_column_id,
        first_row_id=record.first_row_id,
        next_row_id=record.first_row_id + new_rows(record),
        totals=record.totals,
    )


def stored_manifest(files: Files, state: State) -> Manifest:
    """The manifest that a delta's record holds or points at; `Corrupt` if it is not what was written."""
    record = _record(state)
    path = record.manifest_path or f"the manifest of snapshot {record.snapshot_id}"
    try:
        data = files.read(record.manifest_path) if record.HasField("manifest_path") else record.manifest
    except NotFound as error:
        raise Corrupt("a manifest is not there", subject=path, advice="Restore the file from a copy.") from error
    return frame.decode_own(data, path, length=record.manifest_length, crc32c=record.manifest_crc32c)


def objection(files: Files, filter: Filter | None) -> Callable[[Sequence[State]], str | None]:
    """What says whether later deltas may have changed the rows that a filter was asked for."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed(files, deltas):
            if filter is None or may_match(filter, file):
                return f"{file.path} may have rows that were read"
        return None

    return judge


def _touch(files: Files, paths: frozenset[str]) -> Callable[[Sequence[State]], str | None]:
    """What says whether later deltas took away or changed some files."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed(files, deltas):
            if file.path in paths:
                return f"{file.path} was changed too"
        return None

    return judge


def _changed(files: Files, deltas: Iterable[State]) -> Iterable[DataFileRef]:
    for delta in deltas:
        yield from stored_manifest(files, delta).data_files


def _info(state: State, time: int) -> SnapshotInfo:
    record = _record(state)
    return SnapshotInfo(
        id=record.snapshot_id,
        previous_id=record.previous_snapshot_id if record.HasField("previous_snapshot_id") else None,
        sequence_number=record.sequence_number,
        version=state.version,
        time=EPOCH + timedelta(microseconds=time),
        operation=pb.OperationType.Name(record.operation).lower(),
        schema_id=record.schema_id,
        spec_id=record.spec_id,
        counts=dict(record.counts),
        totals=dict(record.totals),
    )


def _record(state: State) -> pb.TableHistory:
    return cast(pb.TableHistory, state.record)
