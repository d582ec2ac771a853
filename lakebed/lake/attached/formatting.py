"""What is given by name to a statement: `spark.sql("SELECT {price} FROM {orders}", price=…, orders=df)`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from lakebed.errors import Invalid
from lakebed.spark.session import is_remote


@contextmanager
def formatted(spark: SparkSession, text: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The text with what was given, by Spark's own rules; DataFrames are temporary views while it lasts."""
    if not given:
        yield text
        return
    frames = [name for name, value in given.items() if isinstance(value, DataFrame)]
    if frames and is_remote(spark):  # its views are looked up when rows are asked for, and would be gone
        raise Invalid(
            "a statement about the lake can't be given a DataFrame over Spark Connect",
            subject=", ".join(frames),
            advice="Create a temporary view of it, and name that.",
        )
    formatter = SQLStringFormatter(spark)
    try:
        yield formatter.format(text, **given)
    finally:
        formatter.clear()
