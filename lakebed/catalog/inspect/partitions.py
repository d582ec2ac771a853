"""The system tables of partitions and their deltas."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.catalog.data.deltas import histories
from lakebed.catalog.data.live_files import TableFiles, files_of_tables
from lakebed.catalog.inspect.documents import PARTITION_VALUES, PROPERTIES
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, instant, number
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, batches_kept
from lakebed.catalog.objects.undrop import not_purged
from lakebed.catalog.objects.walk import Named, created_version
from lakebed.catalog.partitions.deltas import Delta, deltas_among, deltas_of
from lakebed.catalog.partitions.locators import partition_locator
from lakebed.catalog.partitions.members import values_of
from lakebed.catalog.partitions.partition import (
    PartitionState,
    read_partition,
    root_of,
    shown_and_staged,
)
from lakebed.catalog.partitions.staged import cell_of
from lakebed.catalog.tables.tables import TableState, table_state, table_states
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import value_text


def _partition_rows(work: Work, keep: Keep) -> Iterator[Row]:
    """A few round trips for all tables that never had an explicit partition, and some for each of the others."""
    for batch in batches_kept(work, keep):
        states = table_states(work, [table.id for table in batch])
        named = work.parents_of_names([str(state.id) for state in states])
        for table, state, files in zip(batch, states, files_of_tables(work, states), strict=True):
            yield from _rows_of_table(work, table, state, files, str(state.id) in named)


def _rows_of_table(
    work: Work, table: Named, state: TableState, committed: TableFiles, has_parts: bool
) -> Iterator[Row]:
    explicit, staged = shown_and_staged(work, state) if has_parts else ([], [])
    files = _by_partition(work, state, explicit, _with_pending(work, state, committed))
    for partition in (root_of(state), *explicit):
        yield _partition_row(work, table, state, partition, partition.state, files[partition.id])
    cells = table_states(work, [cell_of(state, one.id) for one in staged])
    for partition, cell, own in zip(staged, cells, files_of_tables(work, cells), strict=True):
        filled = _with_pending(work, cell, own)
        yield _partition_row(work, table, state, partition, partition.state, list(filled.values()))
    dropped = not_purged(list(work.dropped(str(state.id)))) if has_parts else []
    gone = [row.id for row in dropped if row.type == pb.PARTITION]
    for partition in (read_partition(work, state, one) for one in gone):
        yield _partition_row(work, table, state, partition, "dropped", None)


def _with_pending(work: Work, state: TableState, committed: TableFiles) -> Mapping[str, DataFileRef]:
    """The live files, with what the work itself has done to them."""
    live = {path: one.file for path, one in committed.all(work.context).items()}
    pending = work.deltas.get(state.partition)
    return live if pending is None else pending.live(live)


def _by_partition(
    work: Work, state: TableState, explicit: list[PartitionState], live: Mapping[str, DataFileRef]
) -> dict[str, list[DataFileRef]]:
    """(partition) -> its live files, all in one pass"""
    ids = {one.values.by_id: one.id for one in explicit if one.values is not None}
    columns = [one.values.by_id for one in explicit if one.values is not None]
    order = [id for id, _ in columns[0]] if columns else []
    found: dict[str, list[DataFileRef]] = {one: [] for one in (state.partition, *ids.values())}
    for file in live.values():
        values = values_of(work, state, file) if order else {}
        key = tuple((id, values[id]) for id in order) if all(id in values for id in order) else ()
        found[ids.get(key, state.partition) if order else state.partition].append(file)
    return found


def _partition_row(
    work: Work,
    table: Named,
    state: TableState,
    partition: PartitionState,
    shown: str,
    files: list[DataFileRef] | None,
) -> Row:
    values = {} if partition.values is None else partition.values.fields(state.schema)
    texts = {
        field.name: None if value is None else value_text(IDENTITY, field.type, value)
        for field, value in values.items()
    }
    counts: tuple[Any, ...] = (None, None, None)
    if files is not None:
        rows = sum(live_rows(work.context.files, file) for file in files)
        counts = len(files), rows, sum(file.file_size for file in files)
    created = created_version(work, str(state.id) if partition.values is None else partition.id)
    location = None if partition.location is None else work.context.files.location(partition.location)
    return (
        table.name,
        partition.id,
        PARTITION_VALUES.to_json(texts),
        shown,
        location,
        partition.file_format,
        PROPERTIES.to_json(dict(partition.properties)),
        *counts,
        number(created),
        partition.previous,
        str(partition_locator(work, state, partition.id)),
        table.uuid,
        table.namespace,
    )


PARTITIONS = SystemTable(
    "__partitions",
    "One row for each partition of a table's active edition: the root, then explicit ones, then those that are staged "
    "or dropped.",
    columns(
        TABLE,
        ("partition_id", "string", "its id"),
        ("partition_values", "binary", "JSON: texts by column, null for null; none for the root"),
        ("state", "string", "committed, staged or dropped"),
        ("location", "string", "the folder whose files were registered"),
        ("file_format", "string", "the format of its files"),
        ("properties", "binary", "JSON: texts by name"),
        ("files", "long", "its live files; null if it was dropped"),
        ("rows", "long", "the rows in those files"),
        ("bytes", "long", "their total size"),
        ("created_version", VERSION, "the commit that created it; of the root, its edition"),
        ("previous_id", "string", "the partition that it was swapped in for"),
        ("canonical", "string", "its canonical string, of namespace, table, edition, stream and partition"),
        UUID,
        NAMESPACE,
    ),
    _partition_rows,
)


def _delta_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for batch in batches_kept(work, keep):
        states = table_states(work, [table.id for table in batch])
        pasts = histories(work, [(state.partition, None) for state in states])
        storages = histories(work, [(str(state.id), None) for state in states], Attribute.STORAGE)
        named = work.parents_of_names([str(state.id) for state in states])
        times = iter(work.context.metastore.times([delta.version for past in pasts for delta in past]))
        for table, state, past, stored in zip(batch, states, pasts, storages, strict=True):
            own = list(islice(times, len(past)))
            explicit, staged = shown_and_staged(work, state) if str(state.id) in named else ([], [])
            for partition in (root_of(state), *explicit):
                for delta in reversed(deltas_among(work, state, partition, past, own, stored)):
                    yield _delta_row(table, delta)
            for partition in staged:
                filled = table_state(work, cell_of(state, partition.id))
                for delta in reversed(deltas_of(work, filled, replace(partition, values=None))):
                    yield _delta_row(table, delta)


def _delta_row(table: Named, delta: Delta) -> Row:
    counts = ("added_files", "added_rows", "removed_files", "removed_rows", "changed_files")
    return (
        table.name,
        delta.partition,
        delta.position,
        delta.previous_position,
        str(delta.locator),
        delta.type,
        delta.operation,
        number(delta.version),
        instant(delta.time),
        *(delta.counts.get(what, 0) for what in counts),
        table.uuid,
        table.namespace,
        delta.snapshot_id,
    )


DELTAS = SystemTable(
    "__deltas",
    "One row for each delta of each partition: the root has all of its table, an explicit one those that touched it, a "
    "staged one those that filled it.",
    columns(
        TABLE,
        ("partition_id", "string", "the partition"),
        ("stream_position", "long", "the commit's place in the stream, from 1; later ones are greater"),
        ("previous_position", "long", "that of the partition's delta before; null for the first"),
        ("canonical", "string", "its canonical string: that of its partition, and its position"),
        ("type", "string", "append, upsert, delete or add"),
        ("operation", "string", "what the commit did, as the log names it"),
        ("version", VERSION, "the commit"),
        ("time", "timestamptz", "the time of that commit"),
        ("added_files", "long", "of the partition"),
        ("added_rows", "long", "rows in those files"),
        ("removed_files", "long", "of the partition"),
        ("removed_rows", "long", "rows in those files, and rows that vectors deleted"),
        ("changed_files", "long", "files that got another deletion vector"),
        UUID,
        NAMESPACE,
        ("snapshot_id", "long", "the snapshot that it made"),
    ),
    _delta_rows,
)
