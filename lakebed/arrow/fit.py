"""Rows that somebody gives, brought to the form that a table's files have, or refused with every reason."""

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow

from lakebed.arrow.shape import AS_GIVEN, Misfit, misfits, shaped
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema

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
    """Rows that somebody gives, all in memory, so that they can be looked at more than once."""
    return reader_of(data).read_all()


def fit(data: object, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The rows as batches of `file_schema(schema)`: columns are found by name, in any order and case.

    Types that lose nothing are cast. Columns that lack have their default, or are null if that is allowed. What can't
    fit by its type is refused here, all of it in one `Invalid`; what can't by its values, when its batch is reached.
    """
    reader = reader_of(data)
    unfit = list(misfits(reader.schema, schema.fields, AS_GIVEN))
    if unfit:
        raise _refused(unfit, schema)
    return _fitted(reader, schema)


def _fitted(reader: pyarrow.RecordBatchReader, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    names, form = reader.schema.names, file_schema(schema)
    for whole in reader:
        for start in range(0, whole.num_rows, BATCH_ROWS):
            batch = whole.slice(start, BATCH_ROWS)
            columns = shaped(batch.columns, names, schema.fields, form, AS_GIVEN, batch.num_rows)
            yield pyarrow.RecordBatch.from_arrays(columns, schema=form)


def _is_pandas(data: object) -> bool:
    # Who never imported pandas has no DataFrame of it, and importing it would take a second.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _pandas_table(data: Any) -> pyarrow.Table:
    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise Invalid(
            "a column of the DataFrame has values of no one type",
            expected="columns that Arrow can hold",
            found=str(error),
            advice="Convert it with astype, or build a pyarrow table.",
        ) from error


def _refused(unfit: list[Misfit], schema: Schema) -> Invalid:
    return Invalid(
        "the rows do not fit the table's columns",
        subject=unfit[0].path if len(unfit) == 1 else "",
        expected=", ".join(f"{one.name} {one.type}{' not null' if one.required else ''}" for one in schema.fields),
        found="; ".join(map(str, unfit)),
        advice="Cast, rename or drop these columns first.",
    )
