"""Handles as people see them: in a console, in a notebook, in a debugger."""

import pickle
import subprocess
import sys
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


def test_a_scan_could_not_be_sent_to_another_process(tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        table = main.create_table("t", ROWS, properties={"write.inline-bytes": "0"})
        table.append(ROWS)
        scan = table.scan("id < 3 AND id > (1 - 1)", columns=["item", "_row_id"], limit=3)
        expected, parts = scan.to_arrow(), [table.scan("id < 3").of(split) for split in table.scan("id < 3").splits(1)]
        assert len(parts) == 2
        sent = pickle.dumps([scan, *parts])
        table.delete("id = 1")  # the scan shows the table as it was
        again, *others = pickle.loads(sent)
        assert again.to_arrow().equals(expected) and again.schema.names == ("item", "_row_id")
        assert [one.to_arrow() for one in others] == [one.to_arrow() for one in parts]
        assert pickle.loads(pickle.dumps(again)).to_arrow().equals(expected)
        child = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count())"
        ran = subprocess.run([sys.executable, "-c", child], input=pickle.dumps(again), capture_output=True, check=True)
        assert ran.stdout == b"3\n"
        with main.transaction() as tx, pytest.raises(Invalid, match=r"a scan of a transaction.*Pickle the table"):
            pickle.dumps(tx.table("t").scan())
        with pytest.raises(Invalid, match="narrowed"):
            pickle.dumps(scan.narrowed(columns=["item"]))
        with pytest.raises(Invalid, match=r"a query can't be pickled.*to_arrow\(\)"):
            pickle.dumps(lake.query("SELECT 1"))


def test_a_console_showed_values_field_by_field(lake: Lake, main: Catalog, orders: Table) -> None:
    commit = orders.delete("id = 7", message="one\nless")
    assert repr(commit) == f"Commit {commit}" and repr(commit).endswith("one …")
    assert repr(orders.schema) == "Schema(id: long, item: string)"
    keyed = main.create_table("keyed", {"id": "long", "day": "date"}, partition_by=["day(day)"], primary_key=["id"])
    assert repr(keyed.schema) == "Schema(id: long not null, day: date)"
    assert (repr(keyed.spec), repr(keyed.sort_order)) == ("Terms('day(day)')", "Terms()")
    assert repr(orders.scan().explain()) == str(orders.scan().explain())
    assert repr(lake.usage()).endswith("bytes")
    assert repr(orders.evolve()) == "Evolve sales.orders @ main"


def test_a_notebook_shows_histories_snapshots_and_what_is_named(lake: Lake, main: Catalog, orders: Table) -> None:
    orders.delete("id = 7", message="one <less>")
    assert Shown(orders.history()._repr_html_()).cells == ["\n".join(map(str, orders.history()))]
    [snapshots] = Shown(orders.snapshots()._repr_html_()).cells
    line = f"2  version {orders.version}  {orders.history()[0].time:%Y-%m-%d %H:%M:%S}  delete"
    assert snapshots.splitlines()[0] == f"{line}  1 changed files, 1 removed rows"
    assert Shown(main.namespace("sales")._repr_html_()).cells[0].startswith(repr(main.namespace("sales")))
    view = main.create_view("v", "SELECT '<b>' AS b")
    assert Shown(view._repr_html_()).cells == [f"{view!r}\nspark: SELECT '<b>' AS b"]
    assert Shown(orders.partition()._repr_html_()).cells[:3] == [repr(orders.partition()), "id", "item"]
    assert Shown(lake.usage()._repr_html_()).cells[1:4] == ["table", "hold", "bytes"]
    [edition] = Shown(orders.editions()._repr_html_()).cells
    assert edition == "edition 1 of sales|orders|1: active, 1,203 rows"
    [stream] = Shown(orders.streams()._repr_html_()).cells
    assert stream.startswith("stream sales|orders|1|") and stream.endswith(": committed, 1,203 rows")
    assert "Query" in lake.query("SELECT 1 AS one")._repr_html_()
