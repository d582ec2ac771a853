"""A process that runs a pipeline by executors on a cluster, and prints what happens. After a step it waits for a line.

Run by test_cluster.py: `python cluster_driver.py FOLDER MASTER [resume]`.
"""

import sys
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed import connect
from lakebed import pipelines as lp
from lakebed.spark import session
from tests.support.cluster import SETTINGS

shop = lp.Pipeline("shop", namespace="sales")


@shop.table(write="append", expect=[lp.expect("id <> 3", or_="quarantine")])
def orders(new: DataFrame = lp.appended("raw.orders")) -> DataFrame:
    """A task for each few rows, which takes its time."""
    slow = F.expr("aggregate(sequence(1, 300000), 0L, (sum, one) -> (sum + hash(one + id)) % 7) * 0 + value")
    return new.repartition(6, "id").withColumn("value", slow)


@shop.table
def sums(orders: DataFrame) -> DataFrame:
    return orders.groupBy("place").agg(F.sum("value").alias("total"), F.count("*").alias("n"))


@shop.table(write="upsert", primary_key=["place"])
def best(sums: DataFrame) -> DataFrame:
    return sums.where("total > 50").select("place", "total")


shop.check(lp.row_count("sales.orders", min=1), lp.unique("sales.orders", "id"))


def main(folder: str, master: str, resume: bool) -> None:
    spark = session(**SETTINGS, **{"spark.master": master})
    with connect(folder) as lake:
        run = shop.run(lake, spark, resume=True if resume else None, listener=told)
        print(f"{run.status}: {run.error}", flush=True)


def told(event: Any) -> None:
    print(event.kind, event.about, flush=True)
    if event.kind == "done":
        sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["resume"])
