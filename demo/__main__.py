"""Load TPC-H into a lake, branch, merge, undo, change and merge rows, run a pipeline; DuckDB checks every result."""

import shutil
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from demo import changes, marts, quiet_spark, rows
from demo.graph import write_graph
from demo.page import agree, compare, expect, say, shell, step
from demo.questions import QUESTIONS
from demo.tpch import NAMES, SHIFT, THREE_ORDERS, YEAR, empty_tables, make_files, on_branch, on_main
from lakebed import Catalog, Commit

BUILD = Path(__file__).parent.parent / "build"
FILES, LAKE, SPARK_LOG = BUILD / "tpch", BUILD / "demo-lake", BUILD / "demo-spark.log"

NEXT = r"""
Spark, Lakebed's own engine and DuckDB agreed on every result.

The lake is in build/demo-lake, the picture of its commits in build/demo.svg. VERBOSE=1 make demo prints every result.
What to try next:

    .venv/bin/lakebed --lake build/demo-lake status
    .venv/bin/lakebed --lake build/demo-lake diff prices review tpch.orders --rows
    .venv/bin/lakebed --lake build/demo-lake lineage marts.by_priority
    .venv/bin/python
    >>> import lakebed
    >>> main = lakebed.connect("build/demo-lake").catalog()
    >>> print(*main.diff(main.branch("dev")), sep="\n")
    >>> main.tag("merged").table("tpch.orders").scan(where="o_orderdate > '2026-01-01'").to_pandas()
    >>> print(main.table("tpch.orders").describe())

docs/guide/tutorial.md takes an hour, from an empty folder to a branch that was checked and merged.
"""


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    shutil.rmtree(LAKE, ignore_errors=True)
    with step("Generate TPC-H data at scale 0.1 in build/tpch, unless it exists"):
        make_files(FILES, scale=0.1)
    with step("Start Spark (its log is build/demo-spark.log)"):
        spark = quiet_spark.start(SPARK_LOG)
    run(spark, FILES, LAKE)
    spark.stop()
    print(NEXT)


def run(spark: SparkSession, files: Path, folder: Path) -> None:
    """Run all steps, in a new lake in `folder`."""
    frames = {name: spark.read.parquet(str(files / f"{name}.parquet")) for name in NAMES}
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        first = main.version
        with step("Create a namespace and two empty tables"):
            main.create_namespace("tpch")
            for name, frame in frames.items():
                main.create_table(f"tpch.{name}", frame.schema)
            created = main.version
        with step("Load both tables with Spark in one transaction"):
            load(main, frames)
            loaded = main.version
        with step("Query main, the trunk"):
            query(spark, main, on_main(files))
        with step("Create the branch dev: it has the whole lake, and nothing is copied"):
            dev = main.create_branch("dev")
        with step("Append to dev: the orders of 1998 under new keys with Spark, and three more with Arrow"):
            append(dev, frames)
        with step("Query dev"):
            query(spark, dev, on_branch(files))
        with step("Query main, where nothing has changed"):
            query(spark, main, on_main(files))
        with step(f"Query dev as of version {loaded}, before the appends"):
            query(spark, dev.at(version=loaded), on_main(files))
        with step(f"Query main as of version {created}, before the load"):
            query(spark, main.at(version=created), empty_tables(files))
            expect(f"tables at version {first}", main.at(version=first).tables(recursive=True), [])
        with step("Change main as well: set a property, and add a column that dev does not have"):
            evolve(main)
        with step("Merge dev into main: both tables in one commit, keeping what changed on main"):
            merged = merge(main, dev)
        with step("Query main, which now has the rows of dev"):
            query(spark, main, on_branch(files))
        with step("Drop the largest table, and undrop it"):
            count = main.table("tpch.lineitem").scan().count()
            main.drop_table("tpch.lineitem")
            expect("tables after the drop", [table.name for table in main.tables("tpch")], ["tpch.orders"])
            main.undrop_table("tpch.lineitem")
            expect("line items after the undrop", main.table("tpch.lineitem").scan().count(), count)
        with step("Revert the merge in both tables at once"):
            main.create_tag("merged")
            main.revert(merged, message="not yet")
            query(spark, main, on_main(files))
            tagged = main.tag("merged").table("tpch.lineitem").scan().count()
            expect("line items at the tag, set before the revert", tagged, count)
        with step("Make a mistake: set all prices of 1998 to zero; then somebody changes another order"):
            mistake = rows.make_a_mistake(spark, main)
        with step("Undo the mistake alone: prices are back, the later change stays"):
            rows.undo(main, files, mistake)
        with step("Change the same rows on two branches: prices here, comments there, one price on both"):
            prices, review = rows.change_on_two_branches(spark, main)
        with step("Merge them row by row and cell by cell"):
            rows.merge_row_by_row(review, prices, files)
        before = main.version
        with step("Upsert with Spark: raise the price of the urgent orders of 1998 by 10, and copy each to a new key"):
            changes.upsert(main, frames["orders"])
        with step("Delete with Spark: the open orders of every February"):
            changes.delete(spark, main)
        with step("Query the orders in SQL, as they are now and as they were before both changes"):
            changes.query_in_sql(spark, lake, files, before)
        with step("Attach the Spark session: spark.sql, saveAsTable and spark.table find the lake's tables"):
            changes.use_sparks_names(spark, lake, files)
        with step("Run a pipeline on a branch: three marts from TPC-H, checked, published by one merge"):
            marts.build(lake, spark, main)
        with step("Load an order with a wrong price: the next run is held back, and main stays as it was"):
            marts.hold_back(lake, spark, main)
        with step("Repair it on the run's branch, and resume the run"):
            marts.repair(lake, spark, main)
        with step("Look at all of it from the command line"):
            shell(folder, "log", "--graph")
            shell(folder, "diff", "prices", "review", "tpch.orders", "--summary")
            shell(folder, "count", "tpch.orders@merged")
            shell(folder, "runs")
        picture = folder.with_name("demo.svg")
        with step(f"Draw the commits of all branches in {picture.parent.name}/{picture.name}"):
            write_graph(main, picture)


def load(main: Catalog, frames: dict[str, DataFrame]) -> None:
    with main.transaction("load TPC-H") as tx:
        for name, frame in frames.items():
            tx.table(f"tpch.{name}").append(frame)
        expect("orders visible to others before the commit", main.table("tpch.orders").scan().count(), 0)
    say(f"both tables got their rows in version {main.version}; no version has the rows of only one")


def append(dev: Catalog, frames: dict[str, DataFrame]) -> None:
    orders = frames["orders"].where(YEAR)
    lines = frames["lineitem"].join(orders, F.col("l_orderkey") == F.col("o_orderkey"), "left_semi")
    with dev.transaction("copy the orders of 1998") as tx:
        tx.table("tpch.orders").append(orders.withColumn("o_orderkey", F.col("o_orderkey") + SHIFT))
        tx.table("tpch.lineitem").append(lines.withColumn("l_orderkey", F.col("l_orderkey") + SHIFT))
    dev.table("tpch.orders").append(THREE_ORDERS, message="three orders")


def evolve(main: Catalog) -> None:
    orders = main.table("tpch.orders")
    orders.set_properties({"owner": "ada"})
    with orders.evolve(message="add a note to each order") as change:
        change.add_column("o_note", "string", default="none")
    say(f"orders now has {len(orders.schema.names)} columns, and no file was rewritten")


def merge(main: Catalog, dev: Catalog) -> Commit:
    for row in main.diff(dev):
        say(str(row))
    merged = main.merge(dev, message="merge dev")
    assert merged.commit is not None
    expect("conflicts", len(merged.conflicts), 0)
    expect("commit of a second merge", main.merge(dev).commit, None)
    return merged.commit


def query(spark: SparkSession, line: Catalog, raw: dict[str, str]) -> None:
    """Run every query with Spark and Lakebed's own engine on the lake, and with DuckDB on the raw files."""
    frames = {name: line.table(f"tpch.{name}").read(spark) for name in NAMES}
    with duckdb.connect() as database:
        database.register("three_orders", THREE_ORDERS)
        for question in QUESTIONS:
            answers = {
                "Spark": spark.sql(question.sql, **frames).toArrow(),
                "Lakebed": question.scan(line),
                "DuckDB": database.sql(question.sql.format(**raw)).to_arrow_table(),
            }
            compare(question.name, answers, reference="DuckDB")
    agree(len(QUESTIONS), answers)


if __name__ == "__main__":
    main()
