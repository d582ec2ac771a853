"""System tables of a table's metadata at rest: checkpoints, segments, blocks (source document 004)."""

from collections.abc import Iterator

from lakebed.catalog.data.checkpoints import load_part
from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.data.row_sources import location_of
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, tables_kept
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.work import Work
from lakebed.table.entries.segments import block_metas, meta_info
from lakebed.table.manifest.locations import Location, location_from_proto
from lakebed.table.manifest.snapshot import LiveFile

_STORE = Location("store", 0, 0, 0)
"""Where the metadata of files is that no checkpoint has: in their deltas' records."""


def _checkpoint_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        found = table_files(work, table_state(work, one.id))
        if found.checkpoint is not None:
            record = found.checkpoint.record
            yield (
                one.name,
                one.id,
                one.namespace,
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
    "The checkpoint that a read of each table begins with, and how many deltas follow it.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("version", VERSION, "the commit that it stands for"),
        ("snapshot_id", "long", "the snapshot of that commit"),
        ("sequence_number", "long", "its sequence number"),
        ("parts", "long", "the objects that list its files"),
        ("files", "long", "live then"),
        ("rows", "long", "in them"),
        ("deltas", "long", "since"),
        ("written", "timestamptz", "when it was written, by the writer's clock"),
    ),
    _checkpoint_rows,
)


def _live(work: Work, one: Named) -> Iterator[tuple[LiveFile, Location]]:
    """The live files, each with where its metadata is."""
    found = table_files(work, table_state(work, one.id))
    live = found.all(work.context)
    for part in () if found.checkpoint is None else found.checkpoint.parts:
        base = location_from_proto(part.entries)
        for path in load_part(work.context, part).column("path").to_pylist():
            if path in live and path not in found.overlay.added:
                yield live.pop(path), base
    for left in live.values():
        yield left, _STORE


def _segment_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        for live, base in _live(work, one):
            info = meta_info(live.file, base)
            yield (
                one.name,
                info.id,
                location_of(work.context.files, live.file),
                max(1, len(live.file.blocks)),
                *_place(info.base),
                info.base.shared,
                *_place(info.delta),
                one.id,
                one.namespace,
            )


SEGMENTS = SystemTable(
    "__segments",
    "Live files as segments: where the metadata of each is, and where what was deleted from it.",
    columns(
        TABLE,
        ("segment_id", "long", "the id of its first row"),
        ("file_path", "string", "as other engines open it"),
        ("blocks", "long", "its row groups"),
        ("base_key", "string", "the object that has its metadata; `store` if no checkpoint has it yet"),
        ("base_offset", "long", "where the directory of that object begins"),
        ("base_length", "long", "how long it is"),
        ("shared", "boolean", "whether other files' metadata is there too"),
        ("delta_key", "string", "the file that has its deletion vector"),
        ("delta_offset", "long", "where the vector begins"),
        ("delta_length", "long", "how long it is"),
        UUID,
        NAMESPACE,
    ),
    _segment_rows,
)


def _block_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one in tables_kept(work, keep):
        for live, _ in _live(work, one):
            for block in block_metas(live.file, one.id):
                for column in block.columns:
                    yield (
                        one.name,
                        block.segment,
                        block.block,
                        column.idx,
                        *_place(column.data)[1:],
                        column.min,
                        column.max,
                        *_place(column.bloom)[1:],
                        one.id,
                        one.namespace,
                    )


BLOCKS = SystemTable(
    "__blocks",
    "Columns of the row groups of live files: where each is, and between which values.",
    columns(
        TABLE,
        ("segment_id", "long", "the id of the file's first row"),
        ("block_id", "long", "the number of the row group in its file"),
        ("column_idx", "int", "the column's field id"),
        ("data_offset", "long", "where its chunk begins in the file"),
        ("data_length", "long", "how long that is"),
        ("min", "binary", "Iceberg's bytes of a value that none is below; null if unknown"),
        ("max", "binary", "of one that none is above"),
        ("bloom_offset", "long", "where its bloom filter begins"),
        ("bloom_length", "long", "how long that is"),
        UUID,
        NAMESPACE,
    ),
    _block_rows,
)


def _place(location: Location | None) -> tuple[str | None, int | None, int | None]:
    return (None, None, None) if location is None else (location.key, location.offset, location.length)
