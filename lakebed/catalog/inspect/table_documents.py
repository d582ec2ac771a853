"""A table as the JSON documents of source document 001: those of its examples, and those that KVCatalog stores."""

import json
from collections.abc import Iterable, Mapping

from lakebed.catalog.data.frames import DocumentName
from lakebed.catalog.data.row_sources import format_of, location_of
from lakebed.catalog.inspect.documents import Json
from lakebed.catalog.inspect.history import Step, TablePast, live_files
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.partition.spec import PartitionField, PartitionSpec, bound_fields
from lakebed.table.partition.values import partition_values, value_text
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.values import is_nan

FORMAT_VERSION = 2
"""Of the source document's examples."""


def metadata(past: TablePast) -> dict[str, Json]:
    """The first example: the table, its snapshots, specs and columns."""
    newest = past.steps[-1] if past.steps else None
    return {
        "format-version": FORMAT_VERSION,
        "table-uuid": past.state.id,
        "location": past.context.files.location(past.state.location),
        "last-sequence-number": newest.record.sequence_number if newest else 0,
        "last-updated-ms": updated_ms(past),
        "current-snapshot-id": newest.id if newest else None,
        "snapshots": [_snapshot_entry(past, step) for step in past.steps],
        "partition-specs": [_example_spec(spec) for spec in past.specs],
        "schema": _example_schema(past.state.schema),
    }


def updated_ms(past: TablePast) -> int:
    """When anything of the table was last changed, its name and properties included."""
    return 0 if past.changed is None else past.changed.time // 1000


def snapshot(past: TablePast, step: Step) -> dict[str, Json]:
    """The second example: one snapshot."""
    return {
        "snapshot-id": step.id,
        "timestamp-ms": step.time_ms,
        "operation": step.iceberg_operation,
        "manifest-list": manifest_list_name(past, step),
    }


def manifest_list(past: TablePast, until: Step) -> list[dict[str, Json]]:
    """The third example: the manifests that make up a snapshot, oldest first, without those that list no file."""
    listed = []
    for step in past.steps[: past.steps.index(until) + 1]:
        framed = step.frame(past.context)
        manifest = framed.message
        if manifest.data_files:
            listed.append(
                {
                    "manifest-path": framed.path,
                    "manifest-length": len(framed),
                    "partition-summaries": _partition_summaries(past, manifest),
                }
            )
    return listed


def manifest(past: TablePast, step: Step) -> dict[str, Json]:
    """The fourth example: what a snapshot did to the table's files; `existing` are files whose entries changed."""
    found = step.manifest(past.context)
    sides = (("added", ADDED), ("existing", EXISTING), ("deleted", DELETED))
    return {
        f"{what}-data-files": [
            _example_file(past, file, found.schema_id) for file in found.data_files if file.status == status
        ]
        for what, status in sides
    }


def manifest_list_name(past: TablePast, step: Step) -> str:
    """The name by which `Catalog.open` opens a manifest list: Lakebed stores none, `manifest_list` makes it."""
    return str(DocumentName(past.state.id, step.id))


def _snapshot_entry(past: TablePast, step: Step) -> dict[str, Json]:
    counts, totals = step.record.counts, step.record.totals
    summary = {
        "operation": step.iceberg_operation,
        "added-data-files": counts.get("added_files", 0),
        "added-records": counts.get("added_rows", 0),
        "changed-partition-count": _changed_partitions(step.manifest(past.context)),
        "deleted-data-files": counts.get("removed_files", 0),
        "deleted-records": counts.get("removed_rows", 0),
        "total-data-files": totals.get("files", 0),
        "total-records": totals.get("rows", 0),
        **step.summary(past.context),
    }
    return {
        "snapshot-id": step.id,
        "parent-snapshot-id": step.previous_id,
        "sequence-number": step.record.sequence_number,
        "timestamp-ms": step.time_ms,
        "summary": summary,
        "manifest-list": manifest_list_name(past, step),
        "schema-id": step.record.schema_id,
    }


def _changed_partitions(manifest: Manifest) -> int:
    files = manifest.data_files
    return len({(file.spec_id, *(value.SerializeToString() for value in file.partition)) for file in files})


def _example_spec(spec: PartitionSpec) -> dict[str, Json]:
    fields = [
        {
            "source-id": field.source_id,
            "field-id": field.field_id,
            "name": field.name,
            "transform": str(field.transform),
        }
        for field in spec.fields
    ]
    return {"spec-id": spec.id, "fields": fields}


def _example_schema(schema: Schema) -> dict[str, Json]:
    fields = json.loads(schema_to_json(schema))["fields"]
    return {"type": "struct", "schema-id": schema.id, "fields": [_example_field(field) for field in fields]}


def _example_field(field: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": field["id"], "name": field["name"], "type": field["type"], "nullable": not field["required"]}


def _example_file(past: TablePast, file: DataFileRef, schema_id: int) -> dict[str, Json]:
    return {
        "file-path": location_of(past.context.files, file),
        "file-format": format_of(file).upper(),
        "partition-values": past.partition_texts(file, schema_id),
        "record-count": file.num_rows,
        "file-size-in-bytes": file.file_size,
    }


def _partition_summaries(past: TablePast, manifest: Manifest) -> list[dict[str, Json]]:
    """The ranges of a manifest's partition values, by the specs of its files; none for unpartitioned files."""
    by_spec: dict[int, list[DataFileRef]] = {}
    for file in manifest.data_files:
        by_spec.setdefault(file.spec_id, []).append(file)
    bodies, table = past.context.bodies, past.state.id
    schema = bodies.get(table, manifest.schema_id)
    return [
        _partition_summary(bodies.spec(table, spec_id), schema, files) for spec_id, files in by_spec.items() if spec_id
    ]


def _partition_summary(spec: PartitionSpec, schema: Schema, files: Iterable[DataFileRef]) -> dict[str, Json]:
    rows = [partition_values(file, spec, schema) for file in files]
    lower, upper = dict[str, Json](), dict[str, Json]()
    for bound in bound_fields(spec, schema):
        field = bound.field
        values = [row[field.field_id] for row in rows if row.get(field.field_id) is not None]
        ordered = [value for value in values if value is not None and not is_nan(value)]
        ends = (min(ordered), max(ordered)) if ordered else (None, None)
        lower[field.name], upper[field.name] = (
            None if end is None else value_text(field.transform, bound.source.type, end) for end in ends
        )
    return {
        "contains-null": any(value is None for row in rows for value in row.values()),
        "lower-bound": lower,
        "upper-bound": upper,
    }


# KVCatalog's serialisations


def partition_specs(specs: Iterable[PartitionSpec]) -> list[dict[str, Json]]:
    """Partition specs with their fields."""
    return [{"spec_id": spec.id, "fields": [_spec_field(field) for field in spec.fields]} for spec in specs]


def _spec_field(field: PartitionField) -> dict[str, Json]:
    body: dict[str, Json] = {
        "source_id": field.source_id,
        "field_id": field.field_id,
        "name": field.name,
        "transform": field.transform.name,
    }
    return body if field.transform.parameter is None else {**body, "transform_param": field.transform.parameter}


def snapshots(past: TablePast) -> list[dict[str, Json]]:
    """All snapshots, oldest first."""
    return [
        {
            "snapshot_id": step.id,
            "parent_snapshot_id": step.previous_id,
            "timestamp_ms": step.time_ms,
            "operation": step.iceberg_operation,
            "manifest_list": manifest_list_name(past, step),
            "summary": summary(past, step),
        }
        for step in past.steps
    ]


def summary(past: TablePast, step: Step) -> dict[str, str]:
    """What a snapshot did and what the table had after it, as texts, and what the caller said of it."""
    counts, totals = step.record.counts, step.record.totals
    return {
        **_texts("added", counts, "added_"),
        **_texts("deleted", counts, "removed_"),
        **_texts("total", totals, ""),
        **step.summary(past.context),
    }


def _texts(word: str, numbers: Mapping[str, int], prefix: str) -> dict[str, str]:
    names = (("files", "files"), ("records", "rows"), ("bytes", "bytes"))
    return {f"{word}-{theirs}": str(numbers.get(f"{prefix}{ours}", 0)) for theirs, ours in names}


def data_files(past: TablePast, until: Step) -> list[dict[str, Json]]:
    """The live files of a snapshot."""
    steps = past.steps[: past.steps.index(until) + 1]
    return [
        {
            "file_path": location_of(past.context.files, live.file),
            "format": format_of(live.file),
            "record_count": live.file.num_rows,
            "file_size_bytes": live.file.file_size,
            "partition_values": past.partition_texts(live.file, live.schema_id),
        }
        for live in live_files(past.context, steps)
    ]
