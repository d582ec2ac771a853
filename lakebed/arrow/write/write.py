"""Writing rows as data files: plain Parquet, durable before anything refers to it; with the options of the writer."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import uuid4

import pyarrow
import pyarrow.compute
from pyarrow.parquet import FileMetaData, ParquetWriter

from lakebed.arrow.fit import fit
from lakebed.arrow.write.partitions import parts_of
from lakebed.catalog.data.footers import footer_of, read_footer
from lakebed.catalog.tables.properties import DEFAULTS, Codec, WriteOptions, bloom_ways
from lakebed.files import Files
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import UNSORTED, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.partition.values import set_partition
from lakebed.table.plan.blooms import seal_blooms
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import unblocked_fpp
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import DOUBLE, FLOAT, leaves

TINY_BYTES = 16 << 10  # in memory
HELD_BYTES = 256 << 20  # of rows in memory, to cut by partitions or to sort; twice that at the peak

_ALWAYS: dict[str, Any] = {
    "store_schema": False,  # the table has it
    "store_decimal_as_integer": True,  # as Iceberg does where a decimal is short enough
    "write_page_checksum": True,  # finds a flipped bit, for 0 to 3 % of the time
}
_DICTIONARY_BYTES = 1 << 17
"""Arrow's default of 1 MB lets a group of distinct numbers become a dictionary: 2 × the time, 1.4 × the bytes."""
_CODECS = {Codec.NONE: "none"}
# One row of 8 columns takes 350 µs this way, with dictionaries 640. Without zstd it would take 200, but that all files
# of a table are alike is worth more.
_TINY: dict[str, Any] = {**_ALWAYS, "use_dictionary": False}


def write(
    files: Files,
    folder: str,
    schema: Schema,
    data: Any,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    options: WriteOptions = DEFAULTS,
) -> list[DataFileRef]:
    """Write the rows to new files in the folder, each durable and whole; return their entries, none for no rows.

    A file has rows of one partition, sorted by the order. Rows stream through: memory does not grow with their number.
    After an error no file is left behind.
    """
    batches = fit(data, schema)
    form = _Form(schema, options, _bloom_options(options, schema))
    written: list[DataFileRef] = []
    with _deleted_on_error(files) as paths:
        for values, groups in _partitions(batches, schema, spec, order, options):
            for file in _write_files(files, folder, form, groups, paths):
                if spec != UNPARTITIONED:
                    set_partition(file, spec, schema, values)
                written.append(file)
    return written


def write_groups(
    files: Files, folder: str, schema: Schema, groups: Iterator[pyarrow.Table], options: WriteOptions = DEFAULTS
) -> list[DataFileRef]:
    """Write tables in the form of files, each as a row group of its own, in their order; none of them may be empty.

    A file ends after the row group that fills it. After an error no file is left behind.
    """
    form = _Form(schema, options, _bloom_options(options, schema))
    with _deleted_on_error(files) as paths:
        return list(_write_files(files, folder, form, groups, paths))


def _bloom_options(options: WriteOptions, schema: Schema) -> dict[str, Any]:
    """Arrow's options of bloom filters, by the paths of columns; `Invalid` for a column that can't have a filter.

    Arrow makes each filter as small as the values of its row group allow, so only the largest group counts.
    """
    rate = {"ndv": options.group_rows, "fpp": unblocked_fpp(options.bloom_fpp)}
    return {".".join(field.physical_name for field in way): rate for way in bloom_ways(options, schema)}


@contextmanager
def _deleted_on_error(files: Files) -> Iterator[list[str]]:
    """A list to add paths to: their files are deleted after an error."""
    paths: list[str] = []
    try:
        yield paths
    except BaseException as error:
        for failure in files.delete_many(paths):
            error.add_note(f"{failure.path} could not be deleted and is left behind: {failure.error}")
        raise


def _write_files(
    files: Files, folder: str, form: "_Form", groups: Iterator[pyarrow.Table], paths: list[str]
) -> Iterator[DataFileRef]:
    for first in groups:
        paths.append(f"{folder}/{uuid4()}.parquet")
        yield _write_file(files, paths[-1], form, first, groups)


@dataclass(frozen=True, slots=True)
class _Form:
    """What all files of a write have in common; `blooms` are Arrow's options of columns."""

    schema: Schema
    options: WriteOptions
    blooms: dict[str, Any]

    @property
    def pages(self) -> dict[str, Any]:
        """Arrow's options of compression and pages."""
        return {
            "compression": _CODECS.get(self.options.codec, self.options.codec.value),
            "compression_level": self.options.level,
            "data_page_size": self.options.page_bytes,
            "write_batch_size": max(1, min(1024, self.options.page_bytes >> 6)),  # rows between two looks at the size
            "dictionary_pagesize_limit": self.options.dictionary_bytes or _DICTIONARY_BYTES,
        }


def _partitions(
    batches: Iterable[pyarrow.RecordBatch], schema: Schema, spec: PartitionSpec, order: SortOrder, options: WriteOptions
) -> Iterator[tuple[tuple[Value | None, ...], Iterator[pyarrow.Table]]]:
    """Partition values with their row groups. A partition comes again if its rows don't fit in memory together."""
    if not spec.fields and not order.fields:
        yield (), _groups(batches, options)
        return
    for table in _tables(batches):
        for part in parts_of(table, schema, spec, order):
            yield part.values, _cut(part.rows, part.rows.nbytes, options)


def _tables(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    """The rows in tables of at most `HELD_BYTES`, or of one batch."""
    waiting: list[pyarrow.RecordBatch] = []
    size = 0
    for batch in batches:
        if waiting and size + batch.nbytes > HELD_BYTES:
            yield pyarrow.Table.from_batches(waiting)
            waiting, size = [], 0
        waiting.append(batch)
        size += batch.nbytes
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def _groups(batches: Iterable[pyarrow.RecordBatch], options: WriteOptions) -> Iterator[pyarrow.Table]:
    """The rows in tables, one for each row group."""
    waiting: list[pyarrow.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= options.group_rows or size >= options.group_bytes:
            yield from _cut(pyarrow.Table.from_batches(waiting), size, options)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pyarrow.Table.from_batches(waiting)


def _cut(table: pyarrow.Table, size: int, options: WriteOptions) -> Iterator[pyarrow.Table]:
    """A table of this size in memory, cut into row groups of at most the allowed rows and bytes."""
    step = max(1, min(options.group_rows, table.num_rows * options.group_bytes // max(1, size)))
    for start in range(0, table.num_rows, step):
        yield table.slice(start, step)


def _write_file(
    files: Files, path: str, form: _Form, first: pyarrow.Table, others: Iterator[pyarrow.Table]
) -> DataFileRef:
    """Write the first table, and as many others as it takes to fill the file."""
    tables = chain([first], others)
    with files.create(path) as file:
        if first.nbytes < TINY_BYTES:
            # Arrow calls a Python file some thirty times, however little there is: 0.2 ms more than one write.
            buffer = pyarrow.BufferOutputStream()
            metadata, nans = _write_parquet(buffer, form, first.schema, tables, _TINY)
            whole = buffer.getvalue()
            file.write(whole)
        else:
            whole = None
            metadata, nans = _write_parquet(file, form, first.schema, tables, _ALWAYS)
        size = file.tell()
    entry = data_file(metadata, form.schema, path=path, size=size, nan_counts=nans)
    footer = read_footer(files, path, size) if whole is None else footer_of(bytes(whole))
    entry.footer_checksum = footer.checksum
    if form.blooms:
        seal_blooms(entry, files.read)
    return entry


def _write_parquet(
    sink: Any, form: _Form, stored: pyarrow.Schema, tables: Iterable[pyarrow.Table], settings: dict[str, Any]
) -> tuple[FileMetaData, list[dict[int, int]]]:
    """Write tables until there are no more or the file is full; return the footer, and each table's NaNs by field id.

    Each table is a row group.
    """
    nans = []
    with ParquetWriter(sink, stored, bloom_filter_options=form.blooms or None, **settings, **form.pages) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=table.num_rows)
            nans.append(_nan_counts(table, form.schema))
            if sink.tell() >= form.options.file_bytes:
                break
    return writer.writer.metadata, nans


def _nan_counts(table: pyarrow.Table, schema: Schema) -> dict[int, int]:
    """How many values of each floating-point column are NaN, by field id: Parquet's footers don't say."""
    counts = {}
    for column, *inner in leaves(schema.fields):
        leaf = inner[-1] if inner else column
        if leaf.type in (FLOAT, DOUBLE):
            values = table.column(column.physical_name)
            if inner:
                values = pyarrow.compute.struct_field(values, [field.physical_name for field in inner])
            counts[leaf.id] = pyarrow.compute.sum(pyarrow.compute.is_nan(values), min_count=0).as_py()
    return counts
