"""Loads what needs PySpark when an SQL step is first run: a pipeline is made, drawn and planned without."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sql_by_spark_alone(spark: "SparkSession", text: str, frames: "Mapping[str, DataFrame]") -> "DataFrame":
    """A query over DataFrames by Spark itself, also on a session that is attached to a lake."""
    from lakebed.spark.attachment.attachments import spark_alone

    named: dict[str, Any] = dict(frames)
    with spark_alone():
        return spark.sql(text, **named)
