"""Texts that the lake keeps, views and checks: what they may call and name, judged by their tokens alone."""

import pytest

from lakebed.errors import Forbidden, Invalid
from lakebed.table.sql.functions import FUNCTIONS, REFUSED
from lakebed.table.sql.kept import check_is_query, check_kept_condition, check_kept_query

HARMLESS = [
    "SELECT id, 'ä' AS letter FROM sales.orders -- kept as given: java_method('x')",
    "with a(x) as (select 1), b (y) as (values (1)) select upper(x), left('a', 1), cast(x as decimal(10, 2)) from a, b",
    "select system.builtin.upper('x') from a as q(x), sales.o t(z) lateral view outer explode(array(1)) t as z",
    "select (select count(*) from sales.x) n, a in (1, 2), exists(select 1), sum(a) over (partition by b) from t",
    "select sum(a) filter (where b) from (select 1) t(a) group by cube (a), rollup(b), grouping sets ((a))",
    "from t |> where (a) |> aggregate sum(x) group by y",
    "select * from values (1), (2) as t(a) pivot (sum(a) for b in (1, 2))",
    "select transform(array(1), x -> x + 1), timestampadd(day, 1, x)",
    "select * from a join lateral (select 1) using (x) where not (a) and (b) or b between (1) and (2)",
    "select * from sales.x version as of 3, sales.x timestamp as of (current_timestamp() - interval 1 day)",
    "select stack(2, 1, 2) as (a, b), percentile_cont(0.5) within group (order by x)",
    "select * from sales.items@dev, range(3) r(x) limit (1)",
    "select if(a, b, c), date('2020-01-01'), a::decimal(10, 2), try_cast(a as int), first(x), any(x), `max`(x)",
    "select /*+ broadcast(t) */ from_json(a, 'x int'), current_user(), '$ {x}', '${}', '/etc/passwd' from t",
    "select text.`a b`, csv.id, `${user.name}` from sales.text, sales.csv",
]

HARMFUL = {
    "select * from text.`/etc/passwd`": "files by their path",
    "select * from sales.orders, `CSV` . `file:///etc/passwd`": "files by their path",
    "select `java_method`('java.lang.System', 'exit')": "java_method, which runs any Java code",
    "select REFLECT /* no */ ('a')": "reflect, which runs any Java code",
    "select builtin.try_reflect('a')": "try_reflect",
    "select input_file_name()": "shows where the reader's files are",
    "select * from read_files('x')": "read_files",
    "select from_protobuf(b, 'm', '/home/ada/x.desc')": "open any file",
    "select from_xml(t, 'a int', map('rowValidationXSDPath', '/x'))": "open any file",
    "select my_function(id) from sales.orders": "only call Spark's own functions (found my_function)",
    "select a, mine(x) as (p, q)": "found mine",
    "select spark_catalog.default.f(x)": "found spark_catalog.default.f",
    "select * from t lateral view mine(x) z": "found mine",
    "from t |> extend mine(x)": "found mine",
    "select case when mine(x) then 1 end": "found mine",
    'select "mine"(1)': 'found "mine"',
    "select '${env:HOME}'": "variables of the environment (found ${env:HOME})",
    "select ${spark.master}": "settings",
    "select transform(a) using 'cat' from t": "can't run a program",
    "map a using 'cat' from t": "can't run a program",
}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_reads_and_computes_is_kept(text: str) -> None:
    check_kept_query(text, "a view")


@pytest.mark.parametrize("text", HARMFUL)
def test_what_reaches_out_of_the_lake_is_refused(text: str) -> None:
    with pytest.raises(Forbidden) as refused:
        check_kept_query(text, "a view")
    assert HARMFUL[text] in str(refused.value)


@pytest.mark.parametrize(
    "text", ["(select 1) > 0", "exists(from t)", "id in (table x)", "reflect('a') = 'b'", "mine(id)", "'${env:X}' = a"]
)
def test_a_condition_has_no_query_inside_it(text: str) -> None:
    with pytest.raises(Forbidden):
        check_kept_condition(text, "a check")


def test_a_condition_may_extract_from_a_column() -> None:
    check_kept_condition(
        "extract(year from day) > 2000 and `from` > 1 and trim(both 'x' from a) like '%(select%'", "a check"
    )


def test_a_function_is_known_or_refused_never_both() -> None:
    assert not FUNCTIONS & REFUSED.keys()


@pytest.mark.parametrize(
    "text",
    [
        *("SELECT", "SELECT * FROM", "SELECT 1 +", "SELECT * FRM t", "SELECT a b c", "SELECT * FROM t WHERE"),
        *(
            "SELECT a,",
            "SELECT a FROM t ORDER BY",
            "SELECT a FROM t JOIN",
            "VALUES",
            "SELCT 1",
            "SELECT (a FROM t",
            "; ;",
        ),
        *("WITH a AS (SELECT 1)", "(WITH a AS (SELECT 1))", "WITH a AS (SELECT 1) INSERT INTO vw SELECT * FROM a"),
        *(
            "WITH a AS (SELECT 1) DELETE FROM t",
            "WITH a AS (SELECT 1) UPDATE t SET a = 1",
            "FROM t INSERT INTO u SELECT a",
        ),
        "WITH a AS (SELECT 1) MERGE INTO t USING a ON 1 = 1 WHEN MATCHED THEN DELETE",
    ],
)
def test_a_text_that_is_not_a_query_became_a_view_that_nobody_could_read(text):
    with pytest.raises(Invalid, match="not the query of a view"):
        check_is_query(text, "a view")


@pytest.mark.parametrize(
    "text",
    [
        *HARMLESS,
        *(
            "SELECT 1",
            "SELECT 1;",
            "SELECT *",
            "TABLE t",
            "VALUES (1), (2)",
            "FROM t",
            "FROM t |> WHERE a > 1 |> SELECT a",
        ),
        *(
            "WITH a(x) AS (SELECT 1) SELECT f(x) update FROM a",
            "WITH a AS (SELECT 1) (SELECT * FROM a)",
            "SELECT 1 AS limit",
        ),
        *(
            "(SELECT 1) UNION ALL (SELECT 2)",
            "SELECT a FROM t TABLESAMPLE (10 PERCENT)",
            "SELECT X'1F'",
            "SELECT a[0], m['k']",
        ),
        *(
            "SELECT a:b.c FROM t",
            "SELECT a FROM t@dev",
            "FROM t SELECT a",
            "SELECT a FROM t LATERAL VIEW explode(b) x AS y",
        ),
        "WITH RECURSIVE a(x) MAX RECURSION LEVEL 10 AS (SELECT 1) SELECT * FROM a",
        "SELECT a FROM t WHERE " + " AND ".join(f"a <> {number}" for number in range(5000)),
    ],
)
def test_a_query_that_spark_reads_is_one_also_if_sqlglot_can_not_read_it(text):
    check_is_query(text, "a view")
