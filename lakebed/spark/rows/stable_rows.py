"""Rows that somebody gives to a change, made so that they are the same however often they are looked at."""

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.fit import check_rows, quoted
from lakebed.spark.rows.placed_rows import bare, check_unreserved
from lakebed.spark.types import schema_of
from lakebed.table.schema.metadata_columns import OWN_PREFIX
from lakebed.table.schema.schema import Schema

NUMBER: Final = quoted(f"{OWN_PREFIX}source")
"""The column of a row's number: one of its own for each, by a name that no column of a table has."""

BROADCAST_BYTES: Final = 64 << 20
"""Sources up to this size are sent to every executor; larger ones are joined as Spark sees fit."""


def stable_rows(data: Any) -> DataFrame:
    """The rows, calculated once and numbered. A source that would have other rows the second time has them once.

    The executors hold them; if one is lost with its part the job fails, and changes nothing.
    """
    given = check_rows(data)
    check_unreserved(given.columns)
    numbered = given.select("*", F.monotonically_increasing_id().alias(bare(NUMBER)))
    return numbered.localCheckpoint(eager=True)


def known_schema(rows: DataFrame) -> Schema:
    """The columns of numbered rows that a table could have; `Invalid` if two have one name."""
    fields = [one for one in rows.schema.fields if one.name != bare(NUMBER) and _is_known(one)]
    return schema_of(spark.StructType(fields))


def _is_known(field: spark.StructField) -> bool:
    try:
        schema_of(spark.StructType([field]))
    except Invalid:
        return False
    return True


def width(rows: DataFrame) -> Column:
    """About how many bytes a row has in memory: 16 for each value, and its text."""
    fields = rows.schema.fields
    # One text of all: to add up the lengths of hundreds of columns is too deep for Spark's optimizer, and ends Java.
    texts = [F.col(quoted(one.name)).cast("string") for one in fields if isinstance(one.dataType, _LONG)]
    return F.octet_length(F.concat_ws("", *texts)).cast("bigint") + 16 * (len(fields) + 1)


_LONG = (spark.StringType, spark.BinaryType, spark.StructType, spark.ArrayType, spark.MapType)


def sent(rows: DataFrame, size: int) -> DataFrame:
    """The rows of this many bytes, with a hint to send them to every executor if they are few.

    What Spark believes of the size of rows that were calculated before is often far from it.
    """
    return F.broadcast(rows) if size <= BROADCAST_BYTES else rows
