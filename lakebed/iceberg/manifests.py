"""Iceberg's manifests: the entries of a table's files and of their deletion vectors, in Avro."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from lakebed.iceberg.avro import AvroField, AvroRow, encode, field_name, map_of, optional, pairs, record, required
from lakebed.iceberg.avro import type_of as avro_type
from lakebed.iceberg.avro import value_of as avro_value
from lakebed.iceberg.schemas import schema_json, spec_json
from lakebed.iceberg.table import ExportedTable
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.types.types import UUID, Type
from lakebed.table.types.values import decode_bound

MANIFEST_FILES = 10_000
"""A table with more files has several manifests, so that a reader can skip some by their partitions."""


class Content(IntEnum):
    """What the entries of a manifest are; the `content` of an entry has the same numbers."""

    DATA = 0
    DELETES = 1


class Status(IntEnum):
    """Whether the newest snapshot added a file."""

    EXISTING = 0
    ADDED = 1


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition field with its name in Avro and the type of its values, by the newest schema of its column."""

    id: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Manifest:
    """Entries of files of one spec; `values` has the partition values of each, in the order of the fields."""

    content: Content
    spec: PartitionSpec
    partitions: tuple[Partition, ...]
    entries: tuple[AvroRow, ...]
    values: tuple[tuple[Value | None, ...], ...]


def manifests(table: ExportedTable) -> Iterator[Manifest]:
    """The manifests of a table, those of data files first; none is empty."""
    deleted_from = tuple(live for live in table.files if live.file.path in table.vectors.places)
    sides = ((Content.DATA, table.files, _data_file), (Content.DELETES, deleted_from, _vector))
    for content, files, describe in sides:
        for spec in table.specs:
            of_spec = [live for live in files if live.file.spec_id == spec.id]
            for start in range(0, len(of_spec), MANIFEST_FILES):
                yield _manifest(table, content, spec, of_spec[start : start + MANIFEST_FILES], describe)


def encode_manifest(table: ExportedTable, manifest: Manifest) -> bytes:
    """The bytes of a manifest file."""
    header = {
        "schema": schema_json(table.state.schema),
        "schema-id": str(table.state.schema.id),
        "partition-spec": spec_json(manifest.spec)["fields"],
        "partition-spec-id": str(manifest.spec.id),
        "format-version": str(table.format_version),
        "content": manifest.content.name.lower(),
    }
    fields = [*_data_file_fields(manifest.partitions), *(_V3_FIELDS if table.format_version >= 3 else ())]
    schema = record("manifest_entry", [*_ENTRY_FIELDS, required(2, "data_file", record("r2", fields))])
    return encode(schema, manifest.entries, header)


Describe = Callable[[ExportedTable, DataFileRef], AvroRow]


def _manifest(
    table: ExportedTable, content: Content, spec: PartitionSpec, files: list[LiveFile], describe: Describe
) -> Manifest:
    partitions = tuple(_partitions(table, spec))
    values = tuple(tuple(_values(partitions, live.file)) for live in files)
    entries = []
    for live, row in zip(files, values, strict=True):
        file = {**describe(table, live.file), "content": content, "partition": _partition_row(partitions, row)}
        entries.append(_entry(table, live, content, file))
    return Manifest(content, spec, partitions, tuple(entries), values)


def _entry(table: ExportedTable, live: LiveFile, content: Content, file: AvroRow) -> AvroRow:
    # The commit that made a vector is not stored. As the newest snapshot's, it applies to all files that there are.
    is_new = content is Content.DELETES or live.snapshot_id == table.snapshot.id
    # What is staged has no sequence number yet.
    own = 0 if content is Content.DELETES else live.file.seq_max
    sequence = own or table.last_sequence_number
    return {
        "status": Status.ADDED if is_new else Status.EXISTING,
        "snapshot_id": table.snapshot.id if is_new else live.snapshot_id,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": file,
    }


def _data_file(table: ExportedTable, file: DataFileRef) -> AvroRow:
    statistics = file.statistics
    bounded = [column for column in statistics if table.types.get(column.field_id) != UUID]
    return {
        "file_path": table.location(file),
        "file_format": "PARQUET",
        "record_count": file.num_rows,
        "file_size_in_bytes": file.file_size,
        "column_sizes": _by_field(statistics, "size"),
        "value_counts": _by_field(statistics, "value_count"),
        "null_value_counts": _by_field(statistics, "null_count"),
        "nan_value_counts": _by_field(statistics, "nan_count"),
        # Java's UUID compares its halves as signed numbers, so bounds in Iceberg's order would be wrong there.
        "lower_bounds": _by_field(bounded, "lower"),
        "upper_bounds": _by_field(bounded, "upper"),
        "first_row_id": file.first_row_id,
    }


def _vector(table: ExportedTable, file: DataFileRef) -> AvroRow:
    place = table.vectors.places[file.path]
    return {
        "file_path": place.location,
        "file_format": "PUFFIN",
        "record_count": place.count,
        "file_size_in_bytes": place.file_size,
        "referenced_data_file": table.location(file),
        "content_offset": place.offset,
        "content_size_in_bytes": place.length,
    }


def _by_field(statistics: Any, what: str) -> list[AvroRow]:
    known: list[ColumnStatistics] = [column for column in statistics if column.HasField(what)]
    return pairs({column.field_id: getattr(column, what) for column in known})


def _partitions(table: ExportedTable, spec: PartitionSpec) -> Iterator[Partition]:
    taken = set[str]()
    for field in spec.fields:
        name = field_name(field.name)
        while name in taken:  # `a b` and `a_x20b` are the same name in Avro
            name += "_"
        taken.add(name)
        yield Partition(field.field_id, name, field.transform.result_type(table.types[field.source_id]))


def _values(partitions: tuple[Partition, ...], file: DataFileRef) -> Iterator[Value | None]:
    stored = {value.field_id: value.value for value in file.partition if value.HasField("value")}
    for partition in partitions:
        yield decode_bound(partition.type, stored[partition.id]) if partition.id in stored else None


def _partition_row(partitions: tuple[Partition, ...], values: tuple[Value | None, ...]) -> AvroRow:
    return {
        partition.name: None if value is None else avro_value(partition.type, value)
        for partition, value in zip(partitions, values, strict=True)
    }


def _data_file_fields(partitions: tuple[Partition, ...]) -> list[AvroField]:
    fields = [optional(part.id, part.name, avro_type(part.type, f"t{part.id}")) for part in partitions]
    return [
        required(134, "content", "int"),
        required(100, "file_path", "string"),
        required(101, "file_format", "string"),
        required(102, "partition", record("r102", fields)),
        required(103, "record_count", "long"),
        required(104, "file_size_in_bytes", "long"),
        optional(108, "column_sizes", map_of(117, 118, "long")),
        optional(109, "value_counts", map_of(119, 120, "long")),
        optional(110, "null_value_counts", map_of(121, 122, "long")),
        optional(137, "nan_value_counts", map_of(138, 139, "long")),
        optional(125, "lower_bounds", map_of(126, 127, "bytes")),
        optional(128, "upper_bounds", map_of(129, 130, "bytes")),
    ]


_ENTRY_FIELDS = (
    required(0, "status", "int"),
    optional(1, "snapshot_id", "long"),
    optional(3, "sequence_number", "long"),
    optional(4, "file_sequence_number", "long"),
)
_V3_FIELDS = (
    optional(142, "first_row_id", "long"),
    optional(143, "referenced_data_file", "string"),
    optional(144, "content_offset", "long"),
    optional(145, "content_size_in_bytes", "long"),
)
