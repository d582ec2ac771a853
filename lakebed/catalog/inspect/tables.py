"""System tables of tables: what they are, their snapshots, files and schemas."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.data.row_sources import format_of, location_of
from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.history import Step, TablePast, newest_of, states, table_past
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, number
from lakebed.catalog.inspect.table_documents import (
    FORMAT_VERSION,
    manifest_list_name,
    partition_specs,
    summary,
    updated_ms,
)
from lakebed.catalog.objects.properties import COMMENT
from lakebed.catalog.objects.walk import Named, every, loaded
from lakebed.catalog.tables.tables import schema_of, table_state
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.json import schema_to_json

TABLE = ("table_name", "string", "the whole name, with dots")
UUID = ("table_uuid", "string", "the table's id, which never changes")
NAMESPACE = ("namespace", "string", "what the table is in; empty at the top")


def _batches(work: Work, keep: Keep) -> Iterator[list[Named]]:
    return loaded(
        work,
        (
            one
            for one in every(work, pb.TABLE)
            if keep({"table_name": one.name, "table_uuid": one.id, "namespace": one.namespace})
        ),
    )


def tables_kept(work: Work, keep: Keep) -> Iterator[Named]:
    """The tables that may be asked for."""
    return chain.from_iterable(_batches(work, keep))


def _table_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in _batches(work, keep):
        for one, past in zip(batch, newest_of(work, [named.id for named in batch]), strict=True):
            yield (*_seed_columns(one, past), *_own_columns(one, past))


def _seed_columns(one: Named, past: TablePast) -> Row:
    return (
        one.name,
        one.id,
        FORMAT_VERSION,
        past.context.files.location(past.state.location),
        past.steps[-1].id if past.steps else None,
        updated_ms(past),
        documents.PROPERTIES.to_json(dict(past.properties)),
        schema_to_json(past.state.schema),
        documents.PARTITION_SPECS.to_json(partition_specs(past.specs)),
    )


def _own_columns(one: Named, past: TablePast) -> Row:
    state = past.state
    totals = past.steps[-1].record.totals if past.steps else {}
    return (
        one.namespace,
        past.properties.get(COMMENT),
        state.schema.id,
        state.spec.id,
        state.sort_order.id,
        list(state.schema.key),
        number(past.created),
        number(past.changed.version if past.changed else None),
        past.steps[-1].record.sequence_number if past.steps else None,
        *(totals.get(what, 0) for what in ("files", "rows", "bytes")),
    )


TABLES = SystemTable(
    "__tables",
    "Tables, one row for each.",
    columns(
        TABLE,
        UUID,
        ("format_version", "int", "of the documents of `describe()`"),
        ("location", "string", "the folder that its files are in"),
        ("current_snapshot_id", "long", "its newest snapshot"),
        ("last_updated_time", "long", "of its last change of any kind, in milliseconds since 1970"),
        ("properties", "binary", "JSON: texts by name"),
        ("schema", "binary", "JSON: Iceberg's, of its columns as they are"),
        ("partition_specs", "binary", "JSON: the partition specs that it ever had"),
        NAMESPACE,
        ("comment", "string", "the property of this name"),
        ("schema_id", "int", "its schema's number"),
        ("spec_id", "int", "its partition spec's number; 0 without partitions"),
        ("sort_order_id", "int", "its sort order's number; 0 without order"),
        ("primary_key", "list<string>", "the columns of its key"),
        ("created_version", VERSION, "the commit that made it"),
        ("version", VERSION, "the last commit that changed it"),
        ("last_sequence_number", "long", "how many snapshots it has had"),
        ("total_files", "long", "its live files"),
        ("total_rows", "long", "the rows in them"),
        ("total_bytes", "long", "their sizes"),
    ),
    _table_rows,
)


def _snapshot_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        past = table_past(work, one.id)
        for step in sorted(past.steps, key=lambda step: step.id):
            yield _snapshot_row(one, past, step)


def _snapshot_row(one: Named, past: TablePast, step: Step) -> Row:
    record = step.record
    counts = ("added_files", "added_rows", "removed_files", "removed_rows")
    return (
        one.name,
        step.id,
        step.previous_id,
        step.time_ms,
        step.iceberg_operation.upper(),
        manifest_list_name(past, step),
        documents.SUMMARY.to_json(summary(step)),
        one.id,
        one.namespace,
        int(step.state.version),
        step.time,
        step.operation,
        record.sequence_number,
        record.schema_id,
        record.spec_id,
        *(record.counts.get(what, 0) for what in counts),
        *(record.totals.get(what, 0) for what in ("files", "rows", "bytes")),
    )


SNAPSHOTS = SystemTable(
    "__snapshots",
    "Snapshots, one row for each that a table had on this line, by their ids.",
    columns(
        TABLE,
        ("snapshot_id", "long", "its number in its table; they only grow"),
        ("parent_snapshot_id", "long", "the one before it; null of the first"),
        ("timestamp_ms", "long", "when it was committed, in milliseconds since 1970"),
        ("operation", "string", "CREATE, APPEND, OVERWRITE, DELETE or REPLACE"),
        ("manifest_list", "string", "what `describe().manifest_list(id)` shows; Lakebed keeps no such file"),
        ("summary", "binary", "JSON: files, records and bytes that were added and deleted, and the totals, as texts"),
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit that made it"),
        ("time", "timestamptz", "when that was"),
        ("type", "string", "the operation as the log has it: insert, compact, merge_branch and so on"),
        ("sequence_number", "long", "its place in the table's history"),
        ("schema_id", "int", "the schema that the table had then"),
        ("spec_id", "int", "the partition spec that the table had then"),
        ("added_files", "long", "by this snapshot"),
        ("added_rows", "long", "in them"),
        ("removed_files", "long", "by this snapshot"),
        ("removed_rows", "long", "in them"),
        ("total_files", "long", "live after it"),
        ("total_rows", "long", "in them"),
        ("total_bytes", "long", "their sizes"),
    ),
    _snapshot_rows,
)


def _file_columns(past: TablePast, file: DataFileRef, schema_id: int) -> list[Any]:
    return [
        location_of(past.context.files, file),
        format_of(file),
        file.num_rows,
        file.file_size,
        documents.PARTITION_VALUES.to_json(past.partition_texts(file, schema_id)),
    ]


_FILE = (
    ("file_path", "string", "as other engines open it; inline:… where the rows are in the metastore"),
    ("file_format", "string", "parquet, or inline"),
    ("record_count", "long", "its rows"),
    ("file_size_bytes", "long", "its size"),
    ("partition_values", "binary", "JSON: texts by the names of partition fields, null for null"),
)


def _file_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        [past] = newest_of(work, [one.id])
        every = table_files(work, past.state).all(work.context).values()
        for live in sorted(every, key=lambda live: (live.snapshot_id, live.file.path)):
            file = live.file
            yield (
                one.name,
                live.snapshot_id,
                *_file_columns(past, file, live.schema_id),
                one.id,
                one.namespace,
                file.spec_id,
                live.schema_id,
                file.seq_min,
                file.first_row_id if file.HasField("first_row_id") else None,
                file.level,
                work.context.files.location(file.dv_path) if file.HasField("dv_path") else None,
                file.deleted_rows,
            )


FILES = SystemTable(
    "__files",
    "Live files, one row for each, by the snapshots that added them.",
    columns(
        TABLE,
        ("snapshot_id", "long", "the snapshot that added it"),
        *_FILE,
        UUID,
        NAMESPACE,
        ("spec_id", "int", "the partition spec that it was written for"),
        ("schema_id", "int", "the schema that the table had when it was added"),
        ("sequence_number", "long", "that of its rows"),
        ("first_row_id", "long", "the id of its first row"),
        ("level", "int", "0 as it came in, 1 sorted by key with others"),
        ("deletion_vector", "string", "the file that says which of its rows are deleted"),
        ("deleted_rows", "long", "how many of its rows are deleted"),
    ),
    _file_rows,
)

_CHANGES = {ADDED: "added", DELETED: "removed", EXISTING: "changed"}


def _change_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        past = table_past(work, one.id)
        for step in past.steps:
            manifest = step.manifest(work.context)
            for file in manifest.data_files:
                yield (
                    one.name,
                    step.id,
                    _CHANGES[file.status],
                    *_file_columns(past, file, manifest.schema_id),
                    one.id,
                    one.namespace,
                    int(step.state.version),
                    step.time,
                    step.operation,
                )


CHANGES = SystemTable(
    "__changes",
    "What each snapshot did to its table's files, one row for each file.",
    columns(
        TABLE,
        ("snapshot_id", "long", "the snapshot that did it"),
        ("change", "string", "added, removed, or changed: other rows of it are deleted now"),
        *_FILE,
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit of the snapshot"),
        ("time", "timestamptz", "when that was"),
        ("type", "string", "what the commit did, as the log has it"),
    ),
    _change_rows,
)


def _schema_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        state = table_state(work, one.id)
        seen: dict[int, Version] = {}
        for past in states(work, one.id, Attribute.SCHEMA):
            seen.setdefault(cast(pb.TableSchema, past.record).schema_id, past.version)
        times = work.context.metastore.times(list(seen.values()))
        for (schema_id, version), time in zip(seen.items(), times, strict=True):
            schema = schema_of(work, one.id, schema_id)
            yield (
                one.name,
                one.id,
                one.namespace,
                schema_id,
                schema_id == state.schema.id,
                int(version),
                time,
                list(schema.names),
                list(schema.key),
                schema_to_json(schema),
            )


SCHEMAS = SystemTable(
    "__schemas",
    "The schemas that tables ever had on this line, in the order in which they got them.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("schema_id", "int", "its number in its table"),
        ("is_current", "boolean", "whether the table has it now"),
        ("version", VERSION, "the commit that first gave it to the table"),
        ("time", "timestamptz", "when that was"),
        ("columns", "list<string>", "their names"),
        ("primary_key", "list<string>", "the columns of the key"),
        ("schema", "binary", "JSON: Iceberg's"),
    ),
    _schema_rows,
)
