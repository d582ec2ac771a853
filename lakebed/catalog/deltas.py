"""A commit's file changes to one table: from what an engine wrote to the delta that the metastore keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.metastore import DataChange, State
from lakebed.records import records_pb2 as pb
from lakebed.table import frame
from lakebed.table.delta import bare
from lakebed.table.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.schema import Schema, id_count

INLINE_BYTES = 64_000
"""A larger manifest becomes a file: a value of the store holds 100,000 bytes, and the record has more than this."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What one commit will do to a table's files. It has no place in the table's history yet: the commit gives it one.

    `operation` is one of `OperationType`. A table's first delta also takes the ids that its schema has.
    """

    table: str
    partition: str
    location: str
    schema: Schema
    operation: str
    files: tuple[DataFileRef, ...] = ()
    is_first: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """What it adds, for the log."""
        if not self.files:
            return {}
        return {
            "added_files": len(self.files),
            "added_rows": sum(one.num_rows for one in self.files),
            "added_bytes": sum(one.file_size for one in self.files),
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manifest's bytes are: in the record, or in a file that the record points at."""

    inline: bytes | None
    path: str | None = field(default=None)
    length: int | None = field(default=None)
    crc32c: int | None = field(default=None)


def data_change(delta: Delta, place: Place) -> DataChange:
    """The delta as the metastore takes it, with its manifest where `write_manifest` has put it."""
    counts = delta.counts
    allocate = {"snapshot": 1}
    if counts:
        allocate["row"] = counts["added_rows"]
    if delta.is_first:
        allocate |= {"schema": 1, "field": max(id_count(delta.schema), 1)}

    def fold(previous: State | None, ids: Mapping[str, int]) -> pb.TableHistory:
        before = pb.TableHistory() if previous is None else cast(pb.TableHistory, previous.record)
        _check_first_ids(delta, ids)
        record = pb.TableHistory(
            table_id=delta.table,
            snapshot_id=ids["snapshot"],
            sequence_number=before.sequence_number + 1,
            first_row_id=ids.get("row", _next_row(before)),
            schema_id=delta.schema.id,
            spec_id=0,
            operation=delta.operation.upper(),
            totals=_totals(before, counts),
            counts=counts,
            manifest=place.inline,
            manifest_path=place.path,
            manifest_length=place.length,
            manifest_crc32c=place.crc32c,
            last_column_id=max(before.last_column_id, delta.schema.highest_id),
        )
        if previous is not None:
            record.previous_snapshot_id = before.snapshot_id
        return record

    return DataChange(delta.table, delta.partition, fold, allocate)


def write_manifest(files: Files, delta: Delta) -> Place:
    """Make the delta's manifest; a large one is written to a file of its own, durably."""
    manifest = Manifest(schema_id=delta.schema.id, table_uuid=delta.table, data_files=delta.files)
    data = frame.encode(bare(manifest))
    crc = frame.crc32c(data)
    if len(data) <= INLINE_BYTES:
        return Place(data, None, len(data), crc)
    path = f"{delta.location}/metadata/{uuid4()}.manifest"
    files.put_if_absent(path, data)
    return Place(None, path, len(data), crc)


def _check_first_ids(delta: Delta, ids: Mapping[str, int]) -> None:
    """The ids in a new table's schema were counted from 1, before its allocator had a row."""
    if delta.is_first and (ids["schema"], ids["field"]) != (1, 1):
        raise Corrupt("a new table's ids were given out before", subject=delta.table, expected="1 and 1", found=ids)


def _next_row(before: pb.TableHistory) -> int:
    return before.first_row_id + before.counts["added_rows"] if before.HasField("first_row_id") else 1


def _totals(before: pb.TableHistory, counts: Mapping[str, int]) -> dict[str, int]:
    return {what: before.totals[what] + counts.get(f"added_{what}", 0) for what in ("files", "rows", "bytes")}


def added(delta: Delta, files: Sequence[DataFileRef]) -> Delta:
    """The delta with more files. What creates a table and fills it is an insert."""
    operation = "insert" if files else delta.operation
    return Delta(
        delta.table,
        delta.partition,
        delta.location,
        delta.schema,
        operation,
        (*delta.files, *files),
        delta.is_first,
    )
