"""Rows that are in memory as plain values, as an Arrow table."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow

from lakebed.arrow.expression.filter import to_arrow
from lakebed.arrow.types import arrow_schema
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.schema import Schema


def table_of_rows(
    schema: Schema,
    rows: Iterable[Sequence[Any]],
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
) -> pyarrow.Table:
    """The rows that pass the filter, with the columns asked for; each row has a plain value for each column."""
    shown = schema if columns is None else schema.select(columns)
    form = arrow_schema(schema)
    held = list(rows)
    made = [pyarrow.array([row[place] for row in held], one.type) for place, one in enumerate(form)]
    table = pyarrow.Table.from_arrays(made, schema=form)
    if filter is not None:
        table = table.filter(to_arrow(filter, lambda field: field.name))
    return table.select([one.name for one in shown.fields])
