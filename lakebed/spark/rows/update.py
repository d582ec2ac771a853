"""Rows that Spark changes: taken away where they are, and written again with other values and the same ids."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, replaced, with_columns
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, Unavailable
from lakebed.spark.expressions import check_session, values_told
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import ID, PLACE, POSITION, deletion, kept, placed_rows, taken
from lakebed.spark.rows.assignments import as_columns, assigned, own_columns
from lakebed.spark.rows.delete import planning, table_name
from lakebed.spark.rows.where import Where, passing
from lakebed.spark.types import file_schema
from lakebed.spark.write.rows import write_rows
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.schema.metadata_columns import ROW_ID

EVERY_ROW = Where(ALWAYS)


def update_rows(
    work: Work, state: TableState, source: Source, values: Mapping[str, Any], where: Where = EVERY_ROW
) -> RowChange:
    """Change the rows that pass. They are read once, and kept by the executors until they are written."""
    if not values:
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found="none")
    table = table_name(work, state)
    check_session(source.spark)
    file_schema(state.schema)  # refuses columns that Spark can't write, before it reads any
    filter = planning(where)
    files = [one.file for one in plan(work, state, filter).files]
    rows = passing(placed_rows(source, state.schema, files, filter, state.schema.names), where, table)
    new = as_columns(state.schema, assigned(values, state.schema, rows, table), own_columns(state.schema))
    with values_told(table), kept(rows.select(*new, F.col(ID).alias(ROW_ID.name), PLACE, POSITION)) as changed:
        gone = deletion(changed, files, sum(one.num_rows for one in files)) if files else Deletion()
        if not gone.some:
            return RowChange()
        return rows_replaced(work, state, changed.drop(F.col(PLACE), F.col(POSITION)), gone, taken(gone))


def rows_replaced(work: Work, state: TableState, rows: DataFrame, gone: Deletion, count: int | None) -> RowChange:
    """Write rows with their ids in the place of others; if their number is known it has to be the one written."""
    written = write_rows(work, with_columns(state, ROW_ID), rows)
    _check_count(work, state, written, count)
    return replaced(work, state, written, gone)


def _check_count(work: Work, state: TableState, written: Written, count: int | None) -> None:
    found = sum(one.num_rows for one in written.files)
    if count is not None and found != count:
        RowChange(written=written).discard(work.context.files)
        raise Unavailable(
            "Spark wrote another number of rows than it had found",
            subject=table_name(work, state),
            expected=count,
            found=found,
            advice="Nothing was changed. The rows may have been lost with an executor, and read anew: run it again.",
        )
