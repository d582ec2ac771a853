"""The deltas of a partition: what each commit did to its files, at which place of the stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias, cast

from lakebed.catalog.data.deltas import history, record_of
from lakebed.catalog.data.frames import framed_manifest
from lakebed.catalog.partitions.locators import is_of_staged_stream, partition_locator
from lakebed.catalog.partitions.members import has_values
from lakebed.catalog.partitions.partition import PartitionState, stored_values
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import DataRead, State
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.manifest.framed import FramedManifest
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues

APPEND: Final = "append"
UPSERT: Final = "upsert"
DELETE: Final = "delete"
ADD: Final = "add"
"""Rows were added; replaced; removed; brought from elsewhere, with the ids that they have."""

_UPSERTS = ("upsert", "update", "merge_rows")

_Values: TypeAlias = tuple[ExplicitValues, ...]
"""The values of a partition at a delta, those of before too where it was renamed; none for the root."""


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file in a delta. `deleted_rows` are those that its deletion vector has; `vector` is where that is."""

    path: str
    rows: int
    bytes: int
    deleted_rows: int = 0
    vector: str | None = None

    @classmethod
    def of(cls, file: DataFileRef) -> "DeltaFile":
        return cls(file.path, file.num_rows, file.file_size, file.deleted_rows, file.dv_path or None)


@dataclass(frozen=True, slots=True)
class DeltaManifest:
    """The manifest of a commit: `frame` has it whole, as source document 003 has it, for all partitions.

    The files are those of the delta's partition: added, removed, and changed, which got another deletion vector. `path`
    is the name or location by which the frame is opened.
    """

    path: str
    frame: bytes = field(repr=False)
    added: tuple[DeltaFile, ...] = ()
    removed: tuple[DeltaFile, ...] = ()
    changed: tuple[DeltaFile, ...] = ()

    def __bytes__(self) -> bytes:
        return self.frame

    def __len__(self) -> int:
        return len(self.frame)

    def decoded(self) -> dict[str, Any]:
        """The fields of the whole frame by the source document's names, as `table.manifest(…).decoded()` has them."""
        return FramedManifest(self.path, self.frame).decoded()


@dataclass(frozen=True, slots=True)
class Delta:
    """What one commit did to a partition. `position` is the commit's place in the stream, from 1.

    `locator` says where it is among the six levels. `type` is append, upsert, delete or add (rows that came with their
    ids, as by a merge); `operation` is what the log says. `counts` are of the partition. `previous_position` is that of
    the delta before, None for the first. `snapshot_id` is that of the snapshot that it made.
    """

    partition: str
    locator: Locator
    position: int
    snapshot_id: int
    previous_position: int | None
    type: str
    operation: str
    version: Version
    time: datetime
    counts: dict[str, int]
    _read: Callable[[], DeltaManifest] = field(repr=False, compare=False)

    @property
    def manifest(self) -> DeltaManifest:
        """The manifest of its commit: `bytes(delta.manifest)` is the whole frame."""
        return self._read()


def deltas_of(work: Work, state: TableState, partition: PartitionState) -> list[Delta]:
    """The deltas of a partition, newest first; a later delta is a conflict with this read.

    The root has all deltas of its edition; an explicit partition those that touched its files, by the values that it
    had then.
    """
    states = history(work, state.partition)
    times = work.context.metastore.times([one.version for one in states])
    return deltas_among(work, state, partition, states, times, history(work, str(state.id), None, Attribute.STORAGE))


def deltas_among(
    work: Work,
    state: TableState,
    partition: PartitionState,
    states: Sequence[State],
    times: Sequence[int],
    storages: Sequence[State],
) -> list[Delta]:
    """The same of a history that was read, with the times of its commits, and that of the storage; newest first."""
    work.read(DataRead(state.partition))
    counts = [dict(record_of(one).counts) for one in states]
    values: Sequence[_Values] = [()] * len(states)
    if partition.values is not None:
        values = _values_then(work, state, partition, [one.version for one in states])
        counts = _counts([_read(work, state, *one) for one in zip(states, times, values, strict=True)])
    here = partition_locator(work, state, partition.id)
    # The root has all deltas, an explicit partition those that changed its files.
    own = [
        _delta(
            one, time, count, _place_then(work, state, here, storages, one), partial(_read, work, state, one, time, had)
        )
        for one, time, count, had in zip(states, times, counts, values, strict=True)
        if count or partition.values is None
    ]
    return list(_linked(own))


def _linked(newest_first: Sequence[Delta]) -> Iterator[Delta]:
    before = [*(delta.position for delta in newest_first[1:]), None]
    yield from (replace(delta, previous_position=one) for delta, one in zip(newest_first, before, strict=False))


def _values_then(
    work: Work, state: TableState, partition: PartitionState, versions: Sequence[Version]
) -> list[_Values]:
    """The values of a partition at each version, newest first; where it was renamed, those of before too."""
    assert partition.values is not None
    past = history(work, partition.id, None, Attribute.PARTITION)
    had = [(one.version, stored_values(cast(pb.TablePartition, one.record), state.schema)) for one in past]
    if all(values == partition.values for _, values in had):
        return [(partition.values,)] * len(versions)
    return [_values_at(had, version) for version in versions]


def _values_at(newest_first: Sequence[tuple[Version, ExplicitValues]], version: Version) -> _Values:
    """Rows from before the partition are those with its first values."""
    later = sum(1 for since, _ in newest_first if since > version)
    found = newest_first[min(later, len(newest_first) - 1) :][:2]
    return tuple(dict.fromkeys(values for since, values in (found if found[0][0] == version else found[:1])))


def _place_then(work: Work, state: TableState, here: Locator, storages: Sequence[State], delta: State) -> Locator:
    """Where a delta is: in the stream that readers saw after it, or in the staged one that it filled."""
    position = record_of(delta).sequence_number
    then = next((one for one in storages if one.version <= delta.version), None)
    if then is None or is_of_staged_stream(work, state):
        return replace(here, delta=position)
    return replace(here, stream=cast(pb.TableStorage, then.record).stream_id, delta=position)


def _delta(state: State, time: int, counts: dict[str, int], place: Locator, read: Callable[[], DeltaManifest]) -> Delta:
    record = record_of(state)
    operation = operation_name(record.operation)
    brought = "new_rows" in record.counts and not record.counts["new_rows"]
    assert place.partition is not None
    return Delta(
        place.partition,
        place,
        record.sequence_number,
        record.snapshot_id,
        None,
        _type(operation, counts, brought),
        operation,
        state.version,
        datetime_of(time),
        counts,
        read,
    )


def _read(work: Work, table: TableState, state: State, time: int, values: _Values) -> DeltaManifest:
    framed = framed_manifest(work.context, state, time // 1000)
    files: Sequence[DataFileRef] = framed.message.data_files
    if values:
        files = [file for file in files if any(has_values(work, table, file, one) for one in values)]
    return DeltaManifest(
        framed.path, framed.data, *(_with_status(files, status) for status in (ADDED, DELETED, EXISTING))
    )


def _with_status(files: Sequence[DataFileRef], status: int) -> tuple[DeltaFile, ...]:
    return tuple(DeltaFile.of(file) for file in files if file.status == status)


def _counts(newest_first: Sequence[DeltaManifest]) -> list[dict[str, int]]:
    """What each delta of a whole history adds and removes; rows that a vector deletes are those that it has more."""
    deleted: dict[str, int] = {}
    counts: list[dict[str, int]] = []
    for manifest in reversed(newest_first):
        more = sum(file.deleted_rows - deleted.get(file.path, 0) for file in manifest.changed)
        deleted |= {file.path: file.deleted_rows for file in (*manifest.added, *manifest.changed)}
        counts.append(_counted(manifest, more))
    return counts[::-1]


def _counted(manifest: DeltaManifest, deleted_rows: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for what, files in (("added", manifest.added), ("removed", manifest.removed)):
        if files:
            counts[f"{what}_files"] = len(files)
            counts[f"{what}_rows"] = sum(file.rows - file.deleted_rows for file in files)
            counts[f"{what}_bytes"] = sum(file.bytes for file in files)
    if manifest.changed:
        counts["changed_files"] = len(manifest.changed)
    if deleted_rows:
        name = "removed_rows" if deleted_rows > 0 else "added_rows"
        counts[name] = counts.get(name, 0) + abs(deleted_rows)
    return counts


def _type(operation: str, counts: dict[str, int], brought: bool) -> str:
    added = bool(counts.get("added_files"))
    lost = bool(counts.get("removed_files") or counts.get("changed_files"))
    if operation in _UPSERTS or (added and lost):
        return UPSERT
    if lost:
        return DELETE
    return ADD if added and brought else APPEND
