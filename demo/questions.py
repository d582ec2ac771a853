"""The demo's queries, each in two forms: SQL for Spark and DuckDB, a scan for Lakebed's own engine."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow
from pyarrow import compute

from lakebed import Catalog


@dataclass(frozen=True, slots=True)
class Question:
    """A query; both forms return the same columns in the same order, and rows in any order."""

    name: str
    sql: str
    scan: Callable[[Catalog], pyarrow.Table]


def _orders_by_status(lake: Catalog) -> pyarrow.Table:
    orders = lake.table("tpch.orders").scan(columns=["o_orderstatus", "o_totalprice"]).to_arrow()
    return orders.group_by("o_orderstatus").aggregate([([], "count_all"), ("o_totalprice", "sum")])


def _shipped_in_1995(lake: Catalog) -> pyarrow.Table:
    year = "l_shipdate >= '1995-01-01' AND l_shipdate < '1996-01-01' AND l_discount >= 0.05"
    lines = lake.table("tpch.lineitem").scan(where=year, columns=["l_extendedprice", "l_discount", "l_shipdate"])
    rows = lines.to_arrow()
    discounts = compute.multiply(rows["l_extendedprice"], rows["l_discount"])
    columns = [lines.count(), compute.sum(discounts), compute.max(rows["l_shipdate"])]
    return pyarrow.table([[value] for value in columns], ["lines", "discounts", "last"])


def _lines_by_priority(lake: Catalog) -> pyarrow.Table:
    orders = lake.table("tpch.orders").scan(columns=["o_orderkey", "o_orderpriority"]).to_arrow()
    lines = lake.table("tpch.lineitem").scan(columns=["l_orderkey", "l_quantity"]).to_arrow()
    joined = lines.join(orders, "l_orderkey", "o_orderkey", "inner")
    return joined.group_by("o_orderpriority").aggregate([([], "count_all"), ("l_quantity", "sum")])


def _all_orders(lake: Catalog) -> pyarrow.Table:
    return lake.table("tpch.orders").scan(columns=["o_orderkey", "o_orderdate", "o_totalprice"]).to_arrow()


def _all_lines(lake: Catalog) -> pyarrow.Table:
    columns = ["l_orderkey", "l_linenumber", "l_shipdate", "l_extendedprice"]
    return lake.table("tpch.lineitem").scan(columns=columns).to_arrow()


QUESTIONS = (
    Question(
        "How many orders does each status have, and what is their total price",
        "SELECT o_orderstatus, count(*), sum(o_totalprice) FROM {orders} GROUP BY o_orderstatus",
        _orders_by_status,
    ),
    Question(
        "How many line items shipped in 1995 had 5 % off or more, how much was that, and when did the last one ship",
        """SELECT count(*), sum(l_extendedprice * l_discount), max(l_shipdate) FROM {lineitem}
           WHERE l_shipdate >= DATE '1995-01-01' AND l_shipdate < DATE '1996-01-01' AND l_discount >= 0.05""",
        _shipped_in_1995,
    ),
    Question(
        "How many line items does each priority have, and how many pieces",
        """SELECT o_orderpriority, count(*), sum(l_quantity) FROM {lineitem} JOIN {orders} ON l_orderkey = o_orderkey
           GROUP BY o_orderpriority""",
        _lines_by_priority,
    ),
    Question("Which orders are there", "SELECT o_orderkey, o_orderdate, o_totalprice FROM {orders}", _all_orders),
    Question(
        "Which line items are there",
        "SELECT l_orderkey, l_linenumber, l_shipdate, l_extendedprice FROM {lineitem}",
        _all_lines,
    ),
)
