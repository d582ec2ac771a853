"""Iceberg's manifest list: the manifests of a snapshot, each with the ranges of its partition values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lakebed.iceberg.avro import AvroRow, encode, list_of, optional, record, required
from lakebed.iceberg.manifests import Content, Manifest, Partition, Status
from lakebed.iceberg.table import ExportedTable
from lakebed.table.filter.filter import Value
from lakebed.table.types.types import UUID
from lakebed.table.types.values import is_nan, lower_bound, upper_bound


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest, with the location and length of its file."""

    manifest: Manifest
    location: str
    length: int


def encode_manifest_list(table: ExportedTable, stored: Iterable[StoredManifest]) -> bytes:
    """The bytes of the manifest list of a table's newest snapshot."""
    snapshot, version = table.snapshot, table.format_version
    header = {
        "snapshot-id": str(snapshot.id),
        "parent-snapshot-id": "null" if snapshot.previous_id is None else str(snapshot.previous_id),
        "sequence-number": str(snapshot.record.sequence_number),
        "format-version": str(version),
    }
    schema = record("manifest_file", [*_FIELDS, *(_V3_FIELDS if version >= 3 else ())])
    return encode(schema, (_row(table, manifest) for manifest in stored), header)


def _row(table: ExportedTable, stored: StoredManifest) -> AvroRow:
    manifest = stored.manifest
    row = {
        "manifest_path": stored.location,
        "manifest_length": stored.length,
        "partition_spec_id": manifest.spec.id,
        "content": manifest.content,
        "sequence_number": table.last_sequence_number,
        "min_sequence_number": min(entry["sequence_number"] for entry in manifest.entries),
        "added_snapshot_id": table.snapshot.id,
        **_counts("added", manifest, Status.ADDED),
        **_counts("existing", manifest, Status.EXISTING),
        "deleted_files_count": 0,
        "deleted_rows_count": 0,
        "partitions": list(_summaries(manifest)),
    }
    if manifest.content is Content.DATA:
        # Every file has its own, but readers assign row ids only if the manifest has a first_row_id too.
        row["first_row_id"] = min(entry["data_file"]["first_row_id"] for entry in manifest.entries)
    return row


def _counts(word: str, manifest: Manifest, status: Status) -> dict[str, int]:
    files = [entry["data_file"] for entry in manifest.entries if entry["status"] is status]
    return {f"{word}_files_count": len(files), f"{word}_rows_count": sum(file["record_count"] for file in files)}


def _summaries(manifest: Manifest) -> Iterator[AvroRow]:
    for index, partition in enumerate(manifest.partitions):
        yield _summary(partition, [row[index] for row in manifest.values])


def _summary(partition: Partition, values: list[Value | None]) -> AvroRow:
    known: list[Any] = [value for value in values if value is not None]
    ordered = [value for value in known if not is_nan(value)]
    bounded = bool(ordered) and partition.type != UUID  # readers order UUIDs differently
    return {
        "contains_null": len(known) < len(values),
        "contains_nan": len(ordered) < len(known),
        "lower_bound": lower_bound(partition.type, min(ordered)) if bounded else None,
        "upper_bound": upper_bound(partition.type, max(ordered)) if bounded else None,
    }


_SUMMARY = record(
    "r508",
    [
        required(509, "contains_null", "boolean"),
        optional(518, "contains_nan", "boolean"),
        optional(510, "lower_bound", "bytes"),
        optional(511, "upper_bound", "bytes"),
    ],
)
_FIELDS = (
    required(500, "manifest_path", "string"),
    required(501, "manifest_length", "long"),
    required(502, "partition_spec_id", "int"),
    required(517, "content", "int"),
    required(515, "sequence_number", "long"),
    required(516, "min_sequence_number", "long"),
    required(503, "added_snapshot_id", "long"),
    required(504, "added_files_count", "int"),
    required(505, "existing_files_count", "int"),
    required(506, "deleted_files_count", "int"),
    required(512, "added_rows_count", "long"),
    required(513, "existing_rows_count", "long"),
    required(514, "deleted_rows_count", "long"),
    optional(507, "partitions", list_of(508, _SUMMARY)),
)
_V3_FIELDS = (optional(520, "first_row_id", "long"),)
