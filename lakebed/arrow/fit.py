"""A caller's rows, brought to the form of a table's files, or refused with every reason."""

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow

from lakebed.arrow.shape import AS_GIVEN, Misfit, misfits, shaped
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

BATCH_ROWS = 1 << 17


def reader_of(data: object) -> pyarrow.RecordBatchReader:
    """The rows of an Arrow table, batch or reader, of a pandas DataFrame without its index, or of an Arrow stream."""
    if isinstance(data, pyarrow.RecordBatchReader):
        return data
    if isinstance(data, pyarrow.Table):
        return data.to_reader(BATCH_ROWS)
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.RecordBatchReader.from_batches(data.schema, [data])
    if _is_pandas(data):
        return _pandas_table(data).to_reader(BATCH_ROWS)
    if hasattr(data, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(data)
    raise Invalid(
        "these are not rows",
        expected="an Arrow table or reader, a pandas DataFrame, or anything with __arrow_c_stream__",
        found=type(data).__name__,
        advice="For a list of dicts: pyarrow.Table.from_pylist(rows).",
    )


def materialized(data: object) -> pyarrow.Table:
    """A caller's rows, all in memory, so that they can be read more than once."""
    return reader_of(data).read_all()


def fit(data: object, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The rows as batches of `file_schema(schema)`: columns are matched by name, in any order and case.

    Types are cast if nothing is lost. Missing columns get their default, or null if that is allowed. Types that can't
    fit are refused now, all in one `Invalid`; values that can't fit are refused when their batch is reached.
    """
    reader = reader_of(data)
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


def _is_pandas(data: object) -> bool:
    # A caller that never imported pandas has no DataFrame, and importing pandas would take a second.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _pandas_table(data: Any) -> pyarrow.Table:
    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
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
        advice='Cast, rename or drop these columns first; evolve="add" adds new ones to the table.',
    )
