"""Load TPC-H into a lake, branch, merge, drop, undrop, revert, change rows, and check each answer with DuckDB."""

import shutil
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from demo import changes, quiet_spark
from demo.page import compare, expect, say, side_by_side, step
from demo.questions import QUESTIONS
from demo.tpch import NAMES, SHIFT, THREE_ORDERS, YEAR, make_files, nowhere, on_branch, on_main
from lakebed import Catalog, Commit

BUILD = Path(__file__).parent.parent / "build"
FILES, LAKE, SPARK_LOG = BUILD / "tpch", BUILD / "demo-lake", BUILD / "demo-spark.log"

NEXT = r"""
Every answer was the same from Spark, from Lakebed's own engine and from DuckDB.

The lake is in build/demo-lake. Try it, without Spark:

    .venv/bin/python
    >>> import lakebed
    >>> main = lakebed.connect("build/demo-lake").catalog()
    >>> print(*main.diff(main.branch("dev")), sep="\n")
    >>> main.tag("merged").table("tpch.orders").scan(where="o_orderdate > '2026-01-01'").to_pandas()
    >>> print(main.table("tpch.orders").describe())

README.md shows the rest.
"""


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    shutil.rmtree(LAKE, ignore_errors=True)
    with step("Make TPC-H data at scale 0.1 in build/tpch, unless it is there"):
        make_files(FILES, scale=0.1)
    with step("Start Spark; what it logs is in build/demo-spark.log"):
        spark = quiet_spark.start(SPARK_LOG)
    tell(spark, FILES, LAKE)
    spark.stop()
    print(NEXT)


def tell(spark: SparkSession, files: Path, folder: Path) -> None:
    """The story, in a lake of its own."""
    frames = {name: spark.read.parquet(str(files / f"{name}.parquet")) for name in NAMES}
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        first = main.version
        with step("Create a namespace and two empty tables"):
            main.create_namespace("tpch")
            for name, frame in frames.items():
                main.create_table(f"tpch.{name}", frame.schema)
            created = main.version
        with step("Load both tables with Spark, in one transaction"):
            load(main, frames)
            loaded = main.version
        with step("Ask the trunk, main"):
            ask(spark, main, on_main(files))
        with step("Create the branch dev: the whole lake, and nothing is copied"):
            dev = main.create_branch("dev")
        with step("Append on dev: the orders of 1998 again, under new keys, with Spark; three more with Arrow"):
            append(dev, frames)
        with step("Ask dev"):
            ask(spark, dev, on_branch(files))
        with step("Ask main, where nothing has changed"):
            ask(spark, main, on_main(files))
        with step(f"Ask dev as it was at version {loaded}, before the appends"):
            ask(spark, dev.at(version=loaded), on_main(files))
        with step(f"Ask main as it was at version {created}, before the load"):
            ask(spark, main.at(version=created), nowhere(files))
            expect(f"tables at version {first}", main.at(version=first).tables(recursive=True), [])
        with step("Change main too: a property, and a column that dev does not have"):
            evolve(main)
        with step("Merge dev into main: both tables in one commit, beside what main has done since"):
            merged = merge(main, dev)
        with step("Ask main, which has the rows of dev now"):
            ask(spark, main, on_branch(files))
        with step("Drop the table with the most rows, and bring it back"):
            rows = main.table("tpch.lineitem").scan().count()
            main.drop_table("tpch.lineitem")
            expect("tables after the drop", [one.name for one in main.tables("tpch")], ["tpch.orders"])
            main.undrop_table("tpch.lineitem")
            expect("lines that are back", main.table("tpch.lineitem").scan().count(), rows)
        with step("Revert the merge, in both tables at once"):
            main.create_tag("merged")
            main.revert(merged, message="not yet")
            ask(spark, main, on_main(files))
            expect("lines at the tag from before", main.tag("merged").table("tpch.lineitem").scan().count(), rows)
        before = main.version
        with step("Upsert with Spark: the urgent orders of 1998 at 10 more, and a copy of each under a new key"):
            changes.upsert(main, frames["orders"])
        with step("Delete with Spark: the open orders of every February"):
            changes.delete(spark, main)
        with step("Ask in SQL for the orders as they are, and as they were before both changes"):
            changes.ask_in_sql(spark, lake, files, before)
        with step("Look at the log of main, newest first"):
            for commit in main.log():
                say(str(commit))


def load(main: Catalog, frames: dict[str, DataFrame]) -> None:
    with main.transaction("load TPC-H") as tx:
        for name, frame in frames.items():
            tx.table(f"tpch.{name}").append(frame)
        expect("orders that others see before the commit", main.table("tpch.orders").scan().count(), 0)
    say(f"both tables have their rows since version {main.version}, and no version has those of one alone")


def append(dev: Catalog, frames: dict[str, DataFrame]) -> None:
    orders = frames["orders"].where(YEAR)
    lines = frames["lineitem"].join(orders, F.col("l_orderkey") == F.col("o_orderkey"), "left_semi")
    with dev.transaction("the orders of 1998 again") as tx:
        tx.table("tpch.orders").append(orders.withColumn("o_orderkey", F.col("o_orderkey") + SHIFT))
        tx.table("tpch.lineitem").append(lines.withColumn("l_orderkey", F.col("l_orderkey") + SHIFT))
    dev.table("tpch.orders").append(THREE_ORDERS, message="three orders")


def evolve(main: Catalog) -> None:
    orders = main.table("tpch.orders")
    orders.set_properties({"owner": "ada"})
    with orders.evolve(message="a note for each order") as change:
        change.add_column("o_note", "string", default="none")
    say(f"orders has {len(orders.schema.names)} columns, and no file was written anew")


def merge(main: Catalog, dev: Catalog) -> Commit:
    for row in main.diff(dev):
        say(str(row))
    merged = main.merge(dev, message="merge dev")
    assert merged.commit is not None
    expect("conflicts", len(merged.conflicts), 0)
    expect("the commit of a second merge", main.merge(dev).commit, None)
    return merged.commit


def ask(spark: SparkSession, line: Catalog, raw: dict[str, str]) -> None:
    """Put every question to Spark and to Lakebed's own engine on the lake, and to DuckDB on the raw files."""
    frames = {name: line.table(f"tpch.{name}").read(spark) for name in NAMES}
    side_by_side("SPARK", "LAKEBED'S OWN ENGINE", "DUCKDB ON THE RAW FILES")
    with duckdb.connect() as database:
        database.register("three_orders", THREE_ORDERS)
        for question in QUESTIONS:
            answers = {
                "Spark": spark.sql(question.sql, **frames).toArrow(),
                "Lakebed": question.scan(line),
                "DuckDB": database.sql(question.sql.format(**raw)).to_arrow_table(),
            }
            compare(question.name, answers, reference="DuckDB")


if __name__ == "__main__":
    main()
