"""The format `lakebed`, through Spark: its plans, its tasks and its commits are in processes of their own."""

import datetime
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

import pyspark_lakebed
from lakebed import Invalid, Lake, NotFound, Table, connect
from lakebed.spark.format import LakebedReader

COLUMNS = {
    "id": "long",
    "name": "string",
    "at": "timestamptz",
    "day": "date",
    "price": "decimal(10, 2)",
    "weight": "double",
    "raw": "binary",
    "tags": "list<string>",
    "marks": "map<string, long>",
    "place": "struct<city: string, number: int>",
}
FRAME = """id, if(id % 7 = 3, null, concat('name ', id)) as name, timestamp_micros(id * 86400000000) as at,
    date_add(date'2026-01-01', cast(id as int)) as day, cast(id as decimal(10, 2)) / 4 as price,
    if(id = 5, double('NaN'), id / 2) as weight, cast(cast(id as string) as binary) as raw,
    array(cast(id as string), null) as tags, map('a', id, 'b', null) as marks,
    named_struct('city', null, 'number', cast(id as int)) as place"""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with connect(tmp_path / "a lake, 100% [ünïcode]") as lake:
        lake.catalog().create_namespace("sales")
        yield lake


@pytest.fixture
def table(lake: Lake) -> Table:
    return lake.catalog().create_table("sales.orders", COLUMNS)


def rows(spark: SparkSession, start: int, end: int) -> DataFrame:
    return (
        spark.range(start, end, 1, 2)
        .selectExpr(*_terms(FRAME))
        .selectExpr("* except (price)", "cast(price as decimal(10, 2)) as price")
    )


def _terms(text: str) -> list[str]:
    """The terms of a projection, cut at commas that are in no parentheses."""
    terms, depth = [""], 0
    for one in text:
        depth += (one == "(") - (one == ")")
        if one == "," and not depth:
            terms.append("")
        else:
            terms[-1] += one
    return terms


def reader(spark: SparkSession, lake: Lake) -> DataFrameReader:
    return spark.read.format("lakebed").option("lake", lake.url)


@pytest.mark.long
def test_what_was_written_is_read_by_both_ways(spark: SparkSession, lake: Lake, table: Table) -> None:
    """Appends of all types, an overwrite by a condition, deletes, inline rows; the version is that of `load`."""
    writer = rows(spark, 0, 20).write.format("lakebed").option("lake", lake.url)
    writer.mode("append").option("message", "first").save("sales.orders")
    assert table.history()[0].message == "first"
    again = rows(spark, 100, 104).write.format("lakebed").option("lake", lake.url)
    again.mode("overwrite").option("where", "id >= 18").save("sales.orders")
    table.append(pyarrow.table({"id": [200], "name": ["inline"]}))
    table.delete("id = 4")
    frame = reader(spark, lake).load("sales.orders")
    table.truncate()
    found = frame.orderBy("id").toArrow().to_pylist()
    assert [row["id"] for row in found] == [*range(4), *range(5, 18), *range(100, 104), 200]
    third = found[2]
    assert third["price"] == Decimal("0.50")
    assert third["at"] == datetime.datetime(1970, 1, 3, tzinfo=datetime.UTC)
    assert (third["raw"], third["tags"], third["marks"]) == (b"2", ["2", None], [("a", 2), ("b", None)])
    assert third["place"] == {"city": None, "number": 2}
    assert (found[3]["name"], str(found[4]["weight"])) == (None, "nan")
    assert found[-1] == dict.fromkeys(COLUMNS) | {"id": 200, "name": "inline"}


@pytest.mark.skipif(
    not hasattr(DataSourceReader, "pushFilters"), reason="this PySpark pushes no filters; install 4.1 or later"
)
def test_filters_are_pushed_where_the_session_lets_them(spark: SparkSession, lake: Lake, table: Table, setting) -> None:
    table.set_properties({"write.inline-bytes": "0"})
    for start in (0, 10, 20):
        table.append(pyarrow.table({"id": list(range(start, start + 10)), "weight": [0.5, float("nan")] * 5}))
    gone = table.scan("id >= 20").files()
    for path in gone:  # whoever looks into it fails
        os.truncate(path, 3)
    wanted = "id < 12 and id >= 8 and weight > 0.75 and not (id = 9)"
    frame = reader(spark, lake).load("sales.orders").where(wanted).select("id")
    assert [row.id for row in frame.collect()] == [11]
    off = setting({"spark.sql.python.filterPushdown.enabled": "false"})
    with off, pytest.raises(Exception, match=r"lakebed\.errors\.Corrupt: table sales\.orders, "):
        reader(spark, lake).load("sales.orders").where(wanted).select("id").collect()


def test_the_format_is_there_for_a_lake_that_is_registered(spark: SparkSession, lake: Lake, table: Table) -> None:
    own = spark.newSession()
    own.dataSource.register(pyspark_lakebed.source_for(lake.url, "our_lake"))
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    assert own.read.format("our_lake").option("columns", "id").load("sales.orders").schema.names == ["id"]
    with pytest.raises(AnalysisException, match="the lake is not named"):
        spark.read.format("lakebed").load("sales.orders")


@pytest.mark.long
def test_a_failed_write_leaves_nothing(spark: SparkSession, lake: Lake, table: Table) -> None:
    bad = rows(spark, 0, 20).selectExpr("* except (id)", "if(id = 17, raise_error('on purpose'), id) as id")
    with pytest.raises(Exception, match="on purpose"):
        bad.write.format("lakebed").option("lake", lake.url).mode("append").save("sales.orders")
    assert table.scan().count() == 0
    assert list(Path(lake.url.removeprefix("file://")).rglob("*.parquet")) == []


def test_what_does_not_fit_is_refused_before_any_job(spark: SparkSession, lake: Lake, table: Table) -> None:
    with pytest.raises(AnalysisException, match=r"table sales\.orders.*id: long expected, string found"):
        spark.sql("select 'x' as id").write.format("lakebed").option("lake", lake.url).mode("append").save(
            "sales.orders"
        )
    with pytest.raises(AnalysisException, match=r"table sales\.orders: a read can't have a schema of its own"):
        reader(spark, lake).schema("id int").load("sales.orders").count()


@pytest.mark.long
def test_an_error_of_a_task_or_of_a_commit_did_not_say_which_table(
    spark: SparkSession, lake: Lake, table: Table
) -> None:
    table.set_properties({"check.small": "id < 15"})
    with pytest.raises(Exception, match=r"Invalid: table sales\.orders, .*check\.small"):
        rows(spark, 0, 20).write.format("lakebed").option("lake", lake.url).mode("append").save("sales.orders")
    source = pyspark_lakebed.DefaultSource({"lake": lake.url, "path": "sales.orders"})
    writer = source.writer(rows(spark, 0, 1).schema, False)
    lake.catalog().drop_table("sales.orders")
    with pytest.raises(NotFound, match=r"^table sales\.orders, "):
        writer.commit([])


def test_streams_are_refused(lake: Lake, table: Table) -> None:
    source = pyspark_lakebed.DefaultSource({"lake": lake.url, "path": "sales.orders"})
    for refused in (source.streamReader, source.simpleStreamReader, lambda schema: source.streamWriter(schema, False)):
        with pytest.raises(Invalid, match="batches, not streams"):
            refused(StructType())


def test_a_reader_looks_to_spark_as_if_it_had_no_filters_of_its_own() -> None:
    """A session with pushdown off, the default, refuses a reader that has."""
    made = LakebedReader(None, pyarrow.schema([]), "t")  # type: ignore[arg-type]
    assert made.pushFilters.__func__ is getattr(DataSourceReader, "pushFilters", None)
