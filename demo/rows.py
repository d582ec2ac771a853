"""Rows: a mistake that is found and undone, and two branches that changed the same rows."""

from pathlib import Path

import duckdb
import pyarrow
from pyspark.sql import SparkSession

from demo.page import agree, compare, expect, say
from demo.tpch import URGENT, YEAR, on_main
from lakebed import Catalog, Commit

NOTED = "o_orderkey = 7"
COLUMNS = ["o_orderkey", "o_totalprice", "o_comment"]


def make_a_mistake(spark: SparkSession, main: Catalog) -> Commit:
    """Set all prices of a year to zero; somebody then changes an order of the same file."""
    orders = main.table("tpch.orders")
    mistake = orders.update({"o_totalprice": "0"}, YEAR, spark, message="correct the price of an order")
    orders.update({"o_comment": "'call back'"}, NOTED, message="a colleague's note")
    say(f"the message says one order; the change feed says {orders.changes(-2, until=-1).summary()}")
    return mistake


def undo(main: Catalog, files: Path, mistake: Commit) -> None:
    """Revert one commit; the later change of another row stays."""
    main.revert(mistake, message="undo the wrong prices")
    [note] = main.table("tpch.orders").scan(where=NOTED).to_arrow()["o_comment"].to_pylist()
    expect("the colleague's note", note, "call back")
    _compare(main, f"SELECT o_orderkey, o_totalprice, {_noted()} FROM {on_main(files)['orders']}")


def change_on_two_branches(spark: SparkSession, main: Catalog) -> tuple[Catalog, Catalog]:
    """Change the prices on one branch, and the comments of the same rows on the other; one price on both."""
    prices, review = main.create_branch("prices"), main.create_branch("review")
    prices.table("tpch.orders").update({"o_totalprice": "o_totalprice - 10"}, URGENT, spark, message="a discount")
    checked = review.table("tpch.orders")
    checked.update({"o_comment": "'checked'"}, URGENT, spark, message="look at the urgent orders")
    checked.update({"o_totalprice": "o_totalprice + 1"}, f"o_orderkey = {_first_urgent(main)}", message="a typo")
    return prices, review


def merge_row_by_row(review: Catalog, prices: Catalog, files: Path) -> None:
    """Merge cell by cell; the only price that both changed is settled by a function."""
    [conflict] = review.merge(prices, dry_run=True).conflicts
    say(f"one conflict: {conflict}")
    merged = review.merge(prices, strategy="theirs", message="merge the discount")
    say(f"settled with strategy='theirs'; {merged.rows_read:,} rows were read, and no undisputed cell was lost")
    price = f"CASE WHEN {URGENT} THEN o_totalprice - 10 ELSE o_totalprice END"
    comment = f"CASE WHEN {URGENT} THEN 'checked' ELSE {_noted()} END"
    _compare(review, f"SELECT o_orderkey, {price}, {comment} FROM {on_main(files)['orders']}")


def _noted() -> str:
    return f"CASE WHEN {NOTED} THEN 'call back' ELSE o_comment END"


def _first_urgent(main: Catalog) -> int:
    keys = main.table("tpch.orders").scan(where=URGENT, columns=["o_orderkey"]).to_arrow()["o_orderkey"]
    return min(key for key in keys.to_pylist() if key is not None)


def _compare(line: Catalog, expected: str) -> None:
    """Compare every price and comment with what DuckDB makes of the raw files."""
    rows: pyarrow.Table = line.table("tpch.orders").scan(columns=COLUMNS).to_arrow()
    with duckdb.connect() as database:
        answers = {"Lakebed": rows, "DuckDB": database.sql(expected).to_arrow_table()}
        compare("Which price and comment does each order have", answers, reference="DuckDB")
    agree(1, answers)
