"""A process that changes a table by executors on a cluster; it prints a line when a change begins and when it is over.

Run by test_cluster.py: `python cluster_driver.py FOLDER MASTER WORK…`.
"""

import sys

from pyspark.sql import DataFrame, SparkSession

from lakebed import LakebedError, Table, connect
from lakebed.spark import session
from tests.support.cluster import SETTINGS


def main(folder: str, master: str, works: list[str]) -> None:
    spark = session(**SETTINGS, **{"spark.master": master})
    with connect(folder) as lake:
        table = lake.catalog().table("sales.orders")
        spark.range(0, 4, 1, 4).count()  # both executors are there
        for work in works:
            tell(f"begins {work}")
            try:
                change(spark, table, work)
            except LakebedError as error:
                tell(f"failed {work}: {error}")
                change(spark, table, work)
            tell(f"is over {work}")
        rows = slow(spark, 0, 1)
        spark.stop()
        try:
            table.append(rows)
        except LakebedError as error:
            tell(f"stopped: {error}")


def change(spark: SparkSession, table: Table, work: str) -> None:
    if work == "append":
        table.append(slow(spark, 100, 112))
    elif work == "upsert":
        table.upsert(slow(spark, 106, 118).selectExpr("id", "place", "100 + value as value"))
    else:
        table.compact(spark)


def slow(spark: SparkSession, first: int, end: int) -> DataFrame:
    """A row in each task, which takes its time."""
    value = "aggregate(sequence(1, 300000), 0L, (sum, one) -> (sum + hash(one + id)) % 7) * 0 + id"
    return spark.range(first, end, 1, end - first).selectExpr("id", "id % 4 as place", f"{value} as value")


def tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
