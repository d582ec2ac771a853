"""Checkpoints: all live files of a table at a version, so that reading the table costs only the deltas since.

A checkpoint changes no result: a reader that does not see it folds more deltas, to the same files. It is written
outside commits, in these steps; a crash may happen after any of them:

    an intent that names the files to come       so that they can be found and deleted
    the parts, each in an object of its own      nothing refers to them yet
    the checkpoint's row, without the intent     in one transaction of the store
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import time_ns
from typing import cast
from uuid import uuid4

from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.pending_delta import new_rows
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, LakebedError, OutcomeUnknown
from lakebed.metastore import State
from lakebed.records import records_pb2 as pb
from lakebed.store import Version
from lakebed.table.entries.columns import FileColumns, filled_columns
from lakebed.table.entries.object import pack
from lakebed.table.entries.parts import Recast, as_file, part_of
from lakebed.table.manifest.io_entry import encode_entry
from lakebed.table.manifest.locations import location_from_proto, location_to_proto
from lakebed.table.manifest.manifest_pb2 import DataFileRef, EntryLocation, Part, PartList
from lakebed.table.manifest.snapshot import LiveFile, Overlay, Span

TOP_BYTES = 64_000
"""A longer list of parts is an object of its own: a value of the store holds at most 100,000 bytes."""

Listed = tuple[tuple[Part, ...], tuple[DataFileRef, ...]]
"""Parts, and for each of them what is known of all its files together."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a table after the delta of a version, in parts."""

    line: str
    version: Version
    record: pb.TableCheckpoint
    parts: tuple[Part, ...]
    ranges: tuple[DataFileRef, ...] = ()

    def with_ranges(self) -> Iterator[tuple[Part, DataFileRef]]:
        """Each part, and what is known of all its files together."""
        return zip(self.parts, self.ranges or map(as_file, self.parts), strict=True)

    def overlay(self) -> Overlay:
        """The changes since: none yet."""
        number = self.record.sequence_number
        return Overlay(Span(number, number), self.record.snapshot_id, self.record.table_id)

    def files(self, context: Context) -> Iterator[LiveFile]:
        """Every file."""
        for part in self.parts:
            columns = load_part(context, part)
            yield from columns.files(range(columns.num_rows))


def find_checkpoint(work: Work, partition: str) -> Checkpoint | None:
    """The newest checkpoint of a partition at or before the work's base."""
    return find_checkpoints(work, [partition])[0]


def find_checkpoints(work: Work, partitions: Sequence[str]) -> list[Checkpoint | None]:
    """The same for many partitions, in one round trip."""
    found = work.reader.checkpoints(partitions) if partitions else []
    return [None if newest is None else open_checkpoint(work.context, newest) for newest in found]


def load_part(context: Context, part: Part) -> FileColumns:
    """The files of a part; `Corrupt` if their number differs from that in the top list."""
    columns = context.entries.columns(location_from_proto(part.entries))
    if columns.num_rows != part.files:
        raise Corrupt(
            "a part of a checkpoint has another number of files",
            subject=part.entries.key,
            expected=part.files,
            found=columns.num_rows,
        )
    return columns


def write_checkpoint(context: Context, state: TableState, at: State, parts: Recast) -> Checkpoint:
    """Write a checkpoint of these parts, which have all live files after the delta `at`."""
    delta = cast(pb.TableHistory, at.record)
    folder = f"{state.location}/metadata"
    paths = [f"{folder}/{uuid4()}.part" for _ in parts.new]
    top_path = f"{folder}/{uuid4()}.parts"
    intent = context.metastore.begin_checkpoint(at.line, state.partition, [*paths, top_path])
    try:
        new = [_put_part(context, state, path, files) for path, files in zip(paths, parts.new, strict=True)]
        all_parts = (*parts.kept, *new)
        record = pb.TableCheckpoint(
            table_id=state.id,
            snapshot_id=delta.snapshot_id,
            sequence_number=delta.sequence_number,
            schema_id=delta.schema_id,
            counts={**{what: delta.totals[what] for what in ("files", "rows", "bytes")}, "parts": len(all_parts)},
            last_row_id=delta.first_row_id + new_rows(delta) - 1,
            written_ms=time_ns() // 1_000_000,
        )
        _put_top(context, record, top_path, all_parts)
        context.metastore.put_checkpoint(at.line, state.partition, at.version, record, intent)
    except OutcomeUnknown:
        raise
    except LakebedError:
        context.files.delete_many([*paths, top_path])
        context.metastore.end_checkpoint(intent)
        raise
    return Checkpoint(at.line, at.version, record, all_parts)


def _put_part(context: Context, state: TableState, path: str, files: Sequence[LiveFile]) -> Part:
    columns = FileColumns.of(files)
    packed = pack(filled_columns(columns), path)
    context.files.put_if_absent(path, packed.data)
    part = part_of(columns, state.schema)
    part.entries.CopyFrom(location_to_proto(packed.directory))
    return part


def _put_top(context: Context, record: pb.TableCheckpoint, path: str, parts: Sequence[Part]) -> None:
    data = PartList(parts=parts).SerializeToString(deterministic=True)
    if len(data) <= TOP_BYTES:
        record.top_list = data
        return
    entry = encode_entry(data)
    context.files.put_if_absent(path, entry)
    record.top.key, record.top.offset, record.top.length, record.top.raw_length = path, 0, len(entry), len(data)


def open_checkpoint(context: Context, stored: State) -> Checkpoint:
    """A stored checkpoint with its parts."""
    record = cast(pb.TableCheckpoint, stored.record)
    return Checkpoint(stored.line, stored.version, record, *_parts(context, record))


def _parts(context: Context, record: pb.TableCheckpoint) -> Listed:
    if not record.HasField("top"):
        return _listed(record.top_list)
    location = location_from_proto(EntryLocation.FromString(record.top.SerializeToString()))
    return _listed(bytes(context.entries.read(location)))


@lru_cache(maxsize=64)
def _listed(data: bytes) -> Listed:
    """The parts of a list. Cached, because every read of a table asks for the same list."""
    parts = tuple(PartList.FromString(data).parts)
    return parts, tuple(map(as_file, parts))
