"""Statements on a lake: names, refs and moments find their rows, and changes are what the handles' calls make."""

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakebed import Catalog, Lake, Table
from lakebed.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound

Unchanged = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def sales(main: Catalog) -> Catalog:
    """Orders, items on two branches, a tag, a nested namespace, a table in none, a view."""
    main.create_namespace("sales")
    main.create_namespace("sales.eu")
    orders = main.create_table(
        "sales.orders", {"id": "long", "item": "string", "price": "decimal(10, 2)", "day": "date"}
    )
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
    prices = pa.array([Decimal("1.00"), Decimal("2.50"), None], pa.decimal128(10, 2))
    orders.append(pa.table({"id": [1, 2, 3], "item": ["tea", "jam", "it's"], "price": prices, "day": days}))
    items = main.create_table("sales.items", {"item": "string", "n": "int"})
    items.append(pa.table({"item": ["tea", "jam"], "n": pa.array([1, 2], pa.int32())}))
    main.create_table("sales.eu.orders", {"x": "int"}).append(pa.table({"x": pa.array([7], pa.int32())}))
    main.create_table("top", {"x": "int"}).append(pa.table({"x": pa.array([8], pa.int32())}))
    dev = main.create_branch("dev")
    dev.table("sales.items").append(pa.table({"item": ["pie"], "n": pa.array([9], pa.int32())}))
    main.create_tag("q4")
    orders.append(pa.table({"id": [4]}))
    main.create_view("sales.counts", "select count(*) as c from sales.orders")
    return main


def rows(answer: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in answer.collect()), key=repr)


def held(table: Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=repr)


def test_names_find_their_rows(lake: Lake, sales: Catalog, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(2).createOrReplaceTempView("numbers")
    path = tmp_path / "a folder" / "x"
    spark.range(3).write.parquet(str(path))
    for text, expected in (
        ("select id, sales.orders.item from sales.orders where sales.orders.id < 3", [(1, "tea"), (2, "jam")]),
        ("select o.id, i.n from sales.orders o join sales.items@dev i using (item)", [(1, 1), (2, 2)]),
        ("select n from sales.`items@dev` minus select n from sales.items", [(9,)]),
        ("select x from sales.eu.orders union all select x from top@main", [(7,), (8,)]),
        ("select x from default@main.top, `default@dev`.sales.items where n = 9", [(8,)]),
        ("select c from sales.counts", [(4,)]),
        ("table sales.items", [("jam", 2), ("tea", 1)]),
        ("with items as (select 'mine' as item) select item from items", [("mine",)]),
        ("select n.id from numbers n where n.id not in (select n from sales.items)", [(0,)]),
        (f"select count(*) from parquet.`{path}`", [(3,)]),
        ("select '{x}', map('{', 1)['{'] from sales.items where n = 1", [("{x}", 1)]),
        ("select count(*) from my_numbers(table(sales.items) partition by n)", None),
    ):
        if expected is None:
            with pytest.raises(AnalysisException, match="my_numbers"):
                lake.sql(spark, text)
        else:
            assert rows(lake.sql(spark, text)) == expected, text


def test_moments_find_the_rows_of_then(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    version = sales.table("sales.orders").history()[-2].version
    text = f"""select
        (select count(*) from sales.orders version as of {version}),
        (select count(*) from sales.orders for version as of 'q4'),
        (select count(*) from sales.orders for timestamp as of (current_timestamp() - interval 0 seconds) o),
        (select count(*) from sales.orders@dev),
        (select count(*) from sales.orders)"""
    assert rows(lake.sql(spark, text)) == [(3, 3, 4, 3, 4)]
    with pytest.raises(NotFound, match=r"line 1, column 15.*younger"):
        lake.sql(spark, "select * from sales.orders timestamp as of '2020-01-01'")
    with pytest.raises(NotFound, match="nope"):
        lake.sql(spark, "select * from sales.orders version as of 'nope'")


def test_a_ref_is_the_default_of_names(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    text = "select (select max(n) from sales.items), (select max(n) from sales.items@main)"
    for ref, expected in (("dev", (9, 2)), ("default@dev", (9, 2)), ("q4", (2, 2)), ("main", (2, 2)), (None, (2, 2))):
        assert rows(lake.sql(spark, text, ref=ref)) == [expected], ref
    lake.sql(spark, "insert into sales.items values ('new', 5)", ref="dev")
    assert sales.table("sales.items").scan().count() == 2
    with pytest.raises(Forbidden):
        lake.sql(spark, "insert into sales.items values ('new', 5)", ref="q4")
    with pytest.raises(NotFound):
        lake.sql(spark, text, ref="nope")


def test_names_that_lead_nowhere_are_pointed_at(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    for text, place in (
        ("select *\nfrom sales.nope", "line 2, column 6: sales.nope"),
        ("select * from foo.bar.baz", "line 1, column 15: foo.bar.baz"),
        ("select * from sales.items@nope", "line 1, column 15: nope"),
        ("update sales.nope set x = 1", "line 1, column 8: sales.nope"),
        ("insert into sales.nope values (1)", "line 1, column 13: sales.nope"),
        ("drop table sales.nope", "line 1, column 12: sales.nope"),
    ):
        with pytest.raises(NotFound) as missing:
            lake.sql(spark, text)
        assert str(missing.value).startswith(place)


def test_a_table_of_the_session_is_never_read_for_one_of_the_lake(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    spark.sql("create database if not exists sales")
    try:
        spark.range(99).write.saveAsTable("sales.items")
        spark.range(99).write.saveAsTable("sales.theirs")
        assert rows(lake.sql(spark, "select count(*) from sales.items")) == [(2,)]
        with pytest.raises(NotFound, match=r"sales\.theirs"):
            lake.sql(spark, "select count(*) from sales.theirs")
        with pytest.raises(Invalid, match="line 1, column 22: the session has a table of this name too"):
            lake.sql(spark, "select * from stream(sales.items)")
        spark.table("sales.theirs").createOrReplaceTempView("theirs")
        assert rows(lake.sql(spark, "select count(*) from theirs, sales.items where n = 1")) == [(99,)]
        assert rows(lake.sql(spark, "select count(*) from spark_catalog.sales.theirs")) == [(99,)]
    finally:
        spark.sql("drop database sales cascade")


def test_sparks_own_errors_say_where_in_the_given_text(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as refused:
        lake.sql(spark, "select count(*)\nfrom sales.items i join sales.orders using (item)\nwhere i.nope = 3")
    assert refused.value.__notes__ == ["In the original text: line 3, column 7: 'i'"]


def test_views_are_read_at_the_version_of_their_statement_and_never_in_circles(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    past = sales.view("sales.counts").history()[0].version
    sales.table("sales.orders").append(pa.table({"id": [5, 6]}))
    text = f"select (select c from sales.counts), (select count(*) from sales.orders version as of {past})"
    assert rows(lake.sql(spark, text)) == [(6, 4)]
    sales.create_view("sales.a", "select * from sales.b")
    sales.create_view("sales.b", "select * from sales.a")
    with pytest.raises(Invalid, match="made of itself"):
        lake.sql(spark, "select * from sales.a")


def test_explain_describe_and_temporary_views(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    ((plan,),) = rows(lake.sql(spark, "explain select * from sales.items where n = 1"))
    assert "Physical Plan" in plan
    assert [row[0] for row in lake.sql(spark, "describe sales.items@dev").collect()] == ["item", "n"]  # type: ignore[union-attr]
    lake.sql(spark, "create or replace temp view dev_items (a, b) as select * from sales.items@dev")
    lake.sql(spark, "insert into sales.items@dev values ('later', 1)")
    assert rows(lake.sql(spark, "select a from dev_items where b = 9")) == [("pie",)]


def test_files_that_a_where_rules_out_are_not_read(
    lake: Lake, main: Catalog, spark: SparkSession, in_files: None
) -> None:
    main.create_namespace("a")
    table = main.create_table("a.t", {"id": "long", "day": "date"})
    for number in range(4):
        table.append(pa.table({"id": [number], "day": [datetime.date(2026, 1, number + 1)]}))
    for text, files, count in (
        ("select * from a.t", 4, 4),
        ("select * from a.t where id = 2", 1, 1),
        ("select * from a.t x where x.id in (1, 2) and x.day > '2026-01-02'", 1, 1),
        ("select * from a.t where id > 1 or day = date '2026-01-01'", 3, 3),
        ("select * from a.t where id + 0 = 2", 4, 1),
        ("select x.* from a.t x join a.t y on x.id = y.id where x.id >= 2", 4, 2),
        ("select y.* from a.t x left join a.t y on x.id = y.id where y.id is null", 4, 0),
    ):
        answer: Any = lake.sql(spark, text)
        assert (len(answer.inputFiles()), answer.count()) == (files, count), text


WHERES = [
    "id > 3",
    "id = -1 or id is null",
    "id not in (1, 2, 3)",
    "not (id >= 2 and item < 'm')",
    "item = 'b' or price >= 2.5",
    "price = 2.50 and day <= '2026-01-03'",
    "price < 0 or not price > 1",
    "day between date '2026-01-02' and '2026-01-03'",
    "day <> date '2026-01-02' and item is not null",
    "at >= '2026-01-02 00:00:00' and at < timestamp '2026-01-04 12:00:00'",
    "item in ('a', 'c', null)",
    "item <> '' and flag",
    "not flag",
    "id = 2.0 or f > 1",
    "f = 0.1 or f is null",
    "id = '3' or id > 4",
    "item > 'Z' and item like '_'",
    "(id = 1 and (item = 'a' or day is null)) or (id = 5 and item <=> null)",
]


def test_pruning_changes_no_answer(lake: Lake, main: Catalog, spark: SparkSession, in_files: None) -> None:
    main.create_namespace("a")
    types = {"id": "long", "item": "string", "price": "decimal(10, 2)", "day": "date", "at": "timestamptz"}
    table = main.create_table("a.t", types | {"flag": "boolean", "f": "double"})
    for number in range(-1, 6):
        some = number != 4
        day = datetime.datetime(2026, 1, number + 2, tzinfo=datetime.UTC)
        row = {"id": number if some else None, "item": "abc"[number % 3] if number != 5 else None, "at": day}
        row |= {"price": Decimal(number) / 2 if some else None, "day": day.date(), "f": number / 10 if some else None}
        table.append(pa.Table.from_pylist([row | {"flag": number % 2 == 0 if some else None}], columns(table)))
    table.read(spark).createOrReplaceTempView("plain")
    for form, wheres in (
        ("select {n} as w, id from {t} where {where}", WHERES),
        ("select {n} as w, x.id from {t} x join {t} y using (day) where x.{where}", WHERES[:1]),
    ):
        asked = {t: [form.format(n=n, t=t, where=one) for n, one in enumerate(wheres)] for t in ("a.t", "plain")}
        found, expected = (" union all ".join(asked[t]) for t in ("a.t", "plain"))
        assert rows(lake.sql(spark, found)) == rows(spark.sql(expected))


def columns(table: Table) -> pa.Schema:
    return table.scan().to_arrow().schema


def test_rows_are_inserted_by_position_by_name_and_by_a_list(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    made = lake.sql(
        spark,
        "create table sales.c (id bigint not null comment 'its, number', name string default 'x' || 'y', "
        "d decimal(10, 2) default 1.5, primary key (id)) comment 'all' tblproperties ('a' = 'b')",
    )
    assert isinstance(made, Table)
    assert (made.primary_key, made.comment, made.properties["a"]) == (("id",), "all", "b")
    assert (made.schema.field("id").comment, made.schema.field("id").required) == ("its, number", True)
    lake.sql(spark, "insert into sales.c values (1, 'a', 10), (2, null, 1.005)", message="two")
    lake.sql(spark, "insert into sales.c (D, id) select 3, n from sales.items where n = 2 + 1 union all values (3, 3)")
    lake.sql(spark, "with x as (select 4 as id) insert into table sales.c by name select * from x")
    assert held(made) == [
        (1, "a", Decimal("10.00")),
        (2, None, Decimal("1.01")),
        (3, "xy", Decimal("3.00")),
        (4, "xy", Decimal("1.50")),
    ]
    assert made.history()[2].message == "two"


def test_what_does_not_fit_is_refused_and_changes_nothing(
    lake: Lake, sales: Catalog, spark: SparkSession, unchanged: Unchanged
) -> None:
    for text, problem in (
        ("insert into sales.items values (1)", "line 1, column 25: the query has 1 columns, but 2"),
        ("insert into sales.items (item, nope) values ('a', 1)", "line 1, column 32: there is no such column"),
        ("insert into sales.items (item, item) values ('a', 'b')", "line 1, column 32: a column is named twice"),
        ("insert into sales.items by name select 1 as zzz", "sales.items, column 'zzz'"),
        ("insert into sales.items values ('a', 'b')", "sales.items, column 'n': a value can't be stored"),
        ("insert into sales.items values ('a', 3000000000)", "sales.items, column 'n': a value does not fit"),
        ("update sales.items set nope = 1", "there is no such column"),
        ("delete from sales.items where nope = 1", "there is no such column"),
        ("create table sales.new (a int, b whatever)", "line 1, column 32: Spark can't read this column"),
        ("create table sales.new (a int) partitioned by (nope)", "there is no such column"),
        ("create table sales.new as select 1 as a, 2 as a", "a"),
    ):
        with unchanged(), pytest.raises(Invalid) as refused:
            lake.sql(spark, text)
        assert problem in str(refused.value), text


def test_rows_are_changed_as_by_the_handles(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    orders, items = sales.table("sales.orders"), sales.table("sales.items")
    lake.sql(
        spark,
        "update sales.orders o set o.item = upper(o.item) || '!', price = o.id where o.id <= 2 and length(item) = 3",
    )
    assert held(orders)[:2] == [
        (1, "TEA!", Decimal("1.00"), datetime.date(2026, 1, 1)),
        (2, "JAM!", Decimal("2.00"), datetime.date(2026, 1, 2)),
    ]
    lake.sql(spark, "delete from sales.orders o where o.id > 2 and substr(coalesce(o.item, 'x'), 1, 1) = 'x'")
    assert [row[0] for row in held(orders)] == [1, 2, 3]
    lake.sql(
        spark,
        """merge into sales.items t using (select item, n * 10 as n from sales.items@dev) as s on t.item = s.item
        when matched and s.item = 'jam' then delete
        when matched then update set n = s.n + t.n
        when not matched then insert (item, n) values (concat(s.item, '?'), s.n)""",
    )
    assert held(items) == [("pie?", 90), ("tea", 11)]
    lake.sql(
        spark, "merge into sales.items using sales.items@dev d on items.item = d.item when matched then update set *"
    )
    assert held(items) == [("pie?", 90), ("tea", 1)]
    lake.sql(spark, "truncate table sales.items")
    assert held(items) == []


def test_conditions_and_values_may_have_queries_inside(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    orders = sales.table("sales.orders")
    lake.sql(
        spark,
        "update sales.orders set price = (select max(n) from sales.items@dev) where item in (select i.item from "
        "sales.items i join sales.orders@main o on i.item = o.item)",
    )
    assert [row[:3] for row in held(orders)] == [
        (1, "tea", Decimal("9.00")),
        (2, "jam", Decimal("9.00")),
        (3, "it's", None),
        (4, None, None),
    ]
    lake.sql(spark, "delete from sales.orders where item not in (select item from sales.items) or id = 4")
    assert [row[0] for row in held(orders)] == [1, 2]
    assert not [one for one in spark.catalog.listTables() if one.name.startswith("lakebed_")]
    with pytest.raises(NotFound, match=r"line 1, column 54: sales\.nope"):
        lake.sql(spark, "delete from sales.orders where id in (select id from sales.nope)")
    with pytest.raises(Invalid, match="event id"):
        lake.sql(spark, "delete from sales.orders where id in (select n from sales.items)", event_id=uuid4())


def test_rows_are_overwritten_whole_by_condition_and_by_partition(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    items = sales.table("sales.items")
    lake.sql(spark, "insert overwrite sales.items select item, n + 1 from sales.items where n = 2")
    assert held(items) == [("jam", 3)]
    lake.sql(spark, "insert into sales.items replace where items.n = 3 values ('a', 1), ('b', 2)")
    assert held(items) == [("a", 1), ("b", 2)]
    parts: Any = lake.sql(spark, "create table sales.p (id int, region string) partitioned by (region)")
    lake.sql(spark, "insert into sales.p values (1, 'eu'), (2, 'us'), (3, 'eu')")
    lake.sql(spark, "insert overwrite table sales.p values (9, 'eu')")
    assert held(parts) == [(2, "us"), (9, "eu")]


def test_tables_are_made_of_queries_in_one_commit(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    made: Any = lake.sql(
        spark,
        "create table sales.copy partitioned by (days(day)) as select id, day from sales.orders where day is not null",
        message="copied",
    )
    assert (str(made.spec), len(held(made)), [one.message for one in made.history()]) == ("day(day)", 3, ["copied"])
    with pytest.raises(AlreadyExists):
        lake.sql(spark, "create table sales.copy as select 1 as a")
    again: Any = lake.sql(spark, "create table if not exists sales.copy (a int)")
    assert again == made
    replaced: Any = lake.sql(spark, "create or replace table sales.copy as select count(*) as c from sales.copy")
    assert held(replaced) == [(3,)]
    lake.sql(spark, "drop table sales.copy")
    assert lake.sql(spark, "drop table if exists sales.copy") is None


def test_a_transaction_sees_its_own_rows_and_commits_all_at_once(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    with sales.transaction("both") as tx:
        assert tx.sql(spark, "insert into sales.items values ('tx', 77)") is None
        tx.sql(spark, "create table sales.made as select n from sales.items where n > 2")
        assert rows(tx.sql(spark, "select n from sales.made")) == [(77,)]
        assert rows(tx.sql(spark, "select max(n) from sales.items@main")) == [(2,)]
        with pytest.raises(Invalid, match="only change its own branch"):
            tx.sql(spark, "delete from sales.items@dev")
    assert held(sales.table("sales.made")) == [(77,)]
    assert sales.log(limit=1)[0].message == "both"


def test_what_a_transaction_read_by_sql_is_in_its_read_set(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    with pytest.raises(Conflict), sales.transaction() as tx:
        tx.sql(spark, "insert into sales.orders (id) select max(n) from sales.items")
        sales.table("sales.items").append(pa.table({"item": ["x"], "n": pa.array([100], pa.int32())}))


def test_a_query_makes_no_commit(lake: Lake, sales: Catalog, spark: SparkSession, unchanged: Unchanged) -> None:
    with unchanged():
        rows(lake.sql(spark, "select * from sales.items"))
        with pytest.raises(Invalid, match="makes no commit"):
            lake.sql(spark, "select 1", message="why")


def test_a_share_shows_nothing_beside_it(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    share = sales.create_share("partner", ["sales.items"])
    assert rows(share.sql(spark, "select n from sales.items")) == [(1,), (2,)]
    with pytest.raises(NotFound):
        share.sql(spark, "select * from sales.orders")
    with pytest.raises(Forbidden):
        share.sql(spark, "select * from sales.orders@main")
