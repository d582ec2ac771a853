"""A caller's rows, brought to the form of a table's files, or refused with every reason."""

import sys
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, TypeGuard, cast

import pyarrow

from lakebed.arrow.casting import with_whole_numbers
from lakebed.arrow.python_rows import PythonRows, check_nested_values, is_python_rows, table_of
from lakebed.arrow.shape import AS_GIVEN, Misfit, misfits, shaped
from lakebed.arrow.types import file_schema
from lakebed.arrow.validation import ValidRows, unreadable_rows, validated
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

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
    return validated(reader)


def _given_reader(data: object, schema: Schema) -> pyarrow.RecordBatchReader:
    if isinstance(data, pyarrow.RecordBatchReader):
        return data
    if isinstance(data, pyarrow.Table):
        return data.to_reader(BATCH_ROWS)
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.RecordBatchReader.from_batches(data.schema, [data])
    if _is_of("pandas", "DataFrame", data):
        return _pandas_table(data).to_reader(BATCH_ROWS)
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
    reader = with_whole_numbers(reader_of(data, schema), schema)
    unfit = list(misfits(reader.schema, schema.fields, AS_GIVEN))
    if unfit:
        raise _refused(unfit, schema)
    return _fitted(reader, schema)


def _fitted(reader: pyarrow.RecordBatchReader, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    names, form = reader.schema.names, file_schema(schema)
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


def _pandas_table(data: Any) -> pyarrow.Table:
    for name, kind in data.dtypes.items():
        if kind == "object" and data.columns.is_unique:
            check_nested_values(f"{name}", data[name])
    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        if not data.columns.is_unique:
            twice = sorted({f"{name}" for name in data.columns[data.columns.duplicated()]})
            raise Invalid(
                "columns of the DataFrame have the same name", subject=", ".join(twice), advice="Rename all but one."
            ) from error
        raise Invalid(
            "a column of the DataFrame has values of different types",
            expected="columns that Arrow can hold",
            found=str(error),
            advice="Convert it with astype, or build a pyarrow table.",
        ) from error


def _declared(field: Field) -> str:
    return f"{field.name} {field.type}{' not null' if field.required else ''}"


def _refused(unfit: list[Misfit], schema: Schema) -> Invalid:
    return Invalid(
        "the rows do not fit the table's columns",
        subject=unfit[0].path if len(unfit) == 1 else "",
        expected=", ".join(map(_declared, schema.fields)),
        found="; ".join(map(str, unfit)),
        advice=_what_helps(unfit),
    )


def _what_helps(unfit: list[Misfit]) -> str:
    """What helps with these columns, and no more: not every call can cast, or add columns."""
    advice = ["Cast, rename or drop these columns first."]
    if any(one.expected and one.found for one in unfit):
        advice.append("append, overwrite and upsert cast simple types with cast=True.")
    if not all(one.expected for one in unfit):
        advice.append('append and overwrite add new columns with evolve="add".')
    return " ".join(advice)
