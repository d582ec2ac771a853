"""Reads exported tables with Iceberg's own Spark runtime; run by test_export_spark.py in an environment of its own.

Arguments: the runtime's Maven coordinates, a folder for what is downloaded, and a JSON file with
`[{"metadata": …, "columns": […], "where": … or null, "result": folder}, …]`. Rows go to Parquet.
"""

import json
import sys

from pyspark.sql import SparkSession

STARTED = "iceberg reader started"


def main(runtime: str, downloads: str, jobs: str) -> None:
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.jars.ivy": downloads,
        "spark.jars.packages": runtime,
        "spark.log.level": "ERROR",
        "spark.master": "local[2]",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.config(map=settings).getOrCreate()
    print(STARTED, flush=True)
    with open(jobs, encoding="utf-8") as file:
        for job in json.load(file):
            rows = session.read.format("iceberg").load(job["metadata"])
            kept = rows if job["where"] is None else rows.where(job["where"])
            kept.select(*(f"`{one}`" for one in job["columns"])).coalesce(1).write.parquet(job["result"])
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
