"""A process with a Spark session of its own that changes a table, and is killed with all its children on the way.

Run by test_crashes.py: `python crash_driver.py FOLDER WORK WRITES FILES`. It dies before its next write when it made
so many; or, with rows that would take an hour, when Spark has begun so many data files; or not at all, if both are -1.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from test_crashes import EVENT, WORKS, each_write

from lakebed import connect
from lakebed.spark import session

CONF = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(folder: str, work: str, writes: int, files: int) -> None:
    spark = session(**CONF)
    with connect(folder, author="ada") as lake:
        done = 0

        def next_write() -> None:
            nonlocal done
            if done == writes:
                die()
            done += 1

        if files >= 0:
            threading.Thread(target=die_with, args=(Path(folder), files), daemon=True).start()
        with each_write(next_write):
            WORKS[work](spark, lake.catalog(), EVENT, *([endless(spark)] if files >= 0 else []))
    print(done)
    spark.stop()


def die() -> None:
    """As by kill -9: this process, the JVM and whatever else belongs to it."""
    os.killpg(0, signal.SIGKILL)
    time.sleep(60)


def die_with(folder: Path, files: int) -> None:
    before = len(data_files(folder))
    while len(data_files(folder)) - before < files:
        time.sleep(0.01)
    die()


def data_files(folder: Path) -> list[Path]:
    """Those that are written still too, wherever a job has them meanwhile."""
    return list(folder.glob("tables/*/data/**/*.parquet"))


def endless(spark: SparkSession) -> Any:
    """No row, in an hour."""
    return spark.range(0, 10**12, 1, 1).where("hash(id, id, id) = 7 and id > 999999999998")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
