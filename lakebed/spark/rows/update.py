"""Updating rows by Spark: deleted where they are, and written again with new values and the same ids."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid, Unavailable
from lakebed.spark.expressions import check_session, value_errors
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import FILE_ORDINAL, ID, POSITION, deletion, persisted, placed_rows, position_count
from lakebed.spark.rows.assignments import as_columns, assigned_values, own_columns
from lakebed.spark.rows.delete import planning_filter
from lakebed.spark.rows.where import OUTER, Where, passing_rows
from lakebed.spark.types import file_schema
from lakebed.spark.write.rows import write_rows
from lakebed.table.expression.assignments import Values
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.schema.metadata_columns import ROW_ID

EVERY_ROW = Where(ALWAYS)


def update_rows(target: Target, source: Source, values: Values, where: Where = EVERY_ROW) -> RowChange:
    """Update the rows that pass. They are read once; the executors keep them until they are written."""
    if not values:
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found="none")
    table, schema = target.name, target.schema
    check_session(source.spark)
    file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    filter = planning_filter(where)
    files = [planned.file for planned in target.plan(filter).files]
    placed = placed_rows(source, schema, files, filter, schema.names, metadata=where.metadata_names)
    rows = passing_rows(placed.alias(OUTER), where, table)
    new = as_columns(schema, assigned_values(values, schema, rows, table), own_columns(schema))
    with (
        value_errors(table),
        persisted(rows.select(*new, F.col(ID).alias(ROW_ID.name), FILE_ORDINAL, POSITION)) as changed,
    ):
        deleted = deletion(changed, files, sum(file.num_rows for file in files)) if files else Deletion()
        if not deleted.some:
            return RowChange()
        replacements = changed.drop(F.col(FILE_ORDINAL), F.col(POSITION))
        return write_replacements(target, replacements, deleted, position_count(deleted))


def write_replacements(target: Target, rows: DataFrame, deleted: Deletion, count: int | None) -> RowChange:
    """Write rows with their ids to replace deleted ones; if `count` is given, exactly that many must be written."""
    written = write_rows(target.with_columns(ROW_ID), rows)
    _check_count(target, written, count)
    return rows_replaced(target, written, deleted)


def _check_count(target: Target, written: Written, count: int | None) -> None:
    found = sum(file.num_rows for file in written.files)
    if count is not None and found != count:
        RowChange(written=written).discard(target.files)
        raise Unavailable(
            "Spark did not write as many rows as it had found",
            subject=target.name,
            expected=count,
            found=found,
            advice="Nothing was changed. An executor may have been lost with its rows. Run it again.",
        )
