"""Changes of rows with Spark, a SQL query of the rows before and after, and Spark's own names for the lake's tables."""

from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from demo.page import agree, compare, expect, say
from demo.tpch import FEBRUARY, SHIFT, URGENT, changed_orders, on_main
from lakebed import Catalog, Commit, Lake

THEN_AND_NOW = """
SELECT 'before', count(*), sum(o_totalprice) FROM {before}
UNION ALL
SELECT 'now', count(*), sum(o_totalprice) FROM {now}
"""

BY_STATUS = "SELECT o_orderstatus, count(*), sum(o_totalprice) FROM {orders} GROUP BY o_orderstatus"


def upsert(main: Catalog, orders: DataFrame) -> None:
    """Replace rows with the same key, and insert the rest."""
    urgent = orders.where(URGENT)
    dearer = urgent.withColumn(
        "o_totalprice", (F.col("o_totalprice") + 10).cast(urgent.schema["o_totalprice"].dataType)
    )
    copies = urgent.withColumn("o_orderkey", F.col("o_orderkey") + SHIFT)
    commit = main.table("tpch.orders").upsert(dearer.union(copies), on="o_orderkey", message="urgent orders")
    count = urgent.count()
    expect("orders replaced", _count(commit, "removed_rows"), count)
    expect("orders inserted", _count(commit, "added_rows") - count, count)


def delete(spark: SparkSession, main: Catalog) -> None:
    say(f"where {FEBRUARY}")
    commit = main.table("tpch.orders").delete(FEBRUARY, spark, message="no more Februaries")
    say(f"orders deleted: {_count(commit, 'removed_rows')}")
    expect("data files written for the delete", _count(commit, "added_files"), 0)


def _count(commit: Commit | None, what: str) -> int:
    assert commit is not None
    [operation] = commit.operations
    return operation.counts.get(what, 0)


def query_in_sql(spark: SparkSession, lake: Lake, files: Path, version: object) -> None:
    """Query two versions of a table in one statement."""
    sql = THEN_AND_NOW.format(before=f"tpch.orders VERSION AS OF {version}", now="tpch.orders")
    raw = THEN_AND_NOW.format(before=on_main(files)["orders"], now=changed_orders(files))
    for line in sql.strip().splitlines():
        say(line)
    answer = lake.sql(spark, sql)
    assert isinstance(answer, DataFrame)
    with duckdb.connect() as database:
        answers = {"Spark": answer.toArrow(), "DuckDB": database.sql(raw).to_arrow_table()}
        compare("How many orders are there, and what is their total price", answers, reference="DuckDB")
    agree(1, answers)


def use_sparks_names(spark: SparkSession, lake: Lake, files: Path) -> None:
    """Make a table of the lake by the calls that Spark's users know, and query it without Spark."""
    lakebed.spark.attach(spark, lake)
    try:
        spark.sql(BY_STATUS.format(orders="tpch.orders")).toDF("status", "orders", "total").write.saveAsTable(
            "tpch.by_status"
        )
        expect("spark.catalog.tableExists('tpch.by_status')", spark.catalog.tableExists("tpch.by_status"), True)
        rows = spark.table("tpch.by_status").toArrow()
    finally:
        lakebed.spark.detach(spark)
    with duckdb.connect() as database:
        answers = {
            "Spark": rows,
            "Lakebed": lake.query("SELECT * FROM tpch.by_status").to_arrow(),
            "DuckDB": database.sql(BY_STATUS.format(orders=changed_orders(files))).to_arrow_table(),
        }
        compare("How many orders does each status have, and what is their total price", answers, reference="DuckDB")
    agree(1, answers)
