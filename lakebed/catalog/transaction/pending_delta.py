"""A commit's file changes to one table: from what an engine wrote to the delta that the metastore keeps."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast
from uuid import uuid4

from lakebed.catalog.transaction.bound import Bound, subject_of
from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.metastore import DataChange, State
from lakebed.records import records_pb2 as pb
from lakebed.table.entries.columns import columns_of
from lakebed.table.entries.object import pack
from lakebed.table.manifest import frame
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, DeltaHead, bare, with_status
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.locations import location_to_proto
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Manifest, Rewrite
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.manifest.summary import joined
from lakebed.table.merge.sides import COMPACT, OVERWRITE
from lakebed.table.schema.schema import Schema

INLINE_BYTES = 64_000
"""A larger manifest becomes a file: a value of the store holds 100,000 bytes, and the record has other fields too.

Below this size a file never pays: with one a commit takes three times as long and a read ten times (`bench border`).
"""


@dataclass(frozen=True, slots=True)
class Delta:
    """What one commit will do to a table's files. The commit gives it its place in the table's history.

    `operation` is one of `OperationType`. `added` are new to the line. Files written for this commit have no row ids
    yet; files from another line or from the past keep theirs. `removed` and `changed` were live. `deleted_rows` counts
    the rows that the vectors of `changed` delete, less the rows that they restore. `first_ids` says how many ids of
    each kind a new table has used: its delta takes them, because the table had no allocators before. `summary` is what
    the caller says of the snapshot.
    """

    table: str
    partition: str
    location: str
    schema: Schema
    operation: str
    added: tuple[DataFileRef, ...] = ()
    removed: tuple[DataFileRef, ...] = ()
    changed: tuple[DataFileRef, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    overwritten: str | None = None
    spec_id: int = 0
    deleted_rows: int = 0
    summary: Mapping[str, str] = field(default_factory=dict)
    first_ids: Mapping[str, int] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The object that it changes: its table, or what is staged."""
        return subject_of(self.table)

    def is_of(self, objects: Collection[str]) -> bool:
        """Whether it changes one of these objects, or is staged for one of them."""
        return self.table in objects or self.subject in objects

    @property
    def is_staged(self) -> bool:
        """Whether it fills a staged stream or partition, whose rows no reader of the table sees yet."""
        return isinstance(self.table, Bound) and self.table.cell is not None

    @property
    def greatest_sequence(self) -> int:
        """The greatest sequence number that its files bring; 0 if they have none yet."""
        return max((file.seq_max for file in (*self.added, *self.changed)), default=0)

    @property
    def written(self) -> list[DataFileRef]:
        """The files that were written for this commit: no other commit can have them."""
        return [file for file in self.added if not file.HasField("first_row_id")]

    @property
    def own_paths(self) -> list[str]:
        """The paths that may be deleted if there is no commit: not those of files that were added in place.

        All that Lakebed writes for a table is in the table's folder, and no file in such a folder is added in place.
        """
        return [path for path in file_paths(self.written) if path.startswith(f"{self.location}/")]

    @property
    def more_files(self) -> int:
        """How many more live files there are after it than before."""
        return len(self.added) - len(self.removed)

    @property
    def counts(self) -> dict[str, int]:
        """What it adds and removes, for the log. Rows are counted as readers see them."""
        found = {**_sums("added", self.added), **_sums("removed", self.removed)}
        if self.changed:
            found["changed_files"] = len(self.changed)
        if self.deleted_rows:
            name = "removed_rows" if self.deleted_rows > 0 else "added_rows"
            found[name] = found.get(name, 0) + abs(self.deleted_rows)
        return found

    def entries(self) -> list[DataFileRef]:
        """All of it as a manifest lists it."""
        sides = ((self.removed, DELETED), (self.changed, EXISTING), (self.added, ADDED))
        return [with_status(file, status) for files, status in sides for file in files]

    def live(self, before: Mapping[str, DataFileRef]) -> dict[str, DataFileRef]:
        """The live files by path after it."""
        gone = {file.path for file in self.removed}
        files = {path: file for path, file in before.items() if path not in gone}
        return {**files, **{file.path: file for file in (*self.changed, *self.added)}}


def net_delta(first: Delta, second: Delta) -> Delta:
    """Both as one, without files that the first added and the second removed again.

    A rewrite whose outputs the second changes is left out: they no longer have the rows of its inputs. A delta that
    does more than compact is not called a compaction.
    """
    gone = {file.path for file in second.removed}
    altered = {file.path: file for file in second.changed}
    born = {file.path for file in first.added}
    return replace(
        second,
        operation=_operation(first, second),
        added=(*(altered.get(file.path, file) for file in first.added if file.path not in gone), *second.added),
        removed=(*first.removed, *(file for file in second.removed if file.path not in born)),
        changed=(
            *(file for file in first.changed if file.path not in gone | altered.keys()),
            *(file for file in second.changed if file.path not in born),
        ),
        rewrites=(
            *(rewrite for rewrite in first.rewrites if not (gone | altered.keys()).intersection(rewrite.outputs)),
            *second.rewrites,
        ),
        overwritten=_overwritten(first, second),
        deleted_rows=first.deleted_rows + second.deleted_rows,
        summary=joined(first.summary, second.summary),
        first_ids=first.first_ids,
    )


def _operation(first: Delta, second: Delta) -> str:
    if not second.entries() or (second.operation == COMPACT and first.entries()):
        return first.operation
    return second.operation


def _overwritten(first: Delta, second: Delta) -> str | None:
    """The condition whose rows the two replaced, all if it is `true`; None if neither overwrote any."""
    overwrites = [one for one in (first, second) if one.overwritten is not None or one.operation == OVERWRITE]
    conditions = dict.fromkeys("true" if one.overwritten is None else one.overwritten for one in overwrites)
    return any_of(conditions) if len(conditions) > 1 else next(iter(conditions), None)


def any_of(conditions: Iterable[str]) -> str | None:
    """The condition that is true where one of these is, each in parentheses; None without conditions."""
    return " or ".join(f"({condition})" for condition in dict.fromkeys(conditions)) or None


def _sums(what: str, files: Sequence[DataFileRef]) -> dict[str, int]:
    if not files:
        return {}
    return {
        f"{what}_files": len(files),
        f"{what}_rows": sum(file.num_rows - file.deleted_rows for file in files),
        f"{what}_bytes": sum(file.file_size for file in files),
    }


@dataclass(frozen=True, slots=True)
class ManifestPlace:
    """Where a manifest's bytes are: in the record, or in a file that the record points at."""

    inline: bytes | None
    path: str | None = field(default=None)
    length: int | None = field(default=None)
    crc32c: int | None = field(default=None)
    written: tuple[str, ...] = ()  # the files that were written for it

    @property
    def inline_bytes(self) -> int:
        """How much of the commit it takes."""
        return 0 if self.inline is None else len(self.inline)

    def fill(self, record: pb.TableHistory) -> None:
        """Write it into a delta's record."""
        record.MergeFrom(
            pb.TableHistory(
                manifest=self.inline,
                manifest_path=self.path,
                manifest_length=self.length,
                manifest_crc32c=self.crc32c,
            )
        )


class Placed(Protocol):
    """A manifest that has its place, or gets it when it is filled in."""

    @property
    def inline_bytes(self) -> int: ...

    def fill(self, record: pb.TableHistory) -> None: ...


Report = Callable[[pb.TableHistory, pb.TableHistory], None]
"""Called with each record that a commit makes of a delta, and the one before it."""


def data_change(delta: Delta, place: Placed, report: Report = lambda *_: None) -> DataChange:
    """The delta as the metastore takes it, with its manifest where `write_manifest` has put it.

    The sequence number is greater than that of the delta before, and than all that its files bring: so no row of a
    snapshot has a greater one. The last record that `report` is called with takes effect.
    """
    counts, new_rows = delta.counts, sum(file.num_rows for file in delta.written)
    if counts.get("added_rows", 0) != new_rows:
        counts["new_rows"] = new_rows
    allocate = {"snapshot": 1, **delta.first_ids}
    if new_rows:
        allocate["row"] = new_rows
    brought = delta.greatest_sequence

    def fold(previous: State | None, ids: Mapping[str, int]) -> pb.TableHistory:
        before = pb.TableHistory() if previous is None else cast(pb.TableHistory, previous.record)
        _check_first_ids(delta, ids)
        record = pb.TableHistory(
            table_id=delta.table,
            snapshot_id=ids["snapshot"],
            sequence_number=max(before.sequence_number, brought) + 1,
            first_row_id=ids.get("row", _next_row(before)),
            schema_id=delta.schema.id,
            spec_id=delta.spec_id,
            operation=delta.operation.upper(),
            totals=_totals(before, counts),
            counts=counts,
            last_column_id=max(before.last_column_id, delta.schema.highest_id),
        )
        if previous is not None:
            record.previous_snapshot_id = before.snapshot_id
        place.fill(record)
        report(record, before)
        return record

    return DataChange(delta.table, delta.partition, fold, allocate)


def write_manifest(files: Files, delta: Delta, room_bytes: int = INLINE_BYTES) -> ManifestPlace:
    """Make the delta's manifest. If it is large or has no room, its entries go to a durable file, column by column."""
    manifest = bare_manifest(delta)
    data = frame.encode(manifest)
    crc = frame.crc32c(data)
    if len(data) <= min(INLINE_BYTES, room_bytes):
        return ManifestPlace(data, None, len(data), crc)
    return _write_entries(files, delta, manifest, room_bytes)


def bare_manifest(delta: Delta) -> Manifest:
    """The delta's manifest without what only its commit knows."""
    return bare(
        Manifest(
            schema_id=delta.schema.id,
            partition_spec_id=delta.spec_id,
            table_uuid=delta.table,
            data_files=delta.entries(),
            rewrites=delta.rewrites,
            overwritten=delta.overwritten,
            properties=delta.summary,
            staged=delta.is_staged,
        )
    )


def head_of(record: pb.TableHistory, time_ms: int = 0) -> DeltaHead:
    """What a delta's record adds to its manifest; the time is that of its commit."""
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
        totals=dict(record.totals),
    )


def _write_entries(files: Files, delta: Delta, manifest: Manifest, room_bytes: int) -> ManifestPlace:
    """Write the entries column by column to a file, and the rest of the manifest to another if it is still large."""
    folder = f"{delta.location}/metadata"
    path = f"{folder}/{uuid4()}.entries"
    packed = pack(columns_of([LiveFile(file, 0, 0) for file in manifest.data_files]), path)
    files.put_if_absent(path, packed.data)
    del manifest.data_files[:]
    manifest.entries.CopyFrom(location_to_proto(packed.directory))
    data = frame.encode(manifest)
    crc = frame.crc32c(data)
    if len(data) <= min(INLINE_BYTES, room_bytes):
        return ManifestPlace(data, None, len(data), crc, (path,))
    rest = f"{folder}/{uuid4()}.manifest"
    files.put_if_absent(rest, data)
    return ManifestPlace(None, rest, len(data), crc, (path, rest))


def _check_first_ids(delta: Delta, ids: Mapping[str, int]) -> None:
    """Check that a new table's ids begin with 1, as they were counted before its allocators had a row."""
    if any(ids[kind] != 1 for kind in delta.first_ids):
        raise Corrupt("a new table's ids were already given out", subject=delta.table, expected="from 1 on", found=ids)


def _next_row(before: pb.TableHistory) -> int:
    return before.first_row_id + new_rows(before) if before.HasField("first_row_id") else 1


def new_rows(delta: pb.TableHistory) -> int:
    """How many rows got their ids in this delta's commit; rows that come with a merge have theirs."""
    return delta.counts["new_rows"] if "new_rows" in delta.counts else delta.counts.get("added_rows", 0)


def _totals(before: pb.TableHistory, counts: Mapping[str, int]) -> dict[str, int]:
    return {
        what: before.totals[what] + counts.get(f"added_{what}", 0) - counts.get(f"removed_{what}", 0)
        for what in ("files", "rows", "bytes")
    }
