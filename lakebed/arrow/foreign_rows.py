"""The rows of Parquet files that another writer wrote, in the columns of a table: for imports that copy."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow
from pyarrow.parquet import ParquetFile
from pyroaring import BitMap64, FrozenBitMap64

from lakebed.arrow.read.stored import BATCH_ROWS
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.table.filter.filter import Value
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

Values = Mapping[str, Value | None]


def rows_of_files(
    files: Files,
    paths: Sequence[str],
    schema: Schema,
    values: Mapping[str, Values],
    names: Mapping[str, str],
    deleted: Mapping[str, FrozenBitMap64],
) -> pyarrow.RecordBatchReader:
    """The rows of files, one file after another. Columns are found by name, without case.

    `values` are plain values of columns that a file does not have, by its path and the column's name, folded. `names`
    are what files call columns, by the same; `deleted` are positions of rows that are left out, by path.
    """
    form = arrow_schema(schema)
    batches = (
        _shaped(path, batch, schema, form, values.get(path, {}), names)
        for path in paths
        for batch in _without(deleted.get(path), _batches(files, path))
    )
    return pyarrow.RecordBatchReader.from_batches(form, batches)


def _without(deleted: FrozenBitMap64 | None, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    first = 0
    for batch in batches:
        rows = range(first, first + batch.num_rows)
        first = rows.stop
        kept = None if not deleted else BitMap64(rows) - deleted
        yield batch if kept is None else batch.take(pyarrow.array([row - rows.start for row in kept], pyarrow.int64()))


def _batches(files: Files, path: str) -> Iterator[pyarrow.RecordBatch]:
    try:
        # Spark's old timestamps have 96 bits, and are instants.
        with ParquetFile(
            files.location(path), page_checksum_verification=True, coerce_int96_timestamp_unit="us"
        ) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS):
                batch.validate(full=True)
                yield batch
    except (pyarrow.ArrowException, OSError) as error:
        raise Corrupt("the file can't be read", subject=path, found=str(error).splitlines()[0]) from error


def _shaped(
    path: str,
    batch: pyarrow.RecordBatch,
    schema: Schema,
    form: pyarrow.Schema,
    values: Values,
    names: Mapping[str, str],
) -> pyarrow.RecordBatch:
    places = {folded_column(name): place for place, name in enumerate(batch.schema.names)}
    columns = []
    for field, wanted in zip(schema.fields, form, strict=True):
        name = folded_column(field.name)
        found = folded_column(names.get(name, name))
        if found in places:
            columns.append(_cast(path, batch.column(places[found]), wanted))
        else:
            columns.append(_constant(field, wanted, values.get(name), batch.num_rows))
    return pyarrow.RecordBatch.from_arrays(columns, schema=form)


def _cast(path: str, column: pyarrow.Array, wanted: pyarrow.Field) -> pyarrow.Array:
    try:
        if pyarrow.types.is_timestamp(column.type) and pyarrow.types.is_timestamp(wanted.type):
            # A column of instants may be one of 96 bits, which have no zone in the file.
            column = column.cast(pyarrow.timestamp(wanted.type.unit, column.type.tz))
        return column if column.type == wanted.type else column.cast(wanted.type)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise Invalid(
            "values do not fit the table's column",
            subject=f"{path}: {wanted.name}",
            expected=str(wanted.type),
            found=str(error).splitlines()[0],
            advice="Give the table a wider type, or leave the column out: leave_out=[…].",
        ) from error


def _constant(field: Field, wanted: pyarrow.Field, value: Value | None, rows: int) -> pyarrow.Array:
    stored = field.initial_default if value is None else value
    if stored is None:
        return pyarrow.nulls(rows, wanted.type)
    return pyarrow.repeat(_scalar(stored, wanted.type), rows)


def _scalar(value: Value, type: pyarrow.DataType) -> pyarrow.Scalar:
    """A plain value, in which days and microseconds are numbers, as Arrow has it."""
    if isinstance(value, int) and (pyarrow.types.is_temporal(type)):
        number = pyarrow.int32() if type.bit_width == 32 else pyarrow.int64()
        return pyarrow.array([value], number).cast(type)[0]
    return pyarrow.scalar(value, type)
