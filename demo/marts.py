"""The demo's pipeline: three marts from TPC-H, with checks; a bad load is held back, repaired, and goes on."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demo.page import expect, say
from lakebed import Catalog, Lake
from lakebed import pipelines as lp

marts = lp.Pipeline("marts", namespace="marts", params={"since": "1992-01-01"})


@marts.table(primary_key=["o_orderkey"], write="upsert", expect=[lp.expect("o_totalprice > 0")])
def orders(since: str, new: DataFrame = lp.changes("tpch.orders")) -> DataFrame:
    """Orders as they come."""
    columns = ("o_orderkey", "o_orderdate", "o_orderpriority", "o_totalprice", "_change_type")
    return new.where(F.col("o_orderdate") >= since).select(*columns)


@marts.table
def by_priority(orders: DataFrame) -> DataFrame:
    """Orders and their prices by priority."""
    return orders.groupBy("o_orderpriority").agg(F.count("*").alias("orders"), F.sum("o_totalprice").alias("total"))


BEST_YEAR = "select year(o_orderdate) year, sum(o_totalprice) total from {orders} group by 1 order by 2 desc limit 1"
COUNTED, SUMMED = "select count(*) n from {marts.orders}", "select sum(orders) n from {marts.by_priority}"

marts.sql("best_year", BEST_YEAR)
marts.check(lp.unique("marts.orders", "o_orderkey"), lp.equal("marts.by_priority", SUMMED, COUNTED))


def build(lake: Lake, spark: SparkSession, main: Catalog) -> None:
    """The first run makes three tables, in one commit."""
    run = marts.run(lake, spark).raise_for_status()
    expect("rows of marts.orders", run.steps[0].rows, main.table("tpch.orders").scan().count())
    say(f"run {run.id} made {len(run.steps)} tables on {run.branch}, and published them in version {main.version}")


def hold_back(lake: Lake, spark: SparkSession, main: Catalog) -> None:
    """A load with a wrong price: the expectation fails, and main stays as it was."""
    loaded = main.table("tpch.orders").append([_order(900_000_001, 120), _order(900_000_002, -1)], cast=True)
    run = marts.run(lake, spark)
    expect("how the run ended", run.status, "check_failed")
    expect("main's version, which is that of the load", main.version, loaded.version)
    say(f"held back: {run.failures[0].name} failed for {run.failures[0].failed} row; {run.branch} is kept")


def repair(lake: Lake, spark: SparkSession, main: Catalog) -> None:
    """The row is repaired on the run's branch; the run goes on, and publishes the repair with the marts."""
    number = max(row["id"] for row in main.inspect("__runs").to_pylist())
    main.branch(f"run/{number}").table("tpch.orders").update({"o_totalprice": "99"}, where="o_totalprice < 0")
    run = marts.run(lake, spark, resume=True).raise_for_status()
    expect("the order on main", main.table("marts.orders").get(900_000_002)["o_totalprice"], 99)
    expect("the order that was loaded", main.table("tpch.orders").scan("o_totalprice < 0").count(), 0)
    say(f"run {run.id} read only what had changed: {run.steps[0].rows} orders")


def _order(key: int, price: int) -> dict[str, Any]:
    return {"o_orderkey": key, "o_orderdate": "1998-08-02", "o_orderpriority": "1-URGENT", "o_totalprice": price}
