"""Projects of materialized and temporary views, in Python and SQL: published as one commit, skipped, made again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.errors import Invalid, NotFound
from tests.pipelines.conftest import order
from tests.pipelines.declarative.conftest import SPEC

Rows = Callable[..., list[tuple[Any, ...]]]

MARTS = '''
KINDS = [row.item for row in spark.table("raw.orders").select("item").distinct().orderBy("item").collect()]


@dp.temporary_view
def dear():
    return spark.read.table("raw.orders").where("price > 2")


@dp.materialized_view(comment="by item", partition_cols=["item"], table_properties={"a": "b"})
@lp.expect("total > 3", or_="drop")
def sums() -> DataFrame:
    spark = SparkSession.active()
    own = F.lit(spark.conf.get("my.own"))
    return spark.table("dear").groupBy("item").agg(F.sum("price").alias("total"), own.alias("own"))


for kind in KINDS:

    @dp.materialized_view(name=f"{kind}_orders", cluster_by=["id"], format="parquet")
    def orders(kind=kind):
        """Orders of a kind."""
        text = "SELECT sales.sums.total, o.id FROM raw.orders o JOIN sums USING (item) WHERE item = :kind"
        return spark.sql(text, {"kind": kind})
'''

TOP = """
-- the best
CREATE TEMPORARY VIEW ranked (item, total, r) AS SELECT item, total, rank() OVER (ORDER BY total DESC) FROM sums;

CREATE MATERIALIZED VIEW IF NOT EXISTS top (r INT COMMENT 'its place', item STRING, more DOUBLE)
COMMENT 'the best' TBLPROPERTIES ('x' = 'y') AS
WITH one AS (SELECT r, item FROM ranked WHERE r = 1)
SELECT one.r, one.item FROM one JOIN sales.sums s ON sales.s.item = one.item;
"""


def test_a_project_is_published_as_one_commit_with_all_that_it_says(
    project: Any, run: Any, lake: Any, main: Any, raw: Any, rows: Rows, spark: Any
) -> None:
    folder = project(
        SPEC + "configuration:\n  my.own: '7'\n", marts_py=MARTS, top_sql=TOP.replace("sales.s.item", "s.item")
    )
    before = main.version
    done = run(folder)
    assert done.raise_for_status().status == "published", str(done)
    assert [commit.version for commit in main.log(since=None)][1:2] == [before]
    assert (rows("sales.sums"), rows("sales.top")) == ([("tea", 4.0, "7")], [(1, "tea", None)])
    assert (rows("sales.tea_orders"), rows("sales.jam_orders")) == ([(4.0, 1), (4.0, 3)], [])
    sums, top, tea = (main.table(f"sales.{name}") for name in ("sums", "top", "tea_orders"))
    assert (sums.comment, sums.spec.texts, sums.properties["a"]) == ("by item", ("item",), "b")
    assert (tea.comment, tea.sort_order.texts) == ("Orders of a kind.", ("id asc nulls first",))
    assert [(field.name, str(field.type), field.comment) for field in top.schema.fields] == [
        ("r", "int", "its place"),
        ("item", "string", ""),
        ("more", "double", ""),
    ]
    assert (top.comment, top.properties["x"]) == ("the best", "y")
    assert spark.conf.get("my.own", None) is None
    lineage = main.inspect("__lineage", where="`table` = 'sales.sums' AND `column` = 'total'").to_pylist()
    assert [(row["input_table"], row["input_column"]) for row in lineage] == [("raw.orders", "price")]

    again = run(folder)
    assert (again.status, {step.status for step in again.steps}) == ("unchanged", {"skipped"})
    raw.append([order(4, "tea", 10.0)], cast=True)
    project(marts_py=MARTS.replace('"total > 3"', '"total > 1"'), spec=(folder / "spark-pipeline.yml").read_text())
    more = run(folder)
    assert {step.name: (step.status, step.reason) for step in more.steps} == {
        "sales.sums": ("done", "its code changed"),
        "sales.tea_orders": ("done", "raw.orders, sales.sums changed"),
        "sales.jam_orders": ("done", "raw.orders, sales.sums changed"),
        "sales.top": ("done", "sales.sums changed"),
    }
    assert rows("sales.top") == [(1, "tea", None)]


ALWAYS = """
@dp.materialized_view
def of_files():
    return spark.read.text("data/words.txt")


@dp.materialized_view
def of_today():
    return spark.table("raw.orders").select(F.current_date().alias("today"))


@dp.materialized_view
def of_chance():
    return spark.table("raw.orders").select(F.rand().alias("chance"))


@dp.materialized_view
def of_python():
    return spark.createDataFrame([(1,)], "n int")


@dp.materialized_view
def of_numbers():
    return spark.range(3)


@F.udf("string")
def shout(word):
    return LOUD + word.upper()


LOUD = "!"


@dp.materialized_view
def of_udf():
    spark.read.parquet
    return spark.table("raw.orders").select(shout("item").alias("item"))
"""


def test_a_view_of_more_than_tables_is_made_each_time(
    project: Any, run: Any, main: Any, raw: Any, rows: Rows, tmp_path: Path
) -> None:
    """Its rows may differ although no table has changed: files, the date, chance, values of Python."""
    text = ALWAYS.replace("data/words.txt", str(tmp_path / "words.txt"))
    (tmp_path / "words.txt").write_text("tea\n")
    values = "CREATE MATERIALIZED VIEW of_values AS SELECT * FROM VALUES (1), (2) AS t(n)"
    folder = project(always_py=text, values_sql=values)
    run(folder).raise_for_status()
    assert rows("sales.of_udf") == [("!JAM",), ("!TEA",), ("!TEA",)]
    (tmp_path / "words.txt").write_text("tea\njam\n")
    again = run(folder).raise_for_status()
    reason = "reads what can't be seen"
    assert {step.name.partition("_")[2]: step.reason for step in again.steps} == {
        "files": reason,
        "today": reason,
        "chance": reason,
        "python": reason,
        "numbers": reason,
        "udf": "same code, same inputs",
        "values": reason,
    }
    assert rows("sales.of_files") == [("jam",), ("tea",)]


READS = """
@dp.temporary_view
def orders():
    return spark.table("raw.orders")


@dp.materialized_view
def pairs():
    one, other = spark.table("orders"), spark.read.table("ORDERS")
    return one.join(other, one.id == other.id).select(one.id, other.item)


@dp.materialized_view
def given():
    most = spark.table("orders").where("price > 2")
    return spark.sql("SELECT {what}, o.id FROM {most} AS m JOIN orders o ON m.id = o.id", what=1, most=most)


@dp.materialized_view
def then():
    old = spark.read.option("versionAsOf", VERSION).table("raw.orders")
    return old.select("id").union(spark.sql("SELECT id FROM raw.orders VERSION AS OF VERSION"))


@dp.materialized_view(name="spark_catalog.marts.elsewhere")
def elsewhere():
    return spark.table("spark_catalog.sales.pairs").join(spark.table("default.top"), "id")


@dp.materialized_view(name="default.top")
def at_the_top():
    return spark.table("shown")
"""


def test_names_are_those_of_the_project_and_of_the_lake(
    project: Any, run: Any, main: Any, raw: Any, rows: Rows, spark: Any, lake: Any
) -> None:
    version = main.version
    raw.append([order(9, "oil", 9.0)], cast=True)
    main.create_namespace("sales", if_not_exists=True)
    main.create_view("sales.shown", "SELECT id FROM raw.orders WHERE item = 'jam'")
    text = READS.replace("VERSION)", f"{version})").replace("OF VERSION", f"OF {version}")
    lakebed.spark.attach(spark, lake)
    try:
        run(project(reads_py=text)).raise_for_status()
        assert spark.table("raw.orders").count() == 4  # the session is attached as it was
    finally:
        lakebed.spark.detach(spark)
    assert rows("sales.pairs") == [(1, "tea"), (2, "jam"), (3, "tea"), (9, "oil")]
    assert rows("sales.given") == [(1, 2), (1, 3), (1, 9)]
    assert rows("sales.then") == [(1,), (1,), (2,), (2,), (3,), (3,)]
    assert (rows("marts.elsewhere"), rows("top")) == ([(2, "jam")], [(2,)])


WRONG = {
    "raise ValueError('no')": "it could not be evaluated: ValueError: no",
    "return spark.table('raw.order')": r"TABLE_OR_VIEW_NOT_FOUND.*Did you mean raw.orders\?",
    "return spark.table('raw.orders').select('nothing')": "UNRESOLVED_COLUMN",
    "return 3": "a flow answers a DataFrame",
    "return spark.readStream.table('raw.orders')": "a materialized view is made of rows .*a stream",
    "return spark.readStream.table('other')": "a view of rows is not read as a stream",
    "return spark.table('wrong')": r"read one another in a circle .*sales.wrong .a.py:\d+. -> sales.wrong",
    "spark.range(1).write.saveAsTable('x')": "a flow only reads",
    "spark.sql('CREATE TABLE x AS SELECT 1')": "a flow only reads",
    "return spark.table('raw.orders@main')": "a name without a ref",
    "return spark.read.option('branch', 'main').table('raw.orders')": "no such option",
    "return spark.sql('SELECT * FROM STREAM raw.orders')": "a materialized view is made of rows",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_wrong_with_a_dataset_is_said_with_its_name_and_place(
    project: Any, load: Any, raw: Any, body: str
) -> None:
    text = f"""
@dp.temporary_view
def other():
    return spark.range(1)

@dp.materialized_view
def wrong():
    {body}
"""
    with pytest.raises(Invalid, match=WRONG[body]) as caught:
        load(project(a_py=text))
    if "circle" not in WRONG[body]:
        assert caught.value.subject.startswith("materialized view sales.wrong, a.py:11"), caught.value.subject


FILES = {
    "1 / 0": r"a.py:7: the file could not be run: ZeroDivisionError",
    "def x(:": r"a.py:7.*SyntaxError",
    "raise SystemExit(0)": r"a.py:7: the file ended the process .*SystemExit\(0\)",
    "spark.range(1).writeTo('x')": "a.py: .*a flow only reads|a.py, writeTo x: a flow only reads",
    "dp.create_streaming_table('x')": "no flow writes to the dataset",
    "dp.append_flow(target='x')(lambda: spark.range(1))": "a dataset that nobody defines",
    "dp.temporary_view(name='x')(lambda: spark.range(1))": "the project defines no table",
    "dp.table(name='x')(lambda: spark.range(1))": "a streaming table is made of streams",
    "dp.materialized_view(name='x', schema='a nothing')(lambda: spark.range(1))": "materialized view sales.x, a.py:7",
    "[dp.materialized_view(name='x')(lambda: spark.range(1)) for _ in '12']": "two datasets have one name",
    "[f(lambda: spark.range(1)) for f in (dp.materialized_view(name='x'), dp.append_flow(target='x', name='y'))]": (
        "a materialized view has one flow"
    ),
}


@pytest.mark.parametrize("line", FILES)
def test_what_is_wrong_with_a_file_is_said_with_its_line(project: Any, load: Any, raw: Any, line: str) -> None:
    with pytest.raises(Invalid, match=FILES[line]):
        load(project(a_py=f"\n{line}\n"))


def test_a_project_can_be_in_another_catalog_of_the_lake(
    project: Any, load: Any, lake: Any, spark: Any, raw: Any
) -> None:
    view = "CREATE MATERIALIZED VIEW other.sales.n AS SELECT id FROM range(2)"
    folder = project(SPEC + "catalog: other\n", n_sql=view)
    with pytest.raises(NotFound, match=r"lake.create_catalog\('other'\)"):
        load(folder)
    other = lake.create_catalog("other")
    load(folder).run(lake, spark).raise_for_status()
    assert other.table("sales.n").scan().count() == 2
    assert not lake.catalog().table_exists("sales.n")


def test_a_project_of_a_run_is_checked_like_any_other(project: Any, load: Any, lake: Any, spark: Any, raw: Any) -> None:
    """What it makes is a pipeline: checks, hooks and selections go with it."""
    shop = load(
        project(n_sql="CREATE MATERIALIZED VIEW n AS SELECT id FROM raw.orders; CREATE MATERIALIZED VIEW m AS TABLE n")
    )
    shop.check(lp.row_count("sales.n", min=10))
    failed = shop.run(lake, spark, select="n")
    assert (failed.status, [step.name for step in failed.steps]) == ("check_failed", ["sales.n"])
    raw.append([order(number) for number in range(10, 20)], cast=True)
    assert [step.action for step in load(project()).plan(lake).steps] == ["create", "create"]


KEPT = """
CREATE MATERIALIZED VIEW sums AS SELECT item, sum(price) AS total FROM raw.orders GROUP BY item;
CREATE VIEW dear (kind, total) COMMENT 'the dear ones' TBLPROPERTIES ('a' = 'b') AS
-- of all
SELECT sums.item, total FROM sums WHERE total > 3 -- that is all
;
CREATE VIEW dearest AS SELECT d.kind FROM dear AS d ORDER BY total DESC LIMIT 1;
CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM dear
"""


def test_a_view_is_kept_in_the_lake_with_whole_names_and_published_with_the_run(
    project: Any, load: Any, lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    folder = project(kept_sql=KEPT)
    failing = load(folder)
    failing.check(lp.row_count("sales.n", min=9))
    failing.run(lake, spark)
    assert not main.view_exists("sales.dear")
    load(folder).run(lake, spark).raise_for_status()
    view = main.view("sales.dear")
    before = view.sql_for()
    assert (view.comment, view.properties["a"], rows("sales.n")) == ("the dear ones", "b", [(1,)])
    assert [tuple(row) for row in main.sql(spark, "SELECT * FROM sales.dear").collect()] == [("tea", 6.0)]
    assert [tuple(row) for row in main.sql(spark, "SELECT * FROM sales.dearest").collect()] == [("tea",)]
    assert load(folder).run(lake, spark).status == "unchanged"
    project(kept_sql=KEPT.replace("total > 3", "total > 2"))
    load(folder).run(lake, spark).raise_for_status()
    assert (main.view("sales.dear").sql_for() == before, rows("sales.n")) == (False, [(2,)])


def test_a_view_that_is_kept_reads_no_temporary_one(project: Any, load: Any, raw: Any) -> None:
    views = "CREATE TEMPORARY VIEW t AS SELECT 1 AS n; CREATE VIEW v AS SELECT n FROM t"
    with pytest.raises(Invalid, match=r"view sales.v, a.sql:1: a view that is kept can't read a temporary one .*t"):
        load(project(a_sql=views))
