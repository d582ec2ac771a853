"""A session with the runtimes of all peers, which the first start downloads from Maven."""

from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import SparkSession

from bench.data.spark_rows import spark_session
from bench.spark_peers.environment import DOWNLOADS, RUNTIMES


def peers_session(folder: Path) -> AbstractContextManager[SparkSession]:
    """A session set up for Lakebed, which helps plain Parquet too, with zstd for all and one more setting for Delta."""
    extensions = (
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "io.delta.sql.DeltaSparkSessionExtension",
    )
    return spark_session(
        **{
            # Delta reads its log in 50 tasks, whatever its size: on two cores, seconds for a commit of ten rows.
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.jars.ivy": str(DOWNLOADS),
            "spark.jars.packages": ",".join(RUNTIMES),
            "spark.master": "local[2]",
            "spark.sql.catalog.iceberg": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.iceberg.type": "hadoop",
            "spark.sql.catalog.iceberg.warehouse": str(folder / "iceberg"),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.extensions": ",".join(extensions),
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    )
