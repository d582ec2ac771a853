"""Rows changed by Spark, and asked for in SQL, as they are and as they were."""

from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demo.page import compare, expect, say, side_by_side
from demo.tpch import FEBRUARY, SHIFT, URGENT, changed_orders, on_main
from lakebed import Catalog, Commit, Lake

THEN_AND_NOW = """
SELECT 'before', count(*), sum(o_totalprice) FROM {before}
UNION ALL
SELECT 'now', count(*), sum(o_totalprice) FROM {now}
"""


def upsert(main: Catalog, orders: DataFrame) -> None:
    """Rows whose key is there take the place of those, the others are added."""
    urgent = orders.where(URGENT)
    dearer = urgent.withColumn(
        "o_totalprice", (F.col("o_totalprice") + 10).cast(urgent.schema["o_totalprice"].dataType)
    )
    copies = urgent.withColumn("o_orderkey", F.col("o_orderkey") + SHIFT)
    commit = main.table("tpch.orders").upsert(dearer.union(copies), on="o_orderkey", message="urgent orders")
    count = urgent.count()
    expect("orders that were replaced", _count(commit, "removed_rows"), count)
    expect("orders that came", _count(commit, "added_rows") - count, count)


def delete(spark: SparkSession, main: Catalog) -> None:
    say(f"where {FEBRUARY}")
    commit = main.table("tpch.orders").delete(FEBRUARY, spark, message="no more Februaries")
    say(f"orders that are gone: {_count(commit, 'removed_rows')}")
    expect("data files that were written for it", _count(commit, "added_files"), 0)


def _count(commit: Commit | None, what: str) -> int:
    assert commit is not None
    [operation] = commit.operations
    return operation.counts.get(what, 0)


def ask_in_sql(spark: SparkSession, lake: Lake, files: Path, version: object) -> None:
    """One statement about two versions of a table."""
    sql = THEN_AND_NOW.format(before=f"tpch.orders VERSION AS OF {version}", now="tpch.orders")
    raw = THEN_AND_NOW.format(before=on_main(files)["orders"], now=changed_orders(files))
    for line in sql.strip().splitlines():
        say(line)
    side_by_side("SPARK, BY lake.sql", "DUCKDB ON THE RAW FILES")
    answer = lake.sql(spark, sql)
    assert isinstance(answer, DataFrame)
    with duckdb.connect() as database:
        answers = {"Spark": answer.toArrow(), "DuckDB": database.sql(raw).to_arrow_table()}
        compare("How many orders, for what price", answers, reference="DuckDB")
