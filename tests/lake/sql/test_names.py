"""Names in statements: of tables at other places, of columns, of arguments, and keywords that are names."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import Invalid
from tests.support.sql_rows import filled, ids, rows


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def main(lake: Lake) -> Catalog:
    main = lake.catalog()
    main.create_namespace("a")
    main.create_namespace("b")
    return main


Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


def test_a_view_of_another_place_was_read_with_the_tables_of_the_trunk(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    filled(main, "a.t", id=[1])
    main.create_view("a.v", "select id from a.t")
    before, dev = main.version, main.create_branch("dev")
    dev.table("a.t").append(pyarrow.table({"id": [100]}))
    tagged = dev.create_tag("then").version
    dev.table("a.t").append(pyarrow.table({"id": [101]}))
    main.table("a.t").append(pyarrow.table({"id": [2]}))
    other = lake.create_catalog("other")
    other.create_namespace("a")
    filled(other, "a.t", id=[777])
    other.create_view("a.v", "select id from a.t")

    assert ids(lake, spark, "select * from a.v") == [1, 2]
    assert ids(lake, spark, "select * from a.v@dev") == [1, 100, 101]
    assert ids(lake, spark, f"select * from a.v version as of {before}") == [1]
    assert ids(lake, spark, "select * from a.v version as of 'then'") == [1, 100]
    assert ids(lake, spark, f"select * from a.v@dev version as of {tagged}") == [1, 100]
    assert ids(lake, spark, "select * from other@main.a.v") == [777]
    with main.transaction("both") as tx:
        tx.sql(spark, "insert into a.t values (3)")
        assert sorted(one.id for one in tx.sql(spark, "select * from a.v").collect()) == [1, 2, 3]
        tx.sql(spark, "insert into a.t select id from a.v@dev where id > 100")
    assert ids(lake, spark, "select * from a.v") == [1, 2, 3, 101]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "select id from a.t where not exists (select 1 from b.t where b.t.id = a.t.id)",
        "select id from a.t@dev where not exists (select 1 from a.t where a.t.id = a.t@dev.id)",
        "select id from a.t where exists (select 1 from b.t t where t.id = a.t.id)",
        "with t as (select 9 as id) select id from a.t where exists (select 1 from t where t.id = a.t.id)",
        "select id from a.t where id in (select x.id from b.t x, (select 1 id) as t where a.t.id = 1)",
    ],
)
def test_a_whole_name_before_a_column_was_taken_for_the_inner_table_of_the_same_last_part(
    lake: Lake, main: Catalog, spark: SparkSession, text: str
) -> None:
    filled(main, "a.t", id=[1, 2])
    filled(main, "b.t", id=[1])
    main.create_branch("dev")
    with pytest.raises(Invalid, match="another table of the query has the same name"):
        lake.sql(spark, text)
    assert ids(lake, spark, "select id from a.t where not exists (select 1 from b.t y where y.id = a.t.id)") == [2]
    assert ids(lake, spark, "select id from a.t where exists (select 1 from a.t where a.t.id = 2)") == [1, 2]


@pytest.mark.long
def test_a_tag_of_a_branch_was_read_from_the_trunk_by_the_format(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    filled(main, "a.t", id=[1])
    dev = main.create_branch("dev")
    dev.table("a.t").append(pyarrow.table({"id": [100]}))
    dev.create_tag("then")
    reader = spark.read.format("lakebed").option("lake", lake.url)
    assert sorted(one.id for one in reader.option("tag", "then").load("a.t").collect()) == [1, 100]


def test_a_column_beside_a_functions_argument_of_its_name_was_taken_for_it(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    filled(main, "a.t", x=pyarrow.array([2], "int32"), ys=pyarrow.array([[1, 2, 3]], pyarrow.list_(pyarrow.int32())))
    with pytest.raises(Invalid, match="line 1, column 45: a function's argument has the name of this column"):
        lake.sql(spark, "update a.t t set ys = filter(t.ys, x -> x > t.x)")
    lake.sql(spark, "update a.t t set ys = filter(t.ys, y -> y > t.x)")
    assert rows(lake, spark, "select * from a.t") == [(2, [3])]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("update a.t set id = 7, ID = 9", "line 1, column 24: a column is set twice"),
        ("merge into a.t t using b.t s on t.id = s.id when matched then update set id = 1, t.id = 2", "set twice"),
        (
            "merge into a.t t using b.t s on t.id = s.id when not matched then insert (id, id) values (1, 2)",
            "set twice",
        ),
        ("merge into a.t t using b.t s on t.id = s.id when matched then update set s.id = 2", "a column of the source"),
    ],
)
def test_a_column_set_twice_or_of_the_source_was_set_all_the_same(
    lake: Lake, main: Catalog, spark: SparkSession, text: str, problem: str
) -> None:
    filled(main, "a.t", id=[1])
    filled(main, "b.t", id=[1])
    with pytest.raises(Invalid, match=problem):
        lake.sql(spark, text)
    assert ids(lake, spark, "select * from a.t") == [1]


def test_columns_called_as_keywords_are_were_taken_for_them(lake: Lake, main: Catalog, spark: SparkSession) -> None:
    filled(main, "a.t", id=[1, 2], start=[0, 0], end=[5, 6], order=[7, 8])
    lake.sql(spark, "update a.t set start = end + 1, end = case when end = 5 then 10 else end end where id = 1")
    lake.sql(spark, "update a.t set order = end, end = 0 where case when end = 6 then 1 end = 1")
    assert rows(lake, spark, "select * from a.t") == [(1, 6, 10, 7), (2, 0, 0, 6)]
    lake.sql(
        spark,
        "merge into a.t t using (select 1 id, 3 end) s on t.id = s.id "
        "when matched and case when t.end = 10 then true end then update set end = s.end, start = t.end "
        "when not matched then insert (id, end) values (s.id, s.end)",
    )
    assert rows(lake, spark, "select * from a.t") == [(1, 10, 3, 7), (2, 0, 0, 6)]


def test_dates_and_times_could_not_be_defaults(
    lake: Lake, main: Catalog, spark: SparkSession, setting: Setting
) -> None:
    with setting({"spark.sql.session.timeZone": "Asia/Tokyo"}):
        lake.sql(
            spark,
            "create table a.t (id int, d date default date '2026-01-02', "
            "at timestamp default timestamp '2026-01-01 09:00', "
            "n timestamp_ntz default timestamp_ntz '2026-01-01 09:00', b binary default x'01') "
            'comment "say ""hi"""',
        )
    lake.sql(spark, "insert into a.t (id) values (1)")
    table = main.table("a.t")
    [row] = table.scan().to_arrow().to_pylist()
    assert (row["d"], row["at"]) == (date(2026, 1, 2), datetime(2026, 1, 1, tzinfo=UTC))
    assert (row["n"], row["b"]) == (datetime(2026, 1, 1, 9), b"\x01")
    assert table.comment == 'say "hi"'


def test_a_catalog_was_found_before_a_namespace_whose_name_has_a_dot(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    lake.create_catalog("c.d")
    main.create_namespace(("c.d",))
    main.create_table(("c.d", "t"), {"id": "long"}).append(pyarrow.table({"id": [7]}))
    assert ids(lake, spark, "select id from `c.d`.t@main") == [7]
