"""A process with a Spark session of its own that loads a table, at the same time as another one does.

Run by test_two_drivers.py: `python loading_driver.py FOLDER NUMBER`, for the numbers 0 and 1.
"""

import sys
import time
from pathlib import Path

from crash_driver import CONF
from pyspark.sql import DataFrame, SparkSession
from test_two_drivers import DRIVERS, PATIENCE, ROUNDS, appended, upserted, value

from lakebed import Conflict, Table, connect, event_id
from lakebed.spark import session


def main(folder: str, number: int) -> None:
    spark = session(**CONF | {"spark.master": "local[1]"})
    with connect(folder, author=f"driver {number}") as lake:
        table = lake.catalog().table("t")
        wait_for_others(Path(folder), number)
        for turn in range(ROUNDS):
            table.append(rows(spark, appended(number, turn), value(number, turn)))
            lost = upsert(table, rows(spark, upserted(number), value(number, turn)), event_id(number, turn))
            print(f"driver {number}, turn {turn}: lost {lost} times")
    spark.stop()


def wait_for_others(folder: Path, number: int) -> None:
    """Until all have their sessions: they take longer to start than to load."""
    (folder.parent / f"ready {number}").touch()
    deadline = time.monotonic() + PATIENCE
    while not all((folder.parent / f"ready {one}").exists() for one in DRIVERS):
        if time.monotonic() > deadline:
            raise TimeoutError("the other driver does not come")
        time.sleep(0.05)


def rows(spark: SparkSession, ids: range, value: int) -> DataFrame:
    return spark.range(ids.start, ids.stop, 1, 2).selectExpr("id", f"cast({value} as long) as value")


def upsert(table: Table, frame: DataFrame, event: str) -> int:
    """As a pipeline does it: again until it is there; how often it had to be."""
    lost = 0
    while True:
        try:
            table.upsert(frame, event_id=event)
            return lost
        except Conflict:
            lost += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
