"""SQL without Spark: DuckDB reads the lake's tables, at refs and moments, and nothing else."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars
import pyarrow
import pytest

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import Corrupt, Invalid, LakebedError, NotFound, Unavailable
from lakebed.lake.query import run
from tests.support.scans import opened_files


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return filled(lake.catalog())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The same tables, for all tests that only read."""
    with lakebed.connect(tmp_path_factory.mktemp("shop") / "lake") as shop:
        filled(shop.catalog())
        yield shop


def filled(main: Catalog) -> Catalog:
    for namespace in ("sales", "sales.eu", "sales.eu.north"):
        main.create_namespace(namespace)
    for name in ("sales.orders", "sales.eu.orders", "sales.eu.north.orders", "items"):
        main.create_table(name, {"id": "long", "item": "string"}).append(
            pyarrow.table({"id": [1, 2], "item": ["a", name]})
        )
    return main


def ids(lake, text, **options):
    return [row[0] for row in lake.query(text, **options).to_list()]


@pytest.mark.parametrize(
    "text",
    [
        "select id from sales.orders order by id",
        "from sales.orders select id",
        "SELECT id FROM Sales.ORDERS;",
        "with orders as (select * from sales.orders) select orders.id from orders",
        "select o.id from sales.orders o join items i using (id) where o.id in (select id from sales.eu.orders)",
        "select sales.eu.orders.id from sales.eu.orders",
        "select orders.id from sales.eu.north.orders -- a comment@dev",
        'select id from "sales.eu"."orders"',
        "select id from sales.orders@main",
        'select id from sales."orders@main"',
        "select id from default@main.sales.orders",
        "select id from sales.orders where item <> 'x@dev.y' and $$ a@b $$ <> ''",
        "select o.id from sales.orders o, lateral (select o.id + 1)",
        "select id from sales.orders order by id, (select 1 from (describe sales.orders) limit 1)",
        "select id from sales.orders union select id from items order by 1",
    ],
)
def test_names_are_found_wherever_sql_has_them(shop, text):
    assert ids(shop, text) == [1, 2]


def test_rows_come_in_every_form(shop):
    rows = shop.query("select id, item from sales.orders order by id")
    assert rows.columns == ["id", "item"]
    assert rows.to_list() == [(1, "a"), (2, "sales.orders")]
    assert (
        rows.to_arrow().to_pydict() == pyarrow.table(rows).to_pydict() == {"id": [1, 2], "item": ["a", "sales.orders"]}
    )
    assert rows.to_pandas()["id"].tolist() == rows.to_polars()["id"].to_list() == [1, 2]
    assert polars.DataFrame(rows).height == 2
    assert rows.relation.filter("id = 2").fetchall() == [(2, "sales.orders")]
    assert "sales.orders" in repr(rows)
    assert "<td>sales.orders</td>" in rows._repr_html_()


def test_a_plan_and_the_columns_are_shown(shop):
    for explain in ("explain", "-- why\nEXPLAIN analyze"):
        plan = shop.query(f"{explain} select id from sales.orders@main where id = 1").to_list()
        assert "Filters" in str(plan)
    assert [row[0] for row in shop.query("describe sales.orders").to_list()] == ["id", "item"]
    assert shop.query("summarize sales.orders").to_arrow().num_rows == 2


def test_tables_that_differ_only_in_case_are_not_mixed_up(lake):
    exact = lake.create_catalog("exact", case_sensitive=True)
    for name in ("orders", "Orders"):
        exact.create_table(name, {"id": "long"}).append(pyarrow.table({"id": [len(name), ord(name[0])]}))
    assert ids(exact, "select max(id) from Orders") == [ord("O")]
    assert ids(exact, "select max(a.id) from orders a, orders b") == [ord("o")]
    with pytest.raises(Invalid, match="by case"):
        exact.query("select * from orders, Orders")


def test_show_prints_the_rows(shop, capsys):
    shop.query("from sales.orders").show()
    assert "sales.orders" in capsys.readouterr().out


def test_refs_and_moments_are_read_beside_each_other(lake, main):
    before, dev = main.version, main.create_branch("dev")
    main.create_tag("first tag")
    dev.table("sales.orders").append(pyarrow.table({"id": [3]}))
    main.table("sales.orders").delete("id = 1")
    now = datetime.now(UTC)
    time.sleep(0.01)
    main.table("sales.orders").truncate()
    assert ids(lake, "select id from sales.orders@dev order by id") == [1, 2, 3]
    assert ids(lake, "select count(*) from sales.orders", ref="dev") == [3]
    assert ids(dev, "select count(*) from sales.orders") == [3]
    assert ids(dev, "select count(*) from sales.orders@main") == [0]
    for moment in (
        f"VERSION AS OF {before}",
        f"for version as of {before}",
        "version as of 'first tag'",
        f"AT (VERSION => {before})",
        '@"first tag"',
    ):
        assert ids(lake, f"select id from sales.orders{'' if moment[0] == '@' else ' '}{moment} o order by o.id") == [
            1,
            2,
        ]
    for moment in (
        f"TIMESTAMP AS OF '{now.isoformat()}'",
        f"for system_time as of timestamp '{now.isoformat()}'",
        f"timestamp as of ('{now.isoformat()}'::timestamptz + interval 0 hour)",
        f"AT (TIMESTAMP => '{now.isoformat()}')",
    ):
        assert ids(lake, f"select orders.id from sales.orders {moment}") == [2]
    then = f"sales.orders version as of {before}"
    both = f"select a.id, b.id from sales.orders@dev a left join {then} b using (id) order by 1"
    assert lake.query(both).to_list() == [(1, 1), (2, 2), (3, None)]
    with pytest.raises(NotFound):
        lake.query("select * from sales.orders@nothing")


def test_all_tables_are_read_at_one_version_whatever_comes_later(lake, main):
    rows = lake.query("select (select count(*) from sales.orders), (select count(*) from items)")
    main.table("sales.orders").truncate()
    main.table("items").append(pyarrow.table({"id": [9]}))
    assert rows.to_list() == [(2, 2)]


def test_what_is_committed_while_names_are_looked_for_is_not_seen(lake, main, monkeypatch):
    found = run.query_names

    def racing(text):
        main.table("items").append(pyarrow.table({"id": [9]}))
        return found(text)

    monkeypatch.setattr(run, "query_names", racing)
    assert ids(lake, "select count(*) from items") == [2]
    assert ids(lake, "select count(*) from items@main") == [3]
    assert main.table("items").scan().count() == 4


def test_system_tables_and_parameters(shop):
    assert ("items",) in shop.query("select table_name from __tables").to_list()
    assert ids(shop, "select count(*) from __tables, __namespaces") == [12]
    assert ids(shop, "select id from sales.orders where id = ?", args=[2]) == [2]
    assert ids(shop, "select id from sales.orders where item = $item", args={"item": "a"}) == [1]


def test_a_time_without_a_zone_is_utc_on_every_machine(lake, main, monkeypatch):
    """What it did: it was of the machine's own zone, so that a query and a scan found different rows."""
    noon = datetime(2026, 11, 1, 23, tzinfo=UTC)
    table = main.create_table("zoned", {"moment": "timestamptz"})
    table.append([{"moment": noon}])
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        for text, rows in (("2026-11-01T23:00:00", 1), ("2026-11-02T01:00:00", 0)):
            assert table.scan(f"moment >= '{text}'").count() == rows
            assert lake.query(f"select count(*) from zoned where moment >= '{text}'").to_list() == [(rows,)]
        assert lake.query("select moment::date::varchar, moment from zoned").to_list() == [("2026-11-01", noon)]
    time.tzset()


def test_filters_and_columns_are_pushed_into_scans(lake, main):
    table = main.create_table("big", {"id": "long", "item": "string"}, properties={"write.inline-bytes": "0"})
    for start in (0, 10):
        table.append(pyarrow.table({"id": range(start, start + 10)}))
    Path(opened_files(table.scan("id >= 10"))[0]).write_bytes(b"damaged")
    assert ids(lake, "select count(*) from big where id < 5") == [5]
    with pytest.raises(Corrupt):
        lake.query("from big").to_arrow()


@pytest.mark.parametrize(
    "text",
    [
        "insert into sales.orders values (3, 'x')",
        "delete from sales.orders",
        "create table t as select 1",
        "drop view sales.orders",
        "copy sales.orders to 'out.parquet'",
        "select 1; select 2",
        "set threads = 1",
        "attach 'x.db'",
        "pragma version",
        "show tables",
        "pivot sales.orders on item using count(*)",
        "",
        "-- nothing",
    ],
)
def test_anything_but_one_query_is_refused(shop, text):
    with pytest.raises(Invalid):
        shop.query(text).to_list()
    assert shop.catalog().table("sales.orders").scan().count() == 2


@pytest.mark.parametrize(
    "text",
    [
        "select * from read_csv('{file}')",
        "select * from '{file}'",
        "select * from read_text('{file}')",
        "select * from glob('/*')",
        "select * from read_parquet('http://127.0.0.1:1/x.parquet')",
        "select * from secret",
        "select * from sqlite_scan('{file}', 't')",
    ],
)
def test_nothing_outside_the_lake_can_be_read(shop, text, tmp_path):
    secret = pyarrow.table({"password": ["hidden"]})
    (tmp_path / "secret.csv").write_text("password\nhidden\n")
    with pytest.raises(LakebedError):
        shop.query(text.format(file=tmp_path / "secret.csv")).to_list()
    assert secret.num_rows == 1


def test_a_moment_reads_nothing_outside_the_lake(shop, tmp_path):
    (tmp_path / "secret").write_text("2026-01-01")
    with pytest.raises(Invalid, match="file system operations are disabled"):
        shop.query(f"from sales.orders timestamp as of (select content from read_text('{tmp_path}/secret'))").to_list()


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("select * from sales.nothing", NotFound, "sales.nothing: there is no such table"),
        ('select * from "sales"."no thing"', NotFound, "sales.no thing: there is no such table"),
        ("select * from nothing", NotFound, "nothing: there is no such table"),
        ("selec 1", Invalid, "syntax error"),
        ("select nothing from sales.orders", Invalid, "nothing"),
        ("select 'open", Invalid, "not SQL|unterminated"),
        ("select * from sales.orders version as of x", Invalid, "line 1, column 42: this is not a moment"),
        ("select * from sales.orders timestamp as of", Invalid, "a moment is missing"),
        ("select * from other@main.sales.orders", NotFound, "other"),
        (5, Invalid, "a query is text"),
        ("select '\ud800'", Invalid, "half of a surrogate pair"),  # was a TypeError of DuckDB's
    ],
)
def test_mistakes_are_named(shop, text, error, match):
    with pytest.raises(error, match=match):
        shop.query(text)


def test_views_that_mean_the_same_to_both_are_read(lake, main):
    main.create_view("sales.v", "select o.id, count(*) as n from `sales`.`orders` o where o.id >= 1 group by o.id")
    main.create_view("sales.named", "SELECT * FROM (\nselect id, n from sales.v order by id\n) AS `named` (`a`, `b`)")
    main.create_view("sales.eu.deep", "with t as (select a from sales.named) select a, coalesce(null, a) from t")
    main.create_view("sales.own", {"duckdb": "select list(id order by id)[1] as i from sales.orders", "trino": "?"})
    ids = sorted(lake.query("select id from sales.orders").to_list())
    assert lake.query("select v.id from sales.v order by 1").to_list() == ids
    assert lake.query("from Sales.NAMED select a order by b, a").to_list() == ids
    assert sorted(lake.query("from sales.eu.deep select a").to_list()) == ids
    assert lake.query("select v.i, own.i from sales.own v, sales.own").to_list() == [(ids[0][0], ids[0][0])]
    dev = main.create_branch("dev")
    dev.table("sales.orders").truncate()
    assert lake.query("from sales.v", ref="dev").to_list() == []
    assert main.at(-1).query("from sales.v").to_arrow().num_rows == len(ids)
    with pytest.raises(Invalid, match=r"sales\.v@dev: DuckDB reads a view where the query reads.*ref="):
        lake.query("from sales.v@dev")


@pytest.mark.parametrize(
    "text",
    [
        "select id / 2 from sales.orders",
        "select cast(id as string) from sales.orders",
        "select upper('a')",
        "select * from sales.orders@dev",
        "select * from sales.orders version as of 1",
        "select * from sales.orders a join sales.orders b using (id)",
        "select id from sales.orders where '2026-01-01' < '2026-01-02'",
        r"select 'it\'s' like 'a\\%'",
        "select * from sales.orders limit",
    ],
)
def test_a_view_that_may_mean_something_else_to_duckdb_is_refused(lake, main, text):
    main.create_view("sales.v", text)
    main.create_view("sales.w", "select * from sales.v")
    for name in ("sales.v", "sales.w"):
        with pytest.raises(LakebedError, match=rf"{name}: .*may mean something else to DuckDB.*set_sql"):
            lake.query(f"from {name}")
    assert lake.query("select v.id from sales.orders v limit 1").to_arrow().num_rows == 1  # a column, not the view


def test_a_view_reads_no_more_of_its_reader_by_duckdb_than_a_query(lake, main, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for text in (f"from read_csv('{tmp_path}/secret.csv')", "from '/etc/passwd'", "attach 'x'", "select 1; select 2"):
        main.create_or_replace_view("sales.v", {"duckdb": text})
        with pytest.raises(LakebedError):
            lake.query("from sales.v").to_list()


def test_views_in_a_circle_are_named_and_120_on_one_another_are_read(lake, main):
    main.create_view("sales.a", "select * from sales.b")
    main.create_view("sales.b", "select * from sales.a")
    with pytest.raises(Invalid, match=r"sales\.a → sales\.b → sales\.a: a view is made of itself"):
        lake.query("from sales.a")
    with main.transaction() as tx:
        tx.create_view("sales.v0", "select id from sales.orders")
        for number in range(1, 130):
            tx.create_view(f"sales.v{number}", f"select id from sales.v{number - 1}")
    assert lake.query("from sales.v119").to_arrow().num_rows == 2
    with pytest.raises(Invalid, match="more than 128 views"):
        lake.query("from sales.v129")


def test_a_missing_duckdb_is_named_with_what_to_install(lake, monkeypatch):
    monkeypatch.setattr("lakebed.lake.engines.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install 'lakebed\[duckdb\]'"):
        lake.query("select 1")


@pytest.mark.parametrize(
    "name",
    [
        *("other.sales.orders", "other.sales.orders@main", "OTHER.sales.orders", "other.top", "other.top@main"),
        *("other.sales.orders version as of {version}", "other.sales.orders@dev", '"other"."sales"."orders"'),
    ],
)
def test_a_name_that_begins_with_its_catalog_was_not_found(lake, main, name):
    other = lake.create_catalog("other")
    other.create_namespace("sales")
    for table in ("sales.orders", "top"):
        other.create_table(table, {"id": "long"}).append([{"id": 7}])
    other.create_branch("dev")
    name = name.format(version=other.version)
    assert ids(lake, f"select id from {name}") == [7]
    assert ids(lake, f"select o.id from {name} o join sales.orders using (id)") == []
    assert lake.catalog("other").query(f"select id from {name}").to_list() == [(7,)]


def test_a_name_that_begins_with_the_querys_own_catalog_was_a_syntax_error_of_duckdb(lake, main):
    for name in ("default.sales.orders", "default.items", "default.sales.eu.north.orders", "default.sales.orders@main"):
        assert ids(lake, f"select id from {name} order by id") == [1, 2]
    main.create_branch("dev").table("sales.orders").append([{"id": 9}])
    assert len(ids(lake, "select id from default.sales.orders", ref="dev")) == 3
    assert ids(lake, "select default.sales.orders.id from default.sales.orders order by id") == [1, 2]


def test_a_namespace_hides_the_catalog_of_its_name_and_an_alias_is_none(lake, main):
    other = lake.create_catalog("sales")
    other.create_table("orders", {"id": "long"}).append([{"id": 7}])
    assert ids(lake, "select id from sales.orders order by id") == [1, 2]
    lake.create_catalog("o").create_table("id", {"id": "long"})
    assert ids(lake, "select o.id from sales.orders o order by 1") == [1, 2]
