"""Handles as people see them: in a console, in a notebook, in a debugger."""

import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Lake, Table
from lakebed.errors import Invalid

ROWS = pa.table({"id": range(1204), "item": ["<script>"] * 1204})


@pytest.fixture
def orders(main: Catalog) -> Table:
    main.create_namespace("sales")
    return main.create_table("sales.orders", ROWS)


def test_a_handle_says_the_name_that_its_object_has_now(lake: Lake, main: Catalog, orders: Table) -> None:
    dev = main.create_branch("dev")
    dev.table("sales.orders").delete("id < 200")
    version, past = dev.version, orders.version
    other = lake.create_catalog("other").create_view("v", "SELECT 1")
    assert repr(orders) == f"Table sales.orders @ main, 1,204 rows, version {past}"
    assert repr(dev.table("sales.orders")) == f"Table sales.orders @ dev, 1,004 rows, version {version}"
    assert repr(orders.at(past)) == f"Table sales.orders @ main#{past}, 1,204 rows, version {past}"
    assert repr(main.namespace("sales")) == f"Namespace sales @ main, version {main.namespace('sales').version}"
    assert repr(other) == f"View v @ other@main, version {other.version}"
    assert repr(main.create_share("partner", orders).table("sales.orders")).startswith("Table sales.orders @ partner,")
    assert repr(dev) == f"Catalog default @ dev, version {version}"
    assert repr(main.create_tag("q4")) == f"Catalog default @ q4, version {main.tag('q4').version}"
    orders.rename("sales.sold")
    assert repr(orders).startswith("Table sales.sold @ main, 1,204 rows")
    assert repr(main.create_table("one", ROWS.slice(0, 1))).startswith("Table one @ main, 1 row,")
    assert repr(orders.scan(where="id = 1", columns=["id"])).startswith("Scan of id, filtered: reads 1 of 1 file")
    assert repr(orders.describe()) == "Description of table sales.sold"


def test_showing_a_handle_never_fails(tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "lake", author="a secret") as lake:
        main = lake.catalog()
        table, view, space = main.create_table("t", ROWS), main.create_view("v", "SELECT 1"), main.create_namespace("n")
        dev = main.create_branch("dev")
        on_dev = dev.table("t")
        tx = main.transaction("load")
        assert (repr(tx), repr(main.transaction())) == ("Transaction 'load' @ main", "Transaction @ main")
        main.drop_table("t")
        assert repr(table) == "Table t @ main, dropped"
        assert table._repr_html_() == "<pre>Table t @ main, dropped</pre>"
        main.drop_branch("dev")
        main.purge_branch("dev")
        assert repr(on_dev) == f"Table {table.id}, gone"
        main.undrop_table("t")
    handles = [lake, main, table, view, space, dev, on_dev, tx, table.at]
    for handle in handles:
        text = repr(handle) + getattr(handle, "_repr_html_", str)()
        assert "secret" not in text
        assert handle is lake or str(tmp_path) not in text
    assert repr(table) == f"Table {table.id}, closed"
    assert repr(main) == "Catalog, closed"


def test_showing_a_handle_in_a_transaction_reads_nothing(main: Catalog, orders: Table) -> None:
    with main.transaction() as tx:
        mine = tx.table("sales.orders")
        before = tx._open.read().reads
        assert repr(mine) == "Table sales.orders @ main, in a transaction"
        assert tx._open.read().reads == before
        assert repr(tx.create_table("new", {"id": "long"})) == "Table new @ main, in a transaction"


class Shown(HTMLParser):
    """The texts of the cells in a page, which has to be well-formed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.cells = list[str](), list[str]()
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("div", "b", "table", "thead", "tbody", "tr", "th", "td", "i", "pre")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def test_a_notebook_shows_the_first_rows_escaped(main: Catalog, orders: Table) -> None:
    shown = Shown(orders._repr_html_()).cells
    assert shown[:5] == [repr(orders), "id", "item", "0", "<script>"]
    assert shown.count("<script>") == 10
    assert "<script>" not in orders._repr_html_()
    few = Shown(orders.scan(where="id < 2", columns=["item", "id"])._repr_html_()).cells
    assert few[1:] == ["item", "id", "<script>", "0", "<script>", "1"]


def test_a_notebook_shows_every_type(main: Catalog) -> None:
    types = {"a": "timestamp_ns", "b": "binary", "c": "list<int>", "d": "struct<x: int>", "e": "uuid", "f": "string"}
    table = main.create_table("t", types)
    table.append(pa.table({"a": pa.array([1], pa.timestamp("ns")), "b": [b"x"], "f": ["y" * 1000]}))
    shown = Shown(table._repr_html_()).cells
    assert shown[7:] == ["1970-01-01 00:00:00.000000001", "b'x'", "null", "null", "null", "y" * 199 + "…"]


def test_a_notebook_shows_lakes_catalogs_logs_and_differences(lake: Lake, main: Catalog, orders: Table) -> None:
    dev = main.create_branch("dev")
    dev.table("sales.orders").append(ROWS)
    assert Shown(main._repr_html_()).cells[:5] == [repr(main), "table", "columns", "version", "sales.orders"]
    assert Shown(lake._repr_html_()).cells[5:9] == ["default", "main", str(main.version), "1"]
    assert Shown(main.log(limit=1)._repr_html_()).cells == [str(main.log()[0])]
    [line] = Shown(main.diff(dev)._repr_html_()).cells
    assert line.startswith("changed table sales.orders (files")
    assert Shown(orders.scan().explain()._repr_html_()).cells[0].startswith("reads 1 of 1 file")  # type: ignore[attr-defined]
    assert Shown(orders.describe()._repr_html_()).cells[0].startswith("table sales.orders\n")
    assert Shown(main.describe()._repr_html_()).cells[0].startswith("catalog default@main")  # type: ignore[attr-defined]
    many = main.namespaces()
    many *= 60
    assert "and 10 more" in type(main.namespaces())(many)._repr_html_()


def test_a_notebook_shows_a_scan_of_a_purged_table_as_what_it_was(main: Catalog, orders: Table) -> None:
    scan = orders.scan()
    main.drop_table("sales.orders")
    main.purge_table("sales.orders")
    assert "Scan of id, item" in scan._repr_html_()
    assert "purged" in scan._repr_html_()


def test_a_scan_that_is_pickled_says_what_to_pickle(orders: Table) -> None:
    with pytest.raises(Invalid, match=r"a scan can't be pickled.*Pickle the table"):
        pickle.dumps(orders.scan())
