"""Loads what needs PySpark when an SQL step is first run: a pipeline is made, drawn and planned without."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sql_by_spark_alone(spark: "SparkSession", text: str) -> "DataFrame":
    """A query by Spark itself, also on a session that is attached to a lake."""
    from lakebed.spark.attachment.attachments import spark_alone

    with spark_alone():
        return spark.sql(text)
