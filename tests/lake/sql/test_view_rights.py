"""A view is code that runs with its reader's rights: what it may do, and who may allow it more."""

import datetime
import pickle
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import Forbidden, Invalid, LakebedError, NotFound
from lakebed.table.sql.functions import FUNCTIONS, REFUSED
from tests.table.sql.test_kept import HARMFUL

TRUST = {"views.trusted": "true"}

OWN = "select upper(item) as i from sales.orders o where exists (select 1 from top where x = o.id)"


@pytest.fixture
def shop(main: Catalog) -> Catalog:
    main.create_namespace("sales")
    main.create_table("sales.orders", {"id": "long", "item": "string"}).append(pa.table({"id": [1], "item": ["tea"]}))
    main.create_table("top", {"x": "int"}).append(pa.table({"x": pa.array([1], pa.int32())}))
    return main


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with a table and a function of its own."""
    spark.range(5).createOrReplaceTempView("mine")
    spark.udf.register("twice", lambda x: 2 * x, "long")
    yield spark
    spark.catalog.dropTempView("mine")
    spark.sql("DROP TEMPORARY FUNCTION twice")


def planted(catalog: Catalog, name: str, text: str) -> str:
    """A view as a stranger's lake may have it, or an old one: nobody looked at its text."""
    catalog.set_properties(TRUST)
    catalog.create_view(name, text)
    catalog.unset_properties(["views.trusted"])
    return name


def rows(answer: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in answer.collect()), key=repr)


@pytest.mark.parametrize("text", HARMFUL)
def test_a_view_that_reaches_out_of_the_lake_is_not_created(shop: Catalog, text: str) -> None:
    with pytest.raises(Forbidden, match=r"set_properties\({'views\.trusted': 'true'}\)"):
        shop.create_view("sales.v", text)
    view = shop.create_view("sales.v", "select 1")
    with pytest.raises(Forbidden):
        view.set_sql(text)
    with pytest.raises(Forbidden):
        shop.create_or_replace_view("sales.v", {"spark": text, "trino": "select 1"})
    assert view.sql == {"spark": "select 1"}
    view.set_sql({"trino": text, "spark": "select 2"})  # kept for others, and never run here


def test_a_catalog_is_trusted_by_its_own_property_alone(lake: Lake, shop: Catalog) -> None:
    with pytest.raises(Invalid, match="true or false"):
        shop.set_properties({"views.trusted": "yes"})
    with pytest.raises(Invalid, match="a property of a catalog"):
        shop.namespace("sales").set_properties(TRUST)
    dev = shop.create_branch("dev")
    dev.set_properties(TRUST)
    dev.create_view("sales.v", "select reflect('a', 'b')")
    with pytest.raises(Forbidden):
        shop.create_view("sales.v", "select reflect('a', 'b')")
    with shop.transaction() as tx:
        tx.set_properties(TRUST)
        tx.create_view("sales.v", "select reflect('a', 'b')")


@pytest.mark.parametrize(
    "text",
    [
        "select * from text.`{file}`",
        "select * from csv.`{file}`",
        "select * from lakebed.`{file}`",
        "with mine as (select 1) select * from (select * from text.`{file}`)",
        "select * from mine",
        "with other as (select 1) select * from other, mine",
        "select * from global_temp.mine",
        "select twice(id) from sales.orders",
        "select java_method('java.lang.System', 'getProperty', 'user.home')",
        "select reflect('java.lang.System', 'getenv', 'HOME')",
        "select * from sales.orders timestamp as of (reflect('java.lang.System', 'getenv', 'HOME'))",
        "select * from sales.orders timestamp as of (select max(value) from text.`{file}`)",
        "select '${{env:HOME}}' as home",
        "select transform(id) using 'cat' from sales.orders",
        "select input_file_name() from sales.orders",
        "select * from sales.orders lateral view reflect('java.lang.System', 'getenv', 'HOME') t",
        "select * from range(2), stream(mine)",
    ],
)
def test_a_strangers_view_reads_nothing_of_its_reader(
    lake: Lake, shop: Catalog, session: SparkSession, tmp_path: Path, text: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    name = planted(shop, "sales.v", text.format(file=tmp_path / "secret.txt"))
    with pytest.raises(LakebedError) as refused:
        rows(lake.sql(session, f"select * from {name}"))
    assert isinstance(refused.value, Forbidden | NotFound | Invalid), refused.value
    assert refused.value.subject.startswith(f"view {name}"), refused.value


def test_views_that_read_and_compute_work_in_every_session(
    lake: Lake, shop: Catalog, session: SparkSession, tmp_path: Path
) -> None:
    session.range(5).createOrReplaceTempView("top")  # the reader's own: a view never means it
    shop.create_view("sales.v", OWN)
    shop.create_view("sales.w", "with top (a) as (select * from sales.v) select a, count(*) over () n from top")
    try:
        assert rows(lake.sql(session, "select * from sales.w")) == [("TEA", 1)]
        lake.sql(session, "create view sales.made as select i from sales.v |> extend length(i) as n |> select i")
        assert rows(lake.sql(session, "select * from sales.made")) == [("TEA",)]
    finally:
        session.catalog.dropTempView("top")
    (tmp_path / "file.txt").write_text("read")
    path = f"text.`{tmp_path}/file.txt`"
    for text in (f"select * from {path}", "select twice(id) as n from sales.orders"):
        with pytest.raises(Forbidden, match=r"views\.trusted"):
            lake.sql(session, f"create view sales.x as {text}")
    shop.set_properties(TRUST)
    lake.sql(session, f"create view sales.x as select value, twice(id) as n from {path}, sales.orders")
    assert rows(lake.sql(session, "select * from sales.x")) == [("read", 2)]
    shop.set_properties({"views.trusted": "false"})
    with pytest.raises(Forbidden):
        lake.sql(session, "select * from sales.x")
    assert rows(lake.sql(session, f"select value, twice(id) from {path}, sales.orders")) == [("read", 2)]


def test_every_function_of_this_spark_is_known_or_refused(spark: SparkSession) -> None:
    own = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect() if row[0].replace("_", "").isalnum()}
    assert own - FUNCTIONS - REFUSED.keys() == set()


def test_whoever_opens_a_lake_decides_before_its_property(tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().set_properties(TRUST)
        lake.catalog().create_view("v", "select reflect('a', 'b')")
    with lakebed.connect(tmp_path / "lake", trust_views=False) as lake:
        with pytest.raises(Forbidden):
            lake.catalog().create_view("w", "select reflect('a', 'b')")
        assert pickle.loads(pickle.dumps(lake.catalog()))._scope.context.trust_views is False
    with lakebed.connect(tmp_path / "lake", trust_views=True) as lake:
        lake.catalog().unset_properties(["views.trusted"])
        lake.catalog().create_view("w", "select reflect('a', 'b')")
    with pytest.raises(Invalid, match="trust_views is True or False"):
        lakebed.connect(tmp_path / "lake", trust_views="yes")  # type: ignore[arg-type]


def chain(catalog: Catalog, count: int) -> None:
    catalog.create_view("sales.v0", "select id, item from sales.orders")
    with catalog.transaction() as tx:
        for number in range(1, count):
            tx.create_view(f"sales.v{number}", f"select id, item from sales.v{number - 1}")


def test_views_in_a_circle_are_named_and_too_many_are_counted(
    lake: Lake, shop: Catalog, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.create_view("sales.a", "select * from sales.b")
    shop.create_view("sales.b", "select * from sales.c")
    shop.create_view("sales.c", "select * from sales.b")
    with pytest.raises(
        Invalid, match=r"^view sales\.c, line 1, .*sales\.b → sales\.c → sales\.b: a view is made of itself"
    ):
        lake.sql(spark, "select * from sales.a")
    monkeypatch.setattr("lakebed.lake.sql.read.DEEPEST", 5)
    chain(shop, 7)
    with pytest.raises(Invalid, match=r"sales\.v0: more than 5 views stand on one another"):
        lake.sql(spark, "select * from sales.v5")


def test_a_view_that_is_read_twice_by_each_above_it_is_read_once(
    lake: Lake, shop: Catalog, spark: SparkSession
) -> None:
    """Thirty such views would be read a billion times."""
    shop.create_view("sales.v0", "select id from sales.orders")
    for number in range(1, 5):
        shop.create_view(
            f"sales.v{number}", f"select a.id from sales.v{number - 1} a join sales.v{number - 1} b using (id)"
        )
    assert rows(lake.sql(spark, "select * from sales.v4")) == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "select item, count(*) n, count(distinct id), sum(price) s, min(day) a, max(day) b from sales.s group by item",
        "select id from sales.s where price > 1.5 and item like 't%' or day is null order by day desc, id limit 2",
        "select id, case when price is null then 'none' else item end c, -id * 2 + 1 from sales.s where id not in (2)",
        "(select id from sales.s union all select 1) except select id from sales.s where item between 'j' and 'k'",
        "select o.id, s.* from sales.orders o left join sales.s s on s.id = o.id and exists (select 1 from top)",
        "select * from sales.s order by item, price, id limit 3",
    ],
)
def test_a_view_has_the_same_rows_by_duckdb_and_by_spark(
    lake: Lake, shop: Catalog, spark: SparkSession, text: str
) -> None:
    days = [datetime.date(2026, 1, 1), None, datetime.date(2026, 1, 3), None]
    prices = pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("9.99")], pa.decimal128(10, 2))
    sold = pa.table({"id": [1, 2, 3, 4], "item": ["tea", "jam", None, "toast"], "price": prices, "day": days})
    shop.create_table("sales.s", sold)
    shop.create_view("sales.v", text)
    ours = sorted(lake.query("from sales.v").to_list(), key=repr)
    assert ours == rows(lake.sql(spark, "select * from sales.v"))


@pytest.mark.long  # 10 s
def test_120_views_on_one_another_are_read(lake: Lake, shop: Catalog, spark: SparkSession) -> None:
    chain(shop, 120)
    assert rows(lake.sql(spark, "select * from sales.v119")) == [(1, "tea")]
