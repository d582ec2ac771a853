"""System tables of a table's metadata at rest: checkpoints, segments, blocks (source document 004)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from lakebed.catalog.data.live_files import TableFiles, files_of_tables
from lakebed.catalog.data.row_sources import location_of
from lakebed.catalog.inspect.entry_places import entry_places
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, batches_kept
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.tables.tables import table_states
from lakebed.catalog.transaction.work import Work
from lakebed.table.entries.segments import ColumnMeta, block_metas, meta_info, row_groups, segment_meta
from lakebed.table.manifest.locations import Location, MetaInfo
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef


def _checkpoint_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, found in _with_files(work, keep):
        if found.checkpoint is not None:
            record = found.checkpoint.record
            yield (
                table.name,
                table.uuid,
                table.namespace,
                int(found.checkpoint.version),
                record.snapshot_id,
                record.sequence_number,
                record.counts["parts"],
                record.counts["files"],
                record.counts["rows"],
                found.overlay.deltas,
                record.written_ms * 1000,
                record.last_row_id if record.HasField("last_row_id") else None,
            )


CHECKPOINTS = SystemTable(
    "__checkpoints",
    "The checkpoint that a read of each table starts from, and the number of deltas after it.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit whose files it lists"),
        ("snapshot_id", "long", "the snapshot of that commit"),
        ("sequence_number", "long", "its sequence number"),
        ("parts", "long", "the number of objects that list its files"),
        ("files", "long", "files that were live at that commit"),
        ("rows", "long", "rows in those files"),
        ("deltas", "long", "deltas since then"),
        ("written", "timestamptz", "when it was written, by the writer's clock"),
        ("last_row_id", "long", "the highest row id that its commit and those before gave out; null if it is older"),
    ),
    _checkpoint_rows,
)


def _with_files(work: Work, keep: Keep) -> Iterator[tuple[Named, TableFiles]]:
    """The tables that may be wanted, each with its files."""
    for batch in batches_kept(work, keep):
        yield from zip(batch, files_of_tables(work, table_states(work, [one.id for one in batch])), strict=True)


def _infos(work: Work, keep: Keep) -> Iterator[tuple[Named, DataFileRef, MetaInfo]]:
    """The live files of the tables that may be wanted, each with the locations of its entry and its vector."""
    for batch in batches_kept(work, keep):
        states = table_states(work, [table.id for table in batch])
        files = files_of_tables(work, states)
        for table, found, places in zip(batch, files, entry_places(work, states, files), strict=True):
            for path, live in found.all(work.context).items():
                yield table, live.file, meta_info(live.file, places[path])


_LOCATION = {
    "key": ("string", "the object, by its location or the name that `open` takes"),
    "offset": ("long", "where it begins there"),
    "length": ("long", "its length there"),
    "original_length": ("long", "its length once it is decompressed"),
    "shared": ("boolean", "whether it has the metadata of several files"),
}
"""The fields of source document 004's Location."""


def _location_columns(prefix: str, what: str) -> list[tuple[str, str, str]]:
    return [(f"{prefix}_{name}", type, f"{what}: {meaning}") for name, (type, meaning) in _LOCATION.items()]


def _location_values(location: Location | None) -> tuple[Any, ...]:
    if location is None:
        return (None,) * len(_LOCATION)
    return (location.key, location.offset, location.length, location.raw_length, location.shared)


def _opened(work: Work, location: Location | None) -> Location | None:
    """The location with the key by which other programs open it."""
    return None if location is None else replace(location, key=work.context.files.location(location.key))


def _column_values(work: Work, column: ColumnMeta) -> tuple[Any, ...]:
    return (
        column.idx,
        *_location_values(_opened(work, column.data)),
        column.min,
        column.max,
        *_location_values(_opened(work, column.bloom)),
    )


_COLUMN = (
    ("column_idx", "int", "the column's field id"),
    *_location_columns("data", "its column chunk"),
    ("min", "binary", "a lower bound, as Iceberg's bytes, at most 32; null if unknown"),
    ("max", "binary", "an upper bound, likewise"),
    *_location_columns("bloom", "its bloom filter"),
)
"""The fields of source document 004's ColumnMeta."""

_TABLE_ID = ("table_id", "decimal(20, 0)", "the table's number: the first eight bytes of its uuid")


def _segment_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, file, info in _infos(work, keep):
        meta = segment_meta(file, table.uuid)
        yield (
            table.name,
            info.id,
            *_location_values(info.base),
            *_location_values(_opened(work, info.delta)),
            meta.table,
            [dict(zip(_COLUMN_NAMES, _column_values(work, column), strict=True)) for column in meta.columns],
            location_of(work.context.files, file),
            file.num_rows,
            len(row_groups(file)),
            table.uuid,
            table.namespace,
        )


_COLUMN_NAMES = [name for name, _, _ in _COLUMN]

SEGMENTS = SystemTable(
    "__segments",
    "Live files as segments, with source document 004's MetaInfo and SegmentMeta: where each one's entry and deletion "
    "vector are, and its columns.",
    columns(
        TABLE,
        ("segment_id", "long", "the id of its first row"),
        *_location_columns("base", "its entry"),
        *_location_columns("delta", "its deletion vector"),
        _TABLE_ID,
        (
            "columns",
            f"list<struct<{', '.join(f'{name}: {type}' for name, type, _ in _COLUMN)}>>",
            "its columns; `data` and `bloom` are null if it has several row groups, which `__blocks` has",
        ),
        ("file_path", "string", "its location as other engines open it; inline:… if the rows are in the metastore"),
        ("row_count", "long", "its rows"),
        ("blocks", "long", "the number of its row groups"),
        UUID,
        NAMESPACE,
    ),
    _segment_rows,
)


def _block_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, found in _with_files(work, keep):
        for live in found.all(work.context).values():
            for block, counted in zip(block_metas(live.file, table.uuid), row_groups(live.file), strict=True):
                known = {column.field_id: column for column in counted.columns}
                for column in block.columns:
                    yield (
                        table.name,
                        block.table,
                        block.segment,
                        block.block,
                        *_column_values(work, column),
                        counted.num_rows,
                        *(_count(known[column.idx], name) for name in ("value_count", "null_count", "nan_count")),
                        table.uuid,
                        table.namespace,
                    )


def _count(known: ColumnStatistics, name: str) -> int | None:
    return cast(int, getattr(known, name)) if known.HasField(cast(Any, name)) else None


BLOCKS = SystemTable(
    "__blocks",
    "Columns of the row groups of live files, with source document 004's BlockMeta and ColumnMeta.",
    columns(
        TABLE,
        _TABLE_ID,
        ("segment_id", "long", "the id of the file's first row"),
        ("block_id", "long", "the index of the row group in its file"),
        *_COLUMN,
        ("row_count", "long", "the rows of the row group"),
        ("value_count", "long", "its values, nulls included"),
        ("null_count", "long", "its nulls; null if unknown"),
        ("nan_count", "long", "its NaNs; null if unknown"),
        UUID,
        NAMESPACE,
    ),
    _block_rows,
)
