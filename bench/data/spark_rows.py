"""A Spark session, and rows of six columns that are the same each time and cheap to make."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lakebed

FILES = 8

_COLUMNS = (
    "id",
    "cast(id % 1000 AS int) AS customer",
    "(xxhash64(id) % 10000000) / 7.0D AS price",
    "concat('comment ', hex(xxhash64(id) % 100000)) AS comment",
    "timestamp_micros(1600000000000000 + (xxhash64(id) % 10000000) * 1000000) AS at",
    "cast((xxhash64(id) % 100000000) / 100 AS decimal(12, 2)) AS total",
)


@contextmanager
def spark_session(**conf: Any) -> Iterator[SparkSession]:
    spark = lakebed.spark.session(
        **{
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **conf,
        }
    )
    try:
        yield spark
    finally:
        spark.stop()


def rows(spark: SparkSession, count: int) -> DataFrame:
    """Rows in as many partitions as files are to be written."""
    return rows_by_id(spark.range(0, count, 1, FILES))


def rows_by_id(ids: DataFrame) -> DataFrame:
    """The rows for the ids in the column `id`."""
    return ids.selectExpr(*_COLUMNS)


def write_plain(frame: DataFrame, folder: Path) -> None:
    """Write with plain Spark, with Lakebed's compression."""
    frame.write.option("compression", "zstd").parquet(str(folder))


def new_table(lake: lakebed.Lake, frame: DataFrame) -> lakebed.Table:
    lake.catalog().create_namespace("sales")
    return lake.catalog().create_table("sales.orders", frame.schema)
