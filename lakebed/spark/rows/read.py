"""Rows that pass any condition of Spark's SQL, as a DataFrame."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.spark.fit import quoted
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.spark.rows.delete import planning_filter
from lakebed.spark.rows.where import Where, passing_rows
from lakebed.spark.types import readable_schema
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import selected_columns
from lakebed.table.schema.schema import Schema


def read_rows(
    table: str,
    source: Source,
    schema: Schema,
    files: Sequence[DataFileRef],
    where: Where | None,
    columns: Sequence[str] | None,
) -> DataFrame:
    """The rows of planned files that pass, in the columns asked for, or all; lazy, except for inline rows."""
    filter = None if where is None else planning_filter(where)
    asked = None if columns is None else list(selected_columns(schema, columns).names)
    needed = None
    if where is not None and where.rest:
        wanted = [*(asked or schema.names), *readable_schema(schema).names, *where.metadata_names]
        needed = list(dict.fromkeys(wanted))
    rows = read(
        source.spark,
        source.files,
        schema,
        files,
        filter=filter,
        columns=asked if needed is None else needed,
        inline_rows=source.inline_rows,
    )
    if where is None or needed is None:
        return rows
    names = schema.names if asked is None else asked
    return passing_rows(rows, where, table).select(*(F.col(quoted(name)) for name in names))
