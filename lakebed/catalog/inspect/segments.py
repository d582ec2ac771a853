"""System tables of a table's metadata at rest: checkpoints, segments, blocks (source document 004)."""

from collections.abc import Iterator

from lakebed.catalog.data.checkpoints import load_part
from lakebed.catalog.data.live_files import TableFiles, files_of_tables
from lakebed.catalog.data.row_sources import location_of
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, batches_kept
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.tables.tables import table_states
from lakebed.catalog.transaction.work import Work
from lakebed.table.entries.segments import block_metas, meta_info
from lakebed.table.manifest.locations import Location, location_from_proto
from lakebed.table.manifest.snapshot import LiveFile

_STORE = Location("store", 0, 0, 0)
"""Where the metadata of a file is if no checkpoint has it: in the record of its delta."""


def _checkpoint_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, found in _with_files(work, keep):
        if found.checkpoint is not None:
            record = found.checkpoint.record
            yield (
                table.name,
                table.id,
                table.namespace,
                int(found.checkpoint.version),
                record.snapshot_id,
                record.sequence_number,
                record.counts["parts"],
                record.counts["files"],
                record.counts["rows"],
                found.overlay.deltas,
                record.written_ms * 1000,
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
    ),
    _checkpoint_rows,
)


def _with_files(work: Work, keep: Keep) -> Iterator[tuple[Named, TableFiles]]:
    """The tables that may be wanted, each with its files."""
    for batch in batches_kept(work, keep):
        yield from zip(batch, files_of_tables(work, table_states(work, [one.id for one in batch])), strict=True)


def _live_files(work: Work, found: TableFiles) -> Iterator[tuple[LiveFile, Location]]:
    """The live files, each with the location of its metadata."""
    live = found.all(work.context)
    for part in () if found.checkpoint is None else found.checkpoint.parts:
        base = location_from_proto(part.entries)
        for path in load_part(work.context, part).column("path").to_pylist():
            if path in live and path not in found.overlay.added:
                yield live.pop(path), base
    for file in live.values():
        yield file, _STORE


def _segment_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, found in _with_files(work, keep):
        for live, base in _live_files(work, found):
            info = meta_info(live.file, base)
            yield (
                table.name,
                info.id,
                location_of(work.context.files, live.file),
                max(1, len(live.file.blocks)),
                *_place(info.base),
                info.base.shared,
                *_place(info.delta),
                table.id,
                table.namespace,
            )


SEGMENTS = SystemTable(
    "__segments",
    "Live files as segments: where the metadata and the deletion vector of each are.",
    columns(
        TABLE,
        ("segment_id", "long", "the id of its first row"),
        ("file_path", "string", "its location as other engines open it"),
        ("blocks", "long", "the number of its row groups"),
        ("base_key", "string", "the object with its metadata; `store` if it is in no checkpoint yet"),
        ("base_offset", "long", "where that object's directory begins"),
        ("base_length", "long", "its length"),
        ("shared", "boolean", "whether that object has the metadata of other files too"),
        ("delta_key", "string", "the file with its deletion vector"),
        ("delta_offset", "long", "where the vector begins"),
        ("delta_length", "long", "its length"),
        UUID,
        NAMESPACE,
    ),
    _segment_rows,
)


def _block_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for table, found in _with_files(work, keep):
        for live, _ in _live_files(work, found):
            for block in block_metas(live.file, table.id):
                for column in block.columns:
                    yield (
                        table.name,
                        block.segment,
                        block.block,
                        column.idx,
                        *_place(column.data)[1:],
                        column.min,
                        column.max,
                        *_place(column.bloom)[1:],
                        table.id,
                        table.namespace,
                    )


BLOCKS = SystemTable(
    "__blocks",
    "Columns of the row groups of live files: where each is, and its bounds.",
    columns(
        TABLE,
        ("segment_id", "long", "the id of the file's first row"),
        ("block_id", "long", "the index of the row group in its file"),
        ("column_idx", "int", "the column's field id"),
        ("data_offset", "long", "where its column chunk begins in the file"),
        ("data_length", "long", "its length"),
        ("min", "binary", "a lower bound, as Iceberg's bytes; null if unknown"),
        ("max", "binary", "an upper bound, likewise"),
        ("bloom_offset", "long", "where its bloom filter begins"),
        ("bloom_length", "long", "its length"),
        UUID,
        NAMESPACE,
    ),
    _block_rows,
)


def _place(location: Location | None) -> tuple[str | None, int | None, int | None]:
    return (None, None, None) if location is None else (location.key, location.offset, location.length)
