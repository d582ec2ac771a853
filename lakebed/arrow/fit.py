"""A caller's rows, brought to the form of a table's files, or refused with every reason."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeGuard, cast

import pyarrow

from lakebed.arrow.casting import a_cast_helps, cast_rows, with_whole_numbers
from lakebed.arrow.pandas_rows import pandas_table
from lakebed.arrow.python_rows import PythonRows, is_python_rows, table_of
from lakebed.arrow.shape import AS_GIVEN, Misfit, misfits, shaped
from lakebed.arrow.types import arrow_schema, check_names, file_schema
from lakebed.arrow.validation import ValidRows, unreadable_rows, validated
from lakebed.errors import Invalid
from lakebed.table.expression.types import FLOATING
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, Field

BATCH_ROWS = 1 << 17
NO_COLUMNS = Schema([])


def reader_of(data: object, schema: Schema = NO_COLUMNS) -> pyarrow.RecordBatchReader:
    """The rows that somebody gives, in any of the forms that `Table.append` lists; of pandas, without its index.

    Plain Python values get the types of the schema's columns, others keep theirs. Each batch is validated in full as it
    is read.
    """
    if isinstance(data, ValidRows):
        return data.reader
    with unreadable_rows():
        reader = _given_reader(data, schema)
    check_names(reader.schema)
    return validated(reader)


def _given_reader(data: object, schema: Schema) -> pyarrow.RecordBatchReader:
    if isinstance(data, pyarrow.RecordBatchReader):
        return data
    if isinstance(data, pyarrow.Table):
        check_names(data.schema)
        return _without_empty_floats(data, schema).to_reader(BATCH_ROWS)
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.RecordBatchReader.from_batches(data.schema, [data])
    if _is_of("pandas", "DataFrame", data):
        return _without_empty_floats(pandas_table(data, schema), schema).to_reader(BATCH_ROWS)
    if _are_batches(data):
        return pyarrow.Table.from_batches(data).to_reader(BATCH_ROWS)
    if is_python_rows(data):
        return table_of(data, schema).to_reader(BATCH_ROWS)
    if hasattr(data, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(data)
    if _is_of("pyarrow.dataset", "Dataset", data):
        return cast(Any, data).scanner().to_reader()
    if _is_of("pyarrow.dataset", "Scanner", data):
        return cast(Any, data).to_reader()
    if _is_of("polars", "LazyFrame", data):
        return pyarrow.RecordBatchReader.from_stream(cast(Any, data).collect())
    raise Invalid(
        "these are not rows",
        expected="an Arrow table, reader or dataset, a frame of pandas or polars, a list of dicts, a dict of lists, or "
        "anything with __arrow_c_stream__",
        found=type(data).__name__,
        advice=_advice(data),
    )


def kept_rows(data: object) -> "pyarrow.Table | PythonRows":
    """A caller's rows, all in memory, so that they can be read more than once."""
    return data if is_python_rows(data) and not _are_batches(data) else reader_of(data).read_all()


def fit(data: object, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The rows as batches of `file_schema(schema)`: columns are matched by name, in any order and case.

    Types are cast if nothing is lost, and floats that are whole to whole numbers. Missing columns get their default, or
    null if that is allowed. Types that can't fit are refused now, all in one `Invalid`; values that can't fit are
    refused when their batch is reached.
    """
    return _fitted(_fitting(data, schema), schema, file_schema(schema))


def fit_named(data: object, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The same as batches of `arrow_schema(schema)`: under the table's names, not those that columns have in files."""
    return _fitted(_fitting(data, schema), schema, arrow_schema(schema))


def typed_rows(schema: Schema, rows: Sequence[Mapping[str, object]]) -> pyarrow.Table:
    """Rows with all columns of a table, as `arrow_schema`; `Invalid` for a value that no cast brings to its column.

    Moments that Python has no value for are texts, as in the rows that a conflict shows.
    """
    given = reader_of(rows, schema)
    return pyarrow.Table.from_batches(fit_named(cast_rows(given, schema), schema), arrow_schema(schema))


def _fitting(data: object, schema: Schema) -> pyarrow.RecordBatchReader:
    reader = with_whole_numbers(reader_of(data, schema), schema)
    unfit = list(misfits(reader.schema, schema.fields, AS_GIVEN))
    if unfit:
        raise _refused(unfit, schema, reader.schema)
    return reader


def _fitted(reader: pyarrow.RecordBatchReader, schema: Schema, form: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    names = reader.schema.names
    for given in reader:
        for start in range(0, given.num_rows, BATCH_ROWS):
            batch = given.slice(start, BATCH_ROWS)
            columns = shaped(batch.columns, names, schema.fields, form, AS_GIVEN, batch.num_rows)
            yield pyarrow.RecordBatch.from_arrays(columns, schema=form)


def _is_of(module: str, name: str, data: object) -> bool:
    # A caller that never imported the module has none of its values, and importing pandas would take a second.
    # While another thread imports it, as pyarrow may do, the module has no such class yet, and nobody a value of it.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(data, kind)


def _are_batches(data: object) -> TypeGuard[Sequence[pyarrow.RecordBatch]]:
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, pyarrow.RecordBatch) for one in data)


def _advice(data: object) -> str:
    if isinstance(data, str | PathLike):
        return "For Parquet files: add_files([path]), or append(pyarrow.dataset.dataset(path))."
    if isinstance(data, Iterator):
        return "For rows that come one by one: append(list(rows))."
    return ""


def _without_empty_floats(rows: pyarrow.Table, schema: Schema) -> pyarrow.Table:
    """The rows; floats that are all null, as pandas has a column without values, are nulls of any type."""
    wanted = {folded_column(field.name): field.type for field in schema.fields}
    for place, column in enumerate(rows.schema):
        others = wanted.get(folded_column(column.name), DOUBLE) not in FLOATING
        if others and pyarrow.types.is_floating(column.type) and rows[place].null_count == rows.num_rows:
            rows = rows.set_column(place, column.name, pyarrow.nulls(rows.num_rows))
    return rows


def _declared(field: Field) -> str:
    return f"{field.name} {field.type}{' not null' if field.required else ''}"


def _refused(unfit: list[Misfit], schema: Schema, given: pyarrow.Schema) -> Invalid:
    return Invalid(
        "the rows do not fit the table's columns",
        subject=unfit[0].path if len(unfit) == 1 else "",
        expected=", ".join(map(_declared, schema.fields)),
        found="; ".join(map(str, unfit)),
        advice=_what_helps(unfit, a_cast_helps(given, schema)),
    )


def _what_helps(unfit: list[Misfit], a_cast_would: bool) -> str:
    """What helps with these columns, and no more: not every call can cast, or add columns, and not all types cast."""
    advice = ["Cast, rename or drop these columns first."]
    if a_cast_would:
        advice.append("append, overwrite and upsert cast simple types with cast=True.")
    if not all(one.expected for one in unfit):
        advice.append('append and overwrite add new columns with evolve="add".')
    return " ".join(advice)
