"""Reading one data file: whole, by the table's columns, or `Corrupt`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow
from pyarrow.dataset import ParquetFileFormat
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile

from lakebed.arrow.filter import to_arrow, to_arrow_scan
from lakebed.arrow.shape import AS_STORED, misfits, shaped
from lakebed.arrow.types import arrow_schema, file_schema
from lakebed.catalog.data_files import check_whole
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.files.refusal import refused
from lakebed.table.filter import Filter, fields_of
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.schema import Schema
from lakebed.table.types import Field, leaves

BATCH_ROWS = 1 << 17
LARGE_BYTES = 1 << 20


def read(files: Files, file: DataFileRef, schema: Schema, filter: Filter | None) -> Iterator[pyarrow.RecordBatch]:
    """The file's rows that pass the filter, in their order, as batches of `arrow_schema(schema)`.

    The schema has the columns that the filter needs. `Corrupt` if the file is not the one that was written: its size is
    looked at before, its rows are counted and its pages' checksums are verified while it is read.
    """
    check_whole(files, [file])
    location = files.location(file.path)
    with _damage(file.path), ParquetFile(location, page_checksum_verification=True, pre_buffer=False) as parquet:
        # The footer has a total too, but a reader goes by the row groups.
        _check_rows(file, file.num_rows, sum(_rows(parquet, group) for group in range(parquet.num_row_groups)))
        _check_columns(file, parquet.schema_arrow, schema)
        for group in _groups(parquet, location, filter):
            if filter is None:
                yield from _batches(file, parquet, group, schema)
            else:
                yield from _passing(file, parquet, group, schema, filter)


def _passing(
    file: DataFileRef, parquet: ParquetFile, group: int, schema: Schema, filter: Filter
) -> Iterator[pyarrow.RecordBatch]:
    """A row group's rows that pass. The columns that the filter has no use for are read only if there is one.

    So one row in a million of 8 columns, in no order, is found in a third of the time.
    """
    tested = fields_of(filter)
    others = Schema([one for one in schema.fields if one not in tested])
    first = list(_batches(file, parquet, group, Schema(tested)))
    if any(_kept(batch, filter).num_rows for batch in first):
        for batch, rest in zip(first, _batches(file, parquet, group, others), strict=True):
            columns = {**_columns(batch), **_columns(rest)}
            ordered = [columns[one.name] for one in schema.fields]
            yield _kept(pyarrow.RecordBatch.from_arrays(ordered, schema=arrow_schema(schema)), filter)


def _columns(batch: pyarrow.RecordBatch) -> dict[str, pyarrow.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _batches(file: DataFileRef, parquet: ParquetFile, group: int, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    names = [one.physical_name for one in schema.fields]
    rows = 0
    # Threads cost a small file a third of its time.
    for batch in parquet.iter_batches(BATCH_ROWS, [group], names, use_threads=file.file_size >= LARGE_BYTES):
        rows += batch.num_rows
        yield _shown(batch, schema)
    _check_rows(file, _rows(parquet, group), rows)


def _rows(parquet: ParquetFile, group: int) -> int:
    return int(parquet.metadata.row_group(group).num_rows)


def _shown(batch: pyarrow.RecordBatch, schema: Schema) -> pyarrow.RecordBatch:
    if not schema.fields:
        return batch.select([])
    form = arrow_schema(schema)
    columns = shaped(batch.columns, batch.schema.names, schema.fields, form, AS_STORED, batch.num_rows)
    return pyarrow.RecordBatch.from_arrays(columns, schema=form)


def _kept(batch: pyarrow.RecordBatch, filter: Filter) -> pyarrow.RecordBatch:
    return batch.filter(to_arrow(filter, lambda field: field.name))


def _groups(parquet: ParquetFile, location: str, filter: Filter | None) -> list[int]:
    """The row groups that may have a row that passes, by their statistics."""
    every = list(range(parquet.num_row_groups))
    # The statistics of a file's only row group are the file's, which have been looked at.
    if filter is None or len(every) < 2 or not _comparable(parquet.schema_arrow, filter):
        return every
    fragment = ParquetFileFormat().make_fragment(location, LocalFileSystem())
    return [group.id for group in fragment.subset(to_arrow_scan(filter, lambda field: field.physical_name)).row_groups]


def _comparable(found: pyarrow.Schema, filter: Filter) -> bool:
    """Whether the filter's columns have the same types in the file, so that its bounds can be compared with values."""
    wanted = file_schema(Schema(fields_of(filter)))
    return all(one.name in found.names and found.field(one.name).type == one.type for one in wanted)


def _check_rows(file: DataFileRef, expected: int, found: int) -> None:
    if found != expected:
        raise _damaged(file.path, f"{expected} rows", f"{found} rows")


def _check_columns(file: DataFileRef, found: pyarrow.Schema, schema: Schema) -> None:
    # Columns that the schema does not have are none of its concern: they were dropped, or not asked for.
    unfit = [str(one) for one in misfits(found, schema.fields, AS_STORED) if one.expected is not None]
    # A footer has no checksum. Nulls for a column whose name was damaged would go unseen, but for its statistics.
    recorded = {one.field_id for one in file.statistics}
    lost = [path[0].name for path in leaves(schema.fields) if path[-1].id in recorded and not _holds(found, path)]
    if unfit or lost:
        raise _damaged(file.path, "the table's columns", "; ".join([*unfit, *(f"no column {one}" for one in lost)]))


def _holds(found: pyarrow.Schema | pyarrow.StructType, path: Sequence[Field]) -> bool:
    place = found.get_field_index(path[0].physical_name)
    return place >= 0 and (len(path) == 1 or _holds(found.field(place).type, path[1:]))


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Raise what Arrow can't read inside as what it means."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # the system's; without a number it is Arrow's
            raise refused(error, path) from error
        raise _damaged(path, "Parquet that can be read", str(error)) from error
    except (pyarrow.ArrowException, ValueError, Invalid) as error:  # a name that is no UTF-8 is a ValueError
        raise _damaged(path, "Parquet that can be read", str(error)) from error


def _damaged(path: str, expected: str, found: str) -> Corrupt:
    return Corrupt(
        "the data file is damaged",
        subject=path,
        expected=expected,
        found=found,
        advice="Restore it from a copy.",
    )
