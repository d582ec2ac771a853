"""Rows of plain Python values as an Arrow table."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow

from lakebed.arrow.expression.evaluate import passing_rows
from lakebed.arrow.types import arrow_schema
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.schema import Schema


def table_of_rows(
    schema: Schema,
    rows: Iterable[Sequence[Any]],
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
) -> pyarrow.Table:
    """The rows that pass the filter, with the columns asked for; each row has a value for each column of the schema."""
    shown = schema if columns is None else schema.select(columns)
    form = arrow_schema(schema)
    all_rows = list(rows)
    arrays = [pyarrow.array([row[place] for row in all_rows], field.type) for place, field in enumerate(form)]
    batch = pyarrow.RecordBatch.from_arrays(arrays, schema=form)
    if filter is not None:
        batch = passing_rows(filter, batch)
    return pyarrow.Table.from_batches([batch]).select([field.name for field in shown.fields])
