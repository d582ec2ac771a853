"""Rows that Spark changes: taken away where they are, and written again with other values and the same ids."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid, Unavailable
from lakebed.spark.expressions import check_session, value_errors
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import ID, PLACE, POSITION, deletion, kept, placed_rows, taken
from lakebed.spark.rows.assignments import as_columns, assigned, own_columns
from lakebed.spark.rows.delete import planning
from lakebed.spark.rows.where import Where, passing
from lakebed.spark.types import file_schema
from lakebed.spark.write.rows import write_rows
from lakebed.table.expression.assignments import Values
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.schema.metadata_columns import ROW_ID

EVERY_ROW = Where(ALWAYS)


def update_rows(target: Target, source: Source, values: Values, where: Where = EVERY_ROW) -> RowChange:
    """Change the rows that pass. They are read once, and kept by the executors until they are written."""
    if not values:
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found="none")
    table, schema = target.name, target.schema
    check_session(source.spark)
    file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    filter = planning(where)
    files = [one.file for one in target.plan(filter).files]
    rows = passing(placed_rows(source, schema, files, filter, schema.names), where, table)
    new = as_columns(schema, assigned(values, schema, rows, table), own_columns(schema))
    with value_errors(table), kept(rows.select(*new, F.col(ID).alias(ROW_ID.name), PLACE, POSITION)) as changed:
        gone = deletion(changed, files, sum(one.num_rows for one in files)) if files else Deletion()
        if not gone.some:
            return RowChange()
        return rewritten_rows(target, changed.drop(F.col(PLACE), F.col(POSITION)), gone, taken(gone))


def rewritten_rows(target: Target, rows: DataFrame, gone: Deletion, count: int | None) -> RowChange:
    """Write rows with their ids to replace others; if their number is known, exactly so many have to be written."""
    written = write_rows(target.with_columns(ROW_ID), rows)
    _check_count(target, written, count)
    return rows_replaced(target, written, gone)


def _check_count(target: Target, written: Written, count: int | None) -> None:
    found = sum(one.num_rows for one in written.files)
    if count is not None and found != count:
        RowChange(written=written).discard(target.files)
        raise Unavailable(
            "Spark wrote another number of rows than it had found",
            subject=target.name,
            expected=count,
            found=found,
            advice="Nothing was changed. The rows may have been lost with an executor, and read anew: run it again.",
        )
