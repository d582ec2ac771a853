"""Statements as text: what is found in them, cut from them and refused; Spark's own parser says where tables stand."""

import re
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.spark.sql.conjuncts import prunable
from lakebed.spark.sql.execute import _edited, _edits
from lakebed.spark.sql.parsing import parse_query, parse_statement
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.statements import (
    CreateTable,
    CreateTemporaryView,
    Default,
    Delete,
    DropTable,
    Insert,
    InsertOverwrite,
    Matched,
    Merge,
    MergeClause,
    Select,
    Update,
)
from lakebed.table.expression.merge_clauses import Then, When
from lakebed.table.schema.schema import Schema

QUERIES = [
    "select * from sales.orders",
    "SELECT o.id FROM sales.orders AS o WHERE o.id > 3",
    "select * from sales.eu.orders x, sales.items",
    "select a.id from sales.orders a left join sales.items b on a.id = b.id right join sales.eu.orders c using (id)",
    "select * from (select * from sales.orders) t join (sales.items i cross join sales.eu.orders) on true",
    "with x as (select * from sales.orders), orders as (select 1) select * from x, orders, sales.orders o",
    "select * from sales.orders where id in (select id from sales.items where exists (select 1 from sales.eu.orders))",
    "select (select max(id) from sales.items), sales.orders.id from sales.orders order by (select 1 from sales.items)",
    "select id from sales.orders union all select id from sales.items except (select id from sales.eu.orders)",
    "table sales.orders",
    "select * from (table sales.orders) union table sales.items",
    "with x as (table sales.orders) table x",
    "from sales.orders select id where id > 1",
    "from sales.orders |> where id > 1 |> join sales.items using (id)",
    "select * from sales.orders tablesample (10 percent) repeatable (3) o",
    "select * from sales.orders pivot (sum(price) as s for item in ('a' as a, 'b' as b))",
    "select * from sales.orders unpivot (v for n in (a, b))",
    "select id, e from sales.orders lateral view outer explode(tags) t as e",
    "select * from sales.orders o, lateral (select * from sales.items i where i.id = o.id) l",
    "select * from sales.orders o join lateral (select o.id + 1 as n)",
    "select /*+ broadcast(sales.items), shuffle_hash(o) */ * from sales.orders o join sales.items on true",
    "select percentile_cont(0.5) within group (order by price) filter (where id > 2) from sales.orders",
    "select transform(tags, (t, i) -> t || i), map('a', 1)['a'], info.a.b, tags[0].x from sales.orders",
    "select -1, 10L, 1.5BD, 2e3, .5, x'1F', r'a\\d', 'it''s', \"dq\", 'a' 'b' from sales.orders",
    "select case when id = 1 then 'from sales.items' end -- from sales.y\n from /* sales.z */ sales.orders",
    "select interval '1-2' year to month, date '2020-01-01' + interval 3 days from sales.orders",
    "select cast(id as string), id::decimal(10, 2), try_cast(item as int), extract(year from day) from sales.orders",
    "select count(*), count(distinct id, item) from sales.orders group by cube (id, item) having count(*) > 1",
    "select * from sales.orders group by all order by all limit 3 offset 1",
    "select * except (id) from sales.orders o",
    "select * from values (1, 'a'), (2, 'b') as t (id, item) join sales.orders using (id)",
    "values (1), (2)",
    "select 1",
    "select * from range(5) r cross join sales.orders",
    "select * from sales.orders version as of 17 o where o.id = 1",
    "select * from sales.orders for version as of 'q4' join sales.items for timestamp as of '2026-11-01' using (id)",
    "select * from sales.orders timestamp as of date_sub(current_date(), 1) as o",
    "select * from sales.orders for system_time as of timestamp '2026-11-01 00:00:00'",
    "select * from `sales`.`orders`, sales . items",
    "select `sales`.`orders`.`id`, sales.orders.*, orders.item from sales.orders",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select * from r, sales.orders",
    "select * from sales.orders o where o.item like 'a\\_%' escape '\\\\' and item rlike '^a{2,3}$'",
    "select struct(1, 2), named_struct('a', 1), array(1, 2), order_status, `from` from sales.orders",
    "select * from sales.orders o anti join sales.items i on o.id = i.id semi join sales.eu.orders e on true",
    "select * from sales.orders distribute by id sort by item",
    "((select * from sales.orders))",
    "(select * from sales.orders) union (select * from sales.items) order by 1",
    "select `ordér`.`id` from sales.`ordérs` `ordér` -- ünïcode\n where 'ß' = item",
]
NEWER = [
    "select id, row_number() over w as n from sales.orders window w as (partition by item order by id) qualify n = 1",
    "select * from sales.orders tablesample (5 rows) join sales.items tablesample (bucket 1 out of 4) i on true",
]
"""What older versions have no words for, and where they take a seed for each sample when they parse."""


def tpch() -> dict[int, str]:
    spec = spec_from_file_location("tpch_queries", Path(__file__).parents[2] / "tpch" / "queries.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[int, str] = module.QUERIES
    return found


def plan_of(spark: SparkSession, text: str) -> str:
    parser: Any = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]
    return str(parser.parsePlan(text).toString())


def relations(plan: str) -> Counter[str]:
    found = re.findall(r"'UnresolvedRelation \[(.*?)\]", plan)
    return Counter(one.replace(", ", ".") for one in found if "," in one)


def edited(query: Query) -> str:
    """The text that Spark gets, with plain names for the DataFrames."""
    return _edited(query.text, _edits(query)).format_map(
        {f"t{use.name.start}": f"frame{number}" for number, use in enumerate(query.uses)}
    )


def test_every_table_that_sparks_parser_sees_is_found(spark: SparkSession) -> None:
    for text in [*QUERIES, *tpch().values()]:
        check_found(spark, text)


def test_what_spark_gets_is_the_same_query_on_dataframes(spark: SparkSession) -> None:
    for text in [*QUERIES, *tpch().values()]:
        check_same(spark, text)


@pytest.mark.since("4.3", "QUALIFY, and samples without a seed of the parser's")
def test_queries_that_only_newer_versions_have_are_found_and_the_same_too(spark: SparkSession) -> None:
    for text in NEWER:
        check_found(spark, text)
        check_same(spark, text)


def check_found(spark: SparkSession, text: str) -> None:
    found = Counter(use.name.spelled for use in parse_query(text).uses)
    assert found == relations(plan_of(spark, text)), text


def check_same(spark: SparkSession, text: str) -> None:
    query = parse_query(text)
    if not query.uses:
        assert edited(query) == text
        return
    before, after = plan_of(spark, text), plan_of(spark, edited(query))
    assert relations(after) == Counter(), text
    assert shape(after) == shape(before), text


def shape(plan: str) -> list[str]:
    """The operators of a plan and what they calculate; how tables are called, and when they are read, left out."""
    lines = [re.sub(r"^[\s:|+-]*", "", one) for one in plan.splitlines()]
    named = [re.sub(r"UnresolvedRelation \[.*?\]", "UnresolvedRelation", one) for one in lines]
    named = [re.sub(r"`?sales`?\.(?:`?eu`?\.)?`?(\w+)`?\.", r"\1.", one.replace("'", "")) for one in named]
    named = [re.sub(r"RelationTimeTravel.*", "UnresolvedRelation, [], false", one) for one in named]
    dropped = ("SubqueryAlias", "UnresolvedHint")
    return [re.sub(r"sales, (?:eu, )?|#[0-9]+", "", one) for one in named if not one.startswith(dropped)]


def test_all_22_queries_of_tpch_keep_their_text() -> None:
    queries = tpch()
    assert sorted(queries) == list(range(1, 23))
    for text in queries.values():
        query = parse_query(text)
        assert query.text == text.rstrip()
        assert not query.suspects
        restored = re.sub(r"\((frame[0-9]+) AS `(\w+)`\)", r"tpch.\2", edited(query))
        assert restored == text.rstrip()


def test_refs_are_part_of_names() -> None:
    text = "select * from sales.items@dev i, sales.`items@q4`, `other@main`.sales.items, other@dev.a.b, top@`2026-q4`"
    names = [(use.name.parts, use.name.place, use.alias) for use in parse_query(text).uses]
    assert names == [
        (("sales", "items"), "@dev", "items"),
        (("sales", "items"), "@q4", "items"),
        (("sales", "items"), "other@main", "items"),
        (("a", "b"), "other@dev", "b"),
        (("top",), "@2026-q4", "top"),
    ]
    assert "@" not in edited(parse_query(text))


def test_names_of_one_part_are_the_sessions() -> None:
    query = parse_query("with x as (select 1) select * from x, view1 v")
    assert query.uses == ()
    assert query.text == "with x as (select 1) select * from x, view1 v"


def test_moments_are_read_and_cut_out() -> None:
    text = (
        "select * from a.b version as of 17, a.b for system_version as of 'q4', a.b timestamp as of '2026-11-01', "
        "a.b@dev for timestamp as of (now() - interval 1 day) d"
    )
    query = parse_query(text)
    moments = [use.name.moment for use in query.uses]
    assert [one and (one.version, one.time, one.expression) for one in moments] == [
        ("17", None, None),
        ("q4", None, None),
        (None, "2026-11-01", None),
        (None, None, "(now() - interval 1 day)"),
    ]
    assert edited(query) == ("select * from (frame0 AS `b`), (frame1 AS `b`), (frame2 AS `b`), (frame3 AS `b`) d")


def test_braces_and_whatever_else_is_in_a_text_stay_as_they_are() -> None:
    text = "select '{x}', \"{{y}}\" /* {z} */, `a{b}` from sales.orders where item = '{t14}'"
    assert edited(parse_query(text)) == text.replace("sales.orders", "(frame0 AS `orders`)")


def test_qualified_columns_get_the_short_name() -> None:
    text = "select sales.orders.id, sales.orders.info.a, sales.orders.*, SALES.Orders.item from sales.orders"
    assert edited(parse_query(text)) == (
        "select `orders`.id, `orders`.info.a, `orders`.*, `orders`.item from (frame0 AS `orders`)"
    )


def test_a_struct_of_an_alias_is_no_qualified_column() -> None:
    text = "select sales.orders.id from sales.orders o join x as sales on true"
    assert "sales.orders.id" in edited(parse_query(text))


def test_what_stands_before_a_query_becomes_blank_and_no_word_moves() -> None:
    text = "with x as (select 1)\ninsert into sales.orders (id)\nselect * from x, sales.items"
    statement = parse_statement(text)
    assert isinstance(statement, Insert)
    assert statement.query.text.split() == [
        "with",
        "x",
        "as",
        "(select",
        "1)",
        "select",
        "*",
        "from",
        "x,",
        "sales.items",
    ]
    assert statement.query.text.index("sales.items") == text.index("sales.items")
    assert statement.query.text.count("\n") == 2


def test_an_insert() -> None:
    statement = parse_statement("INSERT INTO TABLE sales.orders@dev (id, `the item`) VALUES (1, 'a');")
    assert isinstance(statement, Insert)
    assert (statement.table.spelled, [name for name, _ in statement.columns]) == (
        "sales.orders@dev",
        ["id", "the item"],
    )
    assert statement.query.text.strip() == "VALUES (1, 'a')"
    by_name = parse_statement("insert into sales.orders by name (select 1 as id)")
    assert isinstance(by_name, Insert) and by_name.matched is Matched.NAME and by_name.columns == ()
    replaced = parse_statement("insert into sales.orders replace where orders.id = (1) select 1")
    assert isinstance(replaced, InsertOverwrite) and replaced.where == "id = (1)"
    whole = parse_statement("insert overwrite sales.orders table x")
    assert isinstance(whole, InsertOverwrite) and whole.where is None


def test_an_update_and_a_delete_lose_the_names_of_their_table() -> None:
    statement = parse_statement(
        "update sales.orders as o set o.price = o.price * (1 - 0.1), "
        "`Item` = case when o.item = 'o.item' then o.a.b end where o.id = 3 and o.x is not null -- the end"
    )
    assert statement == Update(
        statement.table,
        ((("price",), "price * (1 - 0.1)"), (("Item",), "case when item = 'o.item' then a.b end")),
        "id = 3 and x is not null",
    )
    gone = parse_statement("delete from sales.orders where sales.orders.id = 1 or orders.item = upper(orders.item)")
    assert isinstance(gone, Delete) and gone.where == "id = 1 or item = upper(item)"
    aliased = parse_statement("delete from sales.orders x where orders.id = 1")
    assert isinstance(aliased, Delete) and aliased.where == "orders.id = 1"
    everything = parse_statement("truncate table sales.orders")
    assert isinstance(everything, Delete) and everything.where is None


def test_what_a_lambda_calls_its_argument_is_no_table() -> None:
    statement = parse_statement(
        "update a.b o set x = transform(o.y, (o, i) -> o.z + i), n = filter(o.y, p -> p.z > o.w)"
    )
    assert isinstance(statement, Update)
    assert statement.values == (
        (("x",), "transform(o.y, (o, i) -> o.z + i)"),  # Spark refuses the first o, and nothing is read wrongly
        (("n",), "filter(y, p -> p.z > w)"),
    )


def test_a_name_that_both_tables_of_a_merge_have_stands_for_neither() -> None:
    statement = parse_statement("merge into a.t using b.t on a.t.x = b.t.y and t.z = 1 when matched then delete")
    assert isinstance(statement, Merge) and statement.on == "target.x = source.y and t.z = 1"


def test_columns_may_have_any_name() -> None:
    query = parse_query("select `user@host`, t.`a@b`, `x@y`.`z@w`.c from sales.t")
    assert [use.name.spelled for use in query.uses] == ["sales.t"]
    assert query.suspects == ()


def test_queries_inside_conditions_and_values_read_views_of_their_own() -> None:
    statement = parse_statement(
        "update a.b t set n = (select max(m) from a.c@dev) where t.n in (select c.n from a.c version as of 3) and "
        "exists (select a.d.x from a.d, w where w.y = 1)"
    )
    assert isinstance(statement, Update)
    first, second, third = statement.views
    assert [(one.use.name.spelled, one.use.alias) for one in statement.views] == [
        ("a.c@dev", "c"),
        ("a.c", "c"),
        ("a.d", "d"),
    ]
    assert statement.values == ((("n",), f"(select max(m) from ({first.name} AS `c`))"),)
    assert statement.where == (
        f"n in (select c.n from ({second.name} AS `c`)) and "
        f"exists (select `d`.x from ({third.name} AS `d`), w where w.y = 1)"
    )


def test_queries_inside_may_name_the_table_that_is_changed() -> None:
    statement = parse_statement("delete from a.b t where exists (select 1 from q where q.x = t.x and y = t.y.z)")
    assert isinstance(statement, Delete)
    assert statement.where == "exists (select 1 from q where q.x = lakebed_target.x and y = lakebed_target.y.z)"
    scalar = parse_statement("update a.b t set n = (select max(y) from q where q.x = t.x)")
    assert isinstance(scalar, Update)
    assert scalar.values == ((("n",), "(select max(y) from q where q.x = lakebed_target.x)"),)
    own = parse_statement("delete from a.b where x in (select b.x from q as b) and b.y = 1")
    assert isinstance(own, Delete) and own.where == "x in (select b.x from q as b) and y = 1"


def test_a_change_by_another_table_is_a_merge_with_one_clause() -> None:
    gone = parse_statement("delete from a.b t using (select 1 as x) s where t.x = s.x and t.y > 1")
    assert isinstance(gone, Merge) and gone.on == "target.x = source.x and target.y > 1"
    assert gone.clauses == (MergeClause(When.MATCHED, Then.DELETE),)
    changed = parse_statement("update a.b set x = c.y + b.z from a.c where b.x = c.x")
    assert isinstance(changed, Merge) and changed.on == "target.x = source.x"
    assert changed.clauses == (MergeClause(When.MATCHED, Then.UPDATE, ((("x",), "source.y + target.z"),)),)


def test_defaults_and_fields_are_read() -> None:
    statement = parse_statement("update a.b t set t.x = default, st.a.b = 1 + default")
    assert isinstance(statement, Update)
    assert statement.values == ((("x",), Default.DEFAULT), (("st", "a", "b"), "1 + default"))
    inserted = parse_statement("insert into a.b partition (d = 'x', e) values (1, default), (default, (2))")
    assert isinstance(inserted, Insert)
    assert [(one.word.start, one.column) for one in inserted.defaults] == [(50, 1), (61, 0)]
    assert [(one.name, one.sql, one.text) for one in inserted.constants] == [("d", "'x'", "x")]


def test_a_merge() -> None:
    statement = parse_statement(
        """MERGE INTO sales.orders AS source
        USING (select id, item from sales.items version as of 3) AS target
        ON source.id = target.id
        WHEN MATCHED AND target.item = 'gone' THEN DELETE
        WHEN MATCHED THEN UPDATE SET n = 1,
            source.item = case when target.item = '' then source.item else target.item end
        WHEN NOT MATCHED BY TARGET THEN INSERT (id, item) VALUES (target.id, lower(target.item))
        WHEN NOT MATCHED BY SOURCE AND source.id < 10 THEN UPDATE SET item = concat(source.item, '?')
        WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    )
    assert isinstance(statement, Merge)
    assert statement.on == "target.id = source.id"
    changed = "case when source.item = '' then target.item else source.item end"
    assert statement.clauses == (
        MergeClause(When.MATCHED, Then.DELETE, None, "source.item = 'gone'"),
        MergeClause(When.MATCHED, Then.UPDATE, ((("n",), "1"), (("item",), changed)), None),
        MergeClause(When.NOT_MATCHED, Then.INSERT, ((("id",), "source.id"), (("item",), "lower(source.item)")), None),
        MergeClause(
            When.NOT_MATCHED_BY_SOURCE, Then.UPDATE, ((("item",), "concat(target.item, '?')"),), "target.id < 10"
        ),
        MergeClause(When.NOT_MATCHED_BY_SOURCE, Then.DELETE, None, None),
    )
    assert " ".join(edited(statement.source).split()) == "SELECT * FROM (select id, item from (frame0 AS `items`))"


def test_a_merge_of_all_columns_of_a_table() -> None:
    statement = parse_statement(
        "merge into sales.orders using sales.items@dev on orders.id = items.id "
        "when matched then update set * when not matched then insert *"
    )
    assert isinstance(statement, Merge)
    assert statement.on == "target.id = source.id"
    assert [one.values for one in statement.clauses] == [None, None]
    assert [use.name.spelled for use in statement.source.uses] == ["sales.items@dev"]


def test_a_table_is_declared() -> None:
    statement = parse_statement(
        "create table if not exists sales.orders (id bigint not null comment 'the, id', "
        "price decimal(10, 2) default 1 + 1 not null, "
        "info struct<a: int, b: map<string, array<int>>>, constraint pk primary key (id, price), "
        "constraint cheap check (price < 100)) "
        "using lakebed partitioned by (days(day), bucket(16, id), `a b`) comment 'all' location 'x' "
        "tblproperties ('a.b'='1', c=2)"
    )
    assert isinstance(statement, CreateTable)
    assert [(one.name, one.type, one.default, one.required, one.comment) for one in statement.columns] == [
        ("id", "bigint", None, True, "the, id"),
        ("price", "decimal(10, 2)", "1 + 1", True, ""),
        ("info", "struct<a: int, b: map<string, array<int>>>", None, False, ""),
    ]
    assert statement.primary_key == ("id", "price")
    assert statement.partition_by == ("days(day)", "bucket(16, id)", "`a b`")
    assert statement.properties == (("a.b", "1"), ("c", "2"), ("check.cheap", "price < 100"))
    assert (statement.comment, statement.location, statement.if_not_exists) == ("all", "x", True)


def test_tables_of_queries_views_and_drops() -> None:
    made = parse_statement("create or replace table sales.x partitioned by (id) as select * from sales.orders")
    assert isinstance(made, CreateTable) and made.replace and made.query is not None and len(made.query.uses) == 1
    view = parse_statement("create or replace global temporary view v (a, b) as select 1, 2")
    assert isinstance(view, CreateTemporaryView) and (view.columns, view.everywhere) == (("a", "b"), True)
    gone = parse_statement("drop table if exists sales.x")
    assert isinstance(gone, DropTable) and (gone.table.spelled, gone.if_exists) == ("sales.x", True)


def test_explain_and_describe_are_queries() -> None:
    for text in ("explain formatted select * from sales.orders", "describe query select * from sales.orders"):
        query = parse_query(text)
        assert edited(query) == text.replace("sales.orders", "(frame0 AS `orders`)")


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("", "", ""),
        ("  -- nothing\n", "", ""),
        ("selec 1", "line 1, column 1", "'selec'"),
        ("select 1;\nselect 2", "line 2, column 1", "'select'"),
        ("select 'open", "", "a quote without end"),
        ("select * from sales.items @dev", "line 1, column 27", "'@'"),
        ("select * from sales.items@ dev", "line 1, column 26", "'@'"),
        ("select * from sales.items@dev-1", "line 1, column 27", "'dev'"),
        ("select * from sales.items@dev@x", "line 1, column 27", "'dev'"),
        ("select * from a@b.sales.items@dev", "line 1, column 25", "'items@dev'"),
        ("select * from a.b@c.d", "line 1, column 15", "'a'"),
        ("select * from identifier('sales.items')", "line 1, column 15", "'identifier'"),
        ("select * from a.b version as of x", "line 1, column 33", "'x'"),
        ("select * from a.b timestamp as of now() - interval 1 day", "line 1, column 41", "'-'"),
        ("insert into orders values (1)", "line 1, column 13", "'orders'"),
        ("insert sales.orders values (1)", "line 1, column 8", "'sales'"),
        ("insert into sales.orders\nset x = 1", "line 2, column 1", "'set'"),
        ("insert into sales.orders (id, ) values (1)", "line 1, column 31", "')'"),
        ("update sales.orders where id = 1", "line 1, column 21", "'where'"),
        ("update sales.orders set", "line 1, column 24", "the end"),
        ("update sales.orders set x == 1", "line 1, column 27", "'=='"),
        ("update sales.orders set x = 1 from sales.items", "line 1, column 47", "the end"),
        ("update sales.orders set x = 1, X = 2", "line 1, column 32", "'X'"),
        ("update sales.orders set x.y = 1, x = 2", "line 1, column 34", "'x'"),
        ("delete from sales.orders using a.b, a.c where b.x = c.x", "line 1, column 35", "','"),
        ("truncate table sales.orders partition (a = 1)", "line 1, column 29", "'PARTITION'"),
        ("delete from a.b t where x in (select (select max(t.y) from a.t) from a.t)", "line 1, column 50", "'t'"),
        ("delete sales.orders", "line 1, column 8", "'sales'"),
        ("delete from sales.orders where", "line 1, column 31", "the end"),
        ("delete from sales.orders version as of 3", "line 1, column 26", "'version'"),
        (
            "merge into a.b t using c s on t.x = (select max(s.x) from a.s where x in (select 1)) when matched "
            "then delete",
            "column 49",
            "'s'",
        ),
        (
            "merge into a.b t using c s on t.x = (select max(y) from target where target.z = t.x) when matched "
            "then delete",
            "column 81",
            "'t'",
        ),
        ("merge into a.b using c on b.x = c.x", "line 1, column 36", "the end"),
        ("merge into a.b using c on b.x = c.x when matched then insert *", "line 1, column 55", "'insert'"),
        ("merge into a.b using c on true when not matched then insert (x, y) values (1)", "line 1, column 75", "'('"),
        ("create table a.b", "line 1, column 17", "the end"),
        ("create table a.b (id)", "line 1, column 21", "')'"),
        ("create table a.b (id int) using delta", "line 1, column 33", "'delta'"),
        ("create table a.b (id int) comment 'a' comment 'b'", "line 1, column 39", "'comment'"),
        ("create table a.b (id int) as select 1", "line 1, column 27", "'as'"),
        ("create share dev", "line 1, column 8", "'share'"),
        ("drop catalog sales", "line 1, column 6", "'catalog'"),
        ("drop table a.b purge", "line 1, column 16", "'purge'"),
        ("alter share a add b", "line 1, column 7", "'share'"),
    ],
)
def test_what_can_not_be_read_is_pointed_at(text: str, place: str, found: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_statement(text)
    assert place in str(refused.value)
    assert found.lower() in str(refused.value).lower()


def test_the_error_names_the_python_call() -> None:
    for text, call in (
        ("create share s", "catalog.create_share"),
        ("drop catalog c", "lake.drop_catalog"),
        ("alter branch b rename to c", "catalog.rename_branch"),
        ("vacuum sales.orders", "catalog.purge_table"),
        ("grant select on sales.orders to ada", "catalog.create_share"),
        ("optimize sales.orders zorder by (id)", "table.compact("),
        ("alter table sales.orders create branch dev", "catalog.create_branch"),
        ("begin transaction", "catalog.transaction()"),
    ):
        with pytest.raises(Invalid, match=re.escape(call)):
            parse_statement(text)


SCHEMA = Schema(
    {"id": "long", "item": "string", "price": "decimal(10, 2)", "day": "date", "at": "timestamptz", "f": "double"}
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from a.t where id > 3 and f > 1", ["`id` > 3"]),
        ("select * from a.t where id > 3 or item = 'x'", ["`id` > 3 OR `item` = 'x'"]),
        (
            "select * from a.t x where (x.id = 1 and (x.item in ('a', 'b'))) and not x.day < '2020-01-01'",
            ["`id` = 1 AND `item` IN ('a', 'b') AND NOT (`day` < '2020-01-01')"],
        ),
        ("select * from a.t where a.t.id = 1", [None]),
        ("select * from a.t where y.id = 1", [None]),
        ("select * from a.t where id = 1.5 and price = 1.5 and price < 1e3", ["`price` = 1.5"]),
        ("select * from a.t where ID = 1", [None]),
        ("select * from a.t where item = 'a\\'b' and id = 1", ["`id` = 1"]),
        ('select * from a.t where item = "b"', [None]),
        ("select * from a.t where item = 3 or id = '3'", [None]),
        ("select * from a.t where id + 1 = 3 and upper(item) = 'A' and day > current_date()", [None]),
        ("select * from a.t where day = date '2020-01-01' and day <> '2020-1-1'", ["`day` = DATE '2020-01-01'"]),
        ("select * from a.t where at >= timestamp '2020-01-01 00:00:00'", ["`at` >= TIMESTAMP '2020-01-01 00:00:00'"]),
        ("select * from a.t x join a.t y on x.id = y.id where x.id = 1 and y.id = 2", ["`id` = 1", "`id` = 2"]),
        ("select * from a.t x, a.t y where x.id = 1 and y.item is null", ["`id` = 1", "`item` IS NULL"]),
        ("select * from a.t x left join a.t y on true where x.id = 1 and y.id = 2", ["`id` = 1", None]),
        ("select * from a.t x right join a.t y on true where x.id = 1 and y.id = 2", [None, None]),
        ("select * from a.t x full join a.t y on true where x.id = 1", [None, None]),
        ("select * from a.t x left anti join a.t y on x.id = y.id where x.id = 1", ["`id` = 1", None]),
        ("select * from a.t tablesample (3 rows) where id = 1", [None]),
        ("select * from a.t pivot (sum(id) for item in ('a')) where id = 1", [None]),
        ("select * from a.t as x (item, id) where id = 1", [None]),
        ("select * from (select * from a.t) where id = 1", [None]),
        ("select * from (select * from a.t where id = 2) where id = 1", ["`id` = 2"]),
        ("from a.t |> limit 3 |> where id = 1", [None]),
        (
            "select * from a.t o where exists (select 1 from a.t i where i.id = o.id and o.id = 1 and item = 'a')",
            [None, "`item` = 'a'"],
        ),
    ],
)
def test_conditions_that_can_prune(text: str, expected: list[str | None]) -> None:
    found = [prunable(use.conditions, SCHEMA, utc=True, ansi=True) for use in parse_query(text).uses]
    assert [None if one is None else str(one) for one in found] == expected


def test_times_prune_only_where_the_sessions_zone_is_utc() -> None:
    (use,) = parse_query("select * from a.t where at > '2020-01-01 00:00:00' and id = 1").uses
    assert str(prunable(use.conditions, SCHEMA, utc=False, ansi=True)) == "`id` = 1"


NAMES = st.text(st.sampled_from("ab é`.@{}'\"-;/*0"), min_size=1, max_size=6).filter(lambda one: "@" not in one)


@given(NAMES, NAMES, st.text(st.sampled_from("x{}'\\\n-@;/* "), max_size=8))
def test_any_name_and_any_text_go_through(space: str, table: str, value: str) -> None:
    quoted = ".".join(f"`{one.replace('`', '``')}`" for one in (space, table))
    literal = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    text = f"select {literal} as `{{}}` from {quoted}"
    query = parse_query(text)
    assert [use.name.parts for use in query.uses] == [(space, table)]
    short = f"`{table.replace('`', '``')}`"
    assert edited(query) == f"select {literal} as `{{}}` from (frame0 AS {short})"


def test_a_select_is_a_statement() -> None:
    assert isinstance(parse_statement("select 1"), Select)
