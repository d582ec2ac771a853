"""System tables of tables, and of their snapshots, files, changes and schemas."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, cast

from lakebed.catalog.data.data_index import DataIndex, data_indexes
from lakebed.catalog.data.live_files import files_of_tables
from lakebed.catalog.data.row_sources import format_of, location_of
from lakebed.catalog.data.streams import stream_locator, stream_named
from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.history import Step, TablePast, newest_of, pasts_of, states
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, number
from lakebed.catalog.inspect.table_documents import (
    FORMAT_VERSION,
    manifest_list_name,
    partition_specs,
    summary,
    updated_ms,
)
from lakebed.catalog.objects.properties import COMMENT
from lakebed.catalog.objects.walk import Named, NamedLevel, loaded, objects_of_kind
from lakebed.catalog.tables.editions import edition_named, locator_of, table_around
from lakebed.catalog.tables.tables import schema_of, table_states
from lakebed.catalog.transaction.bodies import SCHEMA, SPEC, BodyKey
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.names import parse_name
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import State
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.schema.json import schema_to_json

TABLE = ("table_name", "string", "the full name, with dots")
UUID = ("table_uuid", "string", "the table's id, which never changes")
NAMESPACE = ("namespace", "string", "the namespace of the table; empty at the top")


def tables_kept(work: Work, keep: Keep) -> Iterator[list[Named]]:
    """The tables that may be wanted, in batches that are read together."""
    return loaded(work, _wanted(work, keep))


def batches_kept(work: Work, keep: Keep) -> Iterator[list[Named]]:
    """The same, each as its active edition, and what the condition names below tables: `sales.orders.edition_2`."""
    return loaded(work, chain(_wanted(work, keep), levels_named(work, keep.named("table_name"))))


def _wanted(work: Work, keep: Keep) -> Iterator[Named]:
    return (
        table
        for table in objects_of_kind(work, pb.TABLE)
        if keep({"table_name": table.name, "table_uuid": table.id, "namespace": table.namespace})
    )


def levels_named(work: Work, names: Iterable[str]) -> Iterator[NamedLevel]:
    """The editions and staged streams among some names."""
    for name in sorted(names):
        with suppress(Invalid, NotFound):
            parts = parse_name(name)
            stream = stream_named(work, parts)
            found = edition_named(work, parts) if stream is None else stream.bound
            if found is not None:
                table = table_around(work, found)
                yield NamedLevel(found, name_of(work, found), table, name_of(work, table))


def with_pasts(work: Work, keep: Keep) -> Iterator[tuple[Named, TablePast]]:
    """The tables that may be wanted, each with all its snapshots."""
    for batch in batches_kept(work, keep):
        yield from zip(batch, pasts_of(work, [table.id for table in batch]), strict=True)


def _table_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        for table, past in zip(batch, newest_of(work, [named.id for named in batch]), strict=True):
            yield (*_seed_columns(table, past), *_own_columns(table, past), _canonical(work, table))


def _seed_columns(table: Named, past: TablePast) -> Row:
    return (
        table.name,
        table.uuid,
        FORMAT_VERSION,
        past.context.files.location(past.state.location),
        past.steps[-1].id if past.steps else None,
        updated_ms(past),
        documents.PROPERTIES.to_json(dict(past.properties)),
        schema_to_json(past.state.schema),
        documents.PARTITION_SPECS.to_json(partition_specs(past.specs)),
    )


def _own_columns(table: Named, past: TablePast) -> Row:
    state = past.state
    totals = past.steps[-1].record.totals if past.steps else {}
    return (
        table.namespace,
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


def _canonical(work: Work, table: Named) -> str:
    """That of the table, or of the edition or staged stream that was named."""
    if isinstance(table, NamedLevel) and isinstance(table.id, Bound):
        bound = table.id
        place = locator_of(work, bound) if bound.cell is None else stream_locator(work, bound, bound.object_id)
        return place.canonical
    return "|".join(table.parts)


TABLES = SystemTable(
    "__tables",
    "One row for each table.",
    columns(
        TABLE,
        UUID,
        ("format_version", "int", "the version of the documents of `describe()`"),
        ("location", "string", "the folder of its files"),
        ("current_snapshot_id", "long", "its newest snapshot"),
        ("last_updated_time", "long", "time of its last change of any kind, in milliseconds since 1970"),
        ("properties", "binary", "JSON: texts by name"),
        ("schema", "binary", "JSON: Iceberg's schema of its current columns"),
        ("partition_specs", "binary", "JSON: all partition specs that it has had"),
        NAMESPACE,
        ("comment", "string", "the property of this name"),
        ("schema_id", "int", "its schema's id"),
        ("spec_id", "int", "its partition spec's id; 0 if unpartitioned"),
        ("sort_order_id", "int", "its sort order's id; 0 if unsorted"),
        ("primary_key", "list<string>", "the columns of its key"),
        ("created_version", VERSION, "the commit that created it"),
        ("version", VERSION, "the last commit that changed it"),
        ("last_sequence_number", "long", "that of its newest snapshot: no row has a greater one"),
        ("total_files", "long", "its live files"),
        ("total_rows", "long", "the rows in those files"),
        ("total_bytes", "long", "their total size"),
        ("canonical", "string", "its canonical string, of the names namespace and table"),
    ),
    _table_rows,
)


def _snapshot_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        pasts = list(pasts_of(work, [table.id for table in batch]))
        deltas = [(past.state.partition, [step.state for step in past.steps]) for past in pasts]
        for table, past, own in zip(batch, pasts, data_indexes(work, deltas), strict=True):
            for step, index in sorted(zip(past.steps, own, strict=True), key=lambda found: found[0].id):
                yield _snapshot_row(table, past, step, index)


def _snapshot_row(table: Named, past: TablePast, step: Step, index: DataIndex) -> Row:
    record = step.record
    counts = ("added_files", "added_rows", "removed_files", "removed_rows")
    return (
        table.name,
        step.id,
        step.previous_id,
        step.time_ms,
        step.iceberg_operation.upper(),
        manifest_list_name(past, step),
        documents.SUMMARY.to_json(summary(past, step)),
        table.uuid,
        table.namespace,
        int(step.state.version),
        step.time,
        step.operation,
        record.sequence_number,
        record.schema_id,
        record.spec_id,
        *(record.counts.get(what, 0) for what in counts),
        *(record.totals.get(what, 0) for what in ("files", "rows", "bytes")),
        index.type_name,
        index.cur_set_id,
        list(index.set_ids),
        index.table_index_url,
    )


SNAPSHOTS = SystemTable(
    "__snapshots",
    "One row for each snapshot that a table has had on this line, sorted by id.",
    columns(
        TABLE,
        ("snapshot_id", "long", "its id in its table; ids only grow"),
        ("parent_snapshot_id", "long", "the previous snapshot; null for the first"),
        ("timestamp_ms", "long", "when it was committed, in milliseconds since 1970"),
        ("operation", "string", "CREATE, APPEND, OVERWRITE, DELETE or REPLACE"),
        ("manifest_list", "string", "the name by which `open` opens what `describe().manifest_list(id)` shows"),
        (
            "summary",
            "binary",
            "JSON, texts: files, records and bytes added and deleted, the totals, and the `summary=` of the write",
        ),
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit that created it"),
        ("time", "timestamptz", "the time of that commit"),
        ("type", "string", "the operation as the log names it: insert, compact, merge_branch and so on"),
        ("sequence_number", "long", "its place in the table's history: greater than those before"),
        ("schema_id", "int", "the table's schema at that time"),
        ("spec_id", "int", "the table's partition spec at that time"),
        ("added_files", "long", "by this snapshot"),
        ("added_rows", "long", "rows in those files"),
        ("removed_files", "long", "by this snapshot"),
        ("removed_rows", "long", "rows in those files"),
        ("total_files", "long", "live after it"),
        ("total_rows", "long", "rows in those files"),
        ("total_bytes", "long", "their total size"),
        (
            "segment_type",
            "string",
            "init: no file; data: deltas list them; index: a checkpoint and the deltas since",
        ),
        ("cur_set_id", "string", "where its own manifest is"),
        ("set_ids", "list<string>", "the parts of the checkpoint that it is read from"),
        ("table_index_url", "string", "the checkpoint's list of parts if it is a file, else its manifest list"),
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
    ("file_path", "string", "its location as other engines open it; inline:… if the rows are in the metastore"),
    ("file_format", "string", "parquet, or inline"),
    ("record_count", "long", "its rows"),
    ("file_size_bytes", "long", "its size"),
    ("partition_values", "binary", "JSON: texts by partition field, null for null"),
)


def _file_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        pasts = newest_of(work, [table.id for table in batch])
        files = files_of_tables(work, [past.state for past in pasts])
        live = [found.all(work.context).values() for found in files]
        for_partitions = (
            key for past, own in zip(pasts, live, strict=True) for one in own for key in _body_keys(past.state.id, one)
        )
        work.context.bodies.load(for_partitions)
        for table, past, own in zip(batch, pasts, live, strict=True):
            ordered = sorted(own, key=lambda one: (one.snapshot_id, one.file.path))
            yield from (_file_row(table, past, one) for one in ordered)


def _body_keys(table: str, live: LiveFile) -> tuple[BodyKey, ...]:
    """What the partition of a file is shown by."""
    return (table, SCHEMA, live.schema_id), (table, SPEC, live.file.spec_id)


def _file_row(table: Named, past: TablePast, live: LiveFile) -> Row:
    file = live.file
    return (
        table.name,
        live.snapshot_id,
        *_file_columns(past, file, live.schema_id),
        table.uuid,
        table.namespace,
        file.spec_id,
        live.schema_id,
        file.seq_max or None,
        file.seq_min or None,
        file.first_row_id if file.HasField("first_row_id") else None,
        file.level,
        past.context.files.location(file.dv_path) if file.HasField("dv_path") else None,
        file.deleted_rows,
    )


FILES = SystemTable(
    "__files",
    "One row for each live file, sorted by the snapshot that added it.",
    columns(
        TABLE,
        ("snapshot_id", "long", "the snapshot that added it"),
        *_FILE,
        UUID,
        NAMESPACE,
        ("spec_id", "int", "the partition spec that it was written with"),
        ("schema_id", "int", "the schema that the table had when it was added"),
        ("sequence_number", "long", "the greatest sequence number of its rows' last changes; null while it is staged"),
        ("min_sequence_number", "long", "the least one"),
        ("first_row_id", "long", "the id of its first row"),
        ("level", "int", "0 as written, 1 sorted by key together with others"),
        ("deletion_vector", "string", "the file with its deletion vector"),
        ("deleted_rows", "long", "how many of its rows are deleted"),
    ),
    _file_rows,
)

_CHANGES = {ADDED: "added", DELETED: "removed", EXISTING: "changed"}


def _change_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, past in with_pasts(work, keep):
        for step in past.steps:
            manifest = step.manifest(work.context)
            for file in manifest.data_files:
                yield (
                    table.name,
                    step.id,
                    _CHANGES[file.status],
                    *_file_columns(past, file, manifest.schema_id),
                    table.uuid,
                    table.namespace,
                    int(step.state.version),
                    step.time,
                    step.operation,
                )


CHANGES = SystemTable(
    "__changes",
    "One row for each file that a snapshot added, removed or changed.",
    columns(
        TABLE,
        ("snapshot_id", "long", "the snapshot that did it"),
        ("change", "string", "added, removed, or changed (its deleted rows changed)"),
        *_FILE,
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit of the snapshot"),
        ("time", "timestamptz", "the time of that commit"),
        ("type", "string", "what the commit did, as the log names it"),
    ),
    _change_rows,
)


def _schema_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        current = table_states(work, [table.id for table in batch])
        first_uses = [_first_uses(past) for past in states(work, [state.id for state in current], Attribute.SCHEMA)]
        work.context.bodies.load(
            (state.id, SCHEMA, schema_id) for state, uses in zip(current, first_uses, strict=True) for schema_id in uses
        )
        times = iter(work.context.metastore.times([version for uses in first_uses for version in uses.values()]))
        for table, state, uses in zip(batch, current, first_uses, strict=True):
            for schema_id, version in uses.items():
                schema = schema_of(work, state.id, schema_id)
                yield (
                    table.name,
                    table.uuid,
                    table.namespace,
                    schema_id,
                    schema_id == state.schema.id,
                    int(version),
                    next(times),
                    list(schema.names),
                    list(schema.key),
                    schema_to_json(schema),
                )


def _first_uses(past: Sequence[State]) -> dict[int, Version]:
    """By the ids of a table's schemas, the versions that first used them; `past` is oldest first."""
    uses: dict[int, Version] = {}
    for state in past:
        uses.setdefault(cast(pb.TableSchema, state.record).schema_id, state.version)
    return uses


SCHEMAS = SystemTable(
    "__schemas",
    "The schemas that tables have had on this line, oldest first.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("schema_id", "int", "its id in its table"),
        ("is_current", "boolean", "whether it is the table's current schema"),
        ("version", VERSION, "the commit that first used it"),
        ("time", "timestamptz", "the time of that commit"),
        ("columns", "list<string>", "their names"),
        ("primary_key", "list<string>", "the columns of the key"),
        ("schema", "binary", "JSON: Iceberg's schema"),
    ),
    _schema_rows,
)
