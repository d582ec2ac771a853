"""Columns of Spark's as text: a condition as SQL, a transform as a partition field."""

import re
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.column import Column

from lakebed.errors import Invalid
from lakebed.spark.session import is_remote
from lakebed.spark.sql.tokens import quoted
from lakebed.spark.types import result_schema
from lakebed.table.schema.schema import Schema

_SHOWN = re.compile(r"Column<['b](.*)'>", re.DOTALL)


def condition_sql(spark: SparkSession, condition: Column | str, schema: Schema) -> str:
    """A condition on a table's columns as SQL, as Spark writes it once it has found them."""
    if isinstance(condition, str):
        return condition
    if is_remote(spark):
        raise Invalid(
            "a condition has to be text over Spark Connect",
            found=str(condition),
            advice="Write it as SQL, such as \"day = '2026-01-01'\".",
        )
    rows: Any = spark.createDataFrame([], result_schema(schema)).where(condition)
    return str(rows._jdf.queryExecution().analyzed().condition().sql())


def transform_term(column: Column | str) -> str:
    """A partition field: `days(at)` of `partitioning.days("at")`, or a column."""
    if isinstance(column, str):
        return quoted(column)
    shown = _SHOWN.fullmatch(str(column))
    return str(column) if shown is None else shown[1]
