"""Iceberg's metadata document of a table."""

import json
from collections.abc import Iterator
from typing import Any

from lakebed.catalog.inspect.table_documents import updated_ms
from lakebed.catalog.transaction.pending_delta import new_rows
from lakebed.iceberg.schemas import NAME_MAPPING, name_mapping, order_json, schema_json, spec_json
from lakebed.iceberg.table import ExportedTable
from lakebed.table.manifest.file_fields import column_names_of

_OPERATIONS = {"create": "append"}  # Iceberg has four operations, and none for a table's first snapshot


def encode_metadata(table: ExportedTable, manifest_list: str) -> bytes:
    """The bytes of the document; `manifest_list` is the location of the newest snapshot's list."""
    return json.dumps(metadata(table, manifest_list), ensure_ascii=False, indent=2).encode()


def metadata(table: ExportedTable, manifest_list: str) -> dict[str, Any]:
    """The document: the newest snapshot only, and all schemas, specs and sort orders."""
    state, snapshot = table.state, table.snapshot
    changed_ms = max(updated_ms(table.past), snapshot.time_ms)
    document = {
        "format-version": table.format_version,
        "table-uuid": state.id,
        "location": table.past.context.files.location(state.location),
        "last-sequence-number": table.last_sequence_number,
        "last-updated-ms": changed_ms,
        "last-column-id": max(snapshot.record.last_column_id, *(schema.highest_id for schema in table.schemas)),
        "current-schema-id": state.schema.id,
        "schemas": [schema_json(schema) for schema in table.schemas],
        "default-spec-id": state.spec.id,
        "partition-specs": [spec_json(spec) for spec in table.specs],
        "last-partition-id": max(spec.highest_field_id for spec in table.specs),
        "default-sort-order-id": state.sort_order.id,
        "sort-orders": [order_json(order) for order in table.orders],
        "properties": {**table.past.properties, NAME_MAPPING: name_mapping(state.schema, _other_names(table))},
        "current-snapshot-id": snapshot.id,
        "refs": {"main": {"snapshot-id": snapshot.id, "type": "branch"}},
        "snapshots": [_snapshot(table, manifest_list)],
        "snapshot-log": [{"snapshot-id": snapshot.id, "timestamp-ms": snapshot.time_ms}],
        "metadata-log": [],
    }
    return document if table.format_version < 3 else {**document, "next-row-id": _next_row_id(table)}


def _other_names(table: ExportedTable) -> Iterator[tuple[int, str]]:
    """The names, with their fields' ids, that only some of the files have."""
    for live in table.files:
        yield from column_names_of(live.file).items()


def _snapshot(table: ExportedTable, manifest_list: str) -> dict[str, Any]:
    step, record = table.snapshot, table.snapshot.record
    body = {
        "snapshot-id": step.id,
        "sequence-number": record.sequence_number,
        "timestamp-ms": step.time_ms,
        "summary": _summary(table),
        "manifest-list": manifest_list,
        "schema-id": record.schema_id,
    }
    if step.previous_id is not None:
        body["parent-snapshot-id"] = step.previous_id
    if table.format_version >= 3:
        body |= {"first-row-id": record.first_row_id, "added-rows": new_rows(record)}
    return body


def _summary(table: ExportedTable) -> dict[str, str]:
    """What the snapshot did, and the totals. Iceberg counts all rows of files, and deleted rows separately."""
    step, counts, files = table.snapshot, table.snapshot.record.counts, [live.file for live in table.files]
    numbers = {
        "added-data-files": counts.get("added_files", 0),
        "deleted-data-files": counts.get("removed_files", 0),
        "added-records": counts.get("added_rows", 0),
        "deleted-records": counts.get("removed_rows", 0),
        "total-data-files": len(files),
        "total-delete-files": len(table.vectors.places),
        "total-records": sum(file.num_rows for file in files),
        "total-files-size": sum(file.file_size for file in files),
        "total-position-deletes": sum(place.count for place in table.vectors.places.values()),
        "total-equality-deletes": 0,
    }
    operation = _OPERATIONS.get(step.iceberg_operation, step.iceberg_operation)
    figures = {name: str(number) for name, number in numbers.items()}
    return {"operation": operation, **figures, **step.summary(table.past.context)}


def _next_row_id(table: ExportedTable) -> int:
    """Above the ids of all rows; files that came from another line may have the highest."""
    record, files = table.snapshot.record, [live.file for live in table.files]
    return max([record.first_row_id + new_rows(record), *(file.first_row_id + file.num_rows for file in files)])
