"""Times that are calculated."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from lakebed.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(spark: "SparkSession", expression: str) -> datetime:
    """The instant that an expression gives now, by Spark's rules and in the session's zone."""
    try:
        (row,) = spark.sql(f"SELECT unix_micros(CAST({expression} AS TIMESTAMP))").collect()
    except PySparkException as error:
        raise Invalid("this is no time", subject=expression[:80], expected="an expression of constants") from error
    if row[0] is None:
        raise Invalid("this is no time", subject=expression[:80], found="null")
    return _EPOCH + timedelta(microseconds=row[0])
