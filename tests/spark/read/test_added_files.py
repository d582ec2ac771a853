"""Files that were added in place are read by Spark as by Arrow."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Corrupt, Invalid


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(str(tmp_path / "a lake")) as lake:
        yield lake.catalog()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where others put their files, at a path that would trip up whoever forgets to quote one."""
    made = tmp_path / "theirs, 100% [ünïcode]"
    made.mkdir()
    return made


def put(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def read_alike(spark: SparkSession, table: Table, where: str | None = None) -> list[dict[str, Any]]:
    """The rows by both engines, which are the same."""
    by_spark = table.read(spark, where).toArrow().to_pylist()
    by_arrow = table.scan(where).to_arrow().to_pylist()
    assert sorted(by_spark, key=repr) == sorted(by_arrow, key=repr)
    return sorted(by_arrow, key=lambda row: row["id"])


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_added_files_are_read_beside_others_and_without_deleted_rows(
    spark: SparkSession, main: Catalog, folder: Path
) -> None:
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append(spark.createDataFrame([(1, "a")], "id long, name string"))
    table.add_files([put(folder / "a b%20.parquet", id=[2, 3, 4], name=["b", None, "d"])])
    table.append(pyarrow.table({"id": [5]}))
    assert ids(read_alike(spark, table)) == [1, 2, 3, 4, 5]
    assert ids(read_alike(spark, table, "name IS NULL")) == [3, 5]
    table.delete("id = 3")
    assert ids(read_alike(spark, table, "id > 1")) == [2, 4, 5]


def test_hidden_columns_stay_hidden_in_every_place(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table("t", {"id": "long", "s": "struct<a: long>", "l": "list<struct<a: long>>"})
    table.append(pyarrow.table({"id": [1], "s": [{"a": 1}], "l": [[{"a": 1}]]}))
    path = put(
        folder / "a.parquet",
        id=[2, 3],
        s=pyarrow.array([{"b": 5, "a": 2}, None]),
        l=pyarrow.array([[{"b": 5, "a": 2}], [None]]),
        x=["text", "text"],
        y=[b"bytes", b"bytes"],
        z=[7, 7],
    )
    table.add_files([path])
    with table.evolve() as change:
        change.add_column("x", "date")
        change.add_column("y", "binary", default=b"none")
        change.add_column("z", "long", default=9)
        change.add_column("s.b", "string", default="new")
        change.add_column("l.element.b", "long")
    table.append(pyarrow.table({"id": [4], "z": [7], "s": [{"a": 4, "b": "given"}]}))
    rows = read_alike(spark, table)
    assert rows[1] == {
        "id": 2,
        "s": {"a": 2, "b": "new"},
        "l": [{"a": 2, "b": None}],
        "x": None,
        "y": b"none",
        "z": 9,
    }
    assert [row["s"] for row in rows[2:]] == [None, {"a": 4, "b": "given"}]
    assert ids(read_alike(spark, table, "z = 7")) == [4]
    assert ids(read_alike(spark, table, "z = 9")) == [1, 2, 3]
    assert ids(read_alike(spark, table, "s.b = 'new'")) == [1, 2]
    assert ids(read_alike(spark, table, "x IS NULL")) == [1, 2, 3, 4]
    table.delete("id = 2")
    assert ids(read_alike(spark, table, "z = 9")) == [1, 3]


def test_types_that_widen_are_read_and_filtered_as_the_tables(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table(
        "t", {"id": "long", "f": "double", "at": "timestamp", "tz": "timestamptz", "s": "struct<n: long>"}
    )
    path = put(
        folder / "narrow.parquet",
        id=pyarrow.array([1, 2, 3], pyarrow.int32()),
        f=pyarrow.array([1.5, 2.25, None], pyarrow.float32()),
        at=pyarrow.array([0, -1, None], pyarrow.timestamp("ms")),
        tz=pyarrow.array([0, -1, None], pyarrow.timestamp("ms", "UTC")),
        s=pyarrow.array([{"n": 1}, {"n": 2}, None], pyarrow.struct([("n", pyarrow.int32())])),
    )
    table.add_files([path])
    rows = read_alike(spark, table)
    assert rows[1]["at"] == datetime(1969, 12, 31, 23, 59, 59, 999_000)
    assert rows[1]["tz"] == rows[1]["at"].replace(tzinfo=UTC)
    for where, expected in {
        "id < 4294967298": [1, 2, 3],
        "id = 4294967298": [],
        "id IN (2, 4294967299)": [2],
        "s.n > -4294967298": [1, 2],
        "f > 1.50000001": [2],
        "f = 2.25": [2],
        "at < TIMESTAMP '1970-01-01 00:00:00'": [2],
        "at > TIMESTAMP '1969-12-31 23:59:59.999001'": [1],
    }.items():
        assert ids(read_alike(spark, table, where)) == expected, where


def test_narrow_decimals_of_a_widened_column_are_read(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table("t", {"id": "long", "d": "decimal(9, 2)"})
    path = put(folder / "a.parquet", id=[1, 2], d=pyarrow.array([Decimal("1.25"), None], pyarrow.decimal128(9, 2)))
    with table.evolve() as change:
        change.widen_column("d", "decimal(20, 2)")
    table.add_files([path])
    assert ids(read_alike(spark, table, "d < 100000000000000000")) == [1]
    assert ids(read_alike(spark, table, "d > 100000000000000000")) == []


def test_files_of_spark_and_duckdb_are_taken(spark: SparkSession, main: Catalog, folder: Path, tmp_path: Path) -> None:
    types = {
        "id": "long",
        "name": "string",
        "day": "date",
        "d": "decimal(9, 2)",
        "l": "list<long>",
        "s": "struct<x: long>",
        "m": "map<string, int>",
        "at": "timestamptz",
        "local": "timestamp",
    }
    table = main.create_table("t", types)
    columns = """id, 'n' || id AS name, DATE '2020-01-01' AS day, CAST(id AS DECIMAL(9, 2)) AS d, {list} AS l,
        {struct} AS s, {map} AS m, {at} AS at, {local} AS local"""
    spark.range(0, 100, numPartitions=2).createOrReplaceTempView("numbers")
    texts = {
        "list": "array(id, null)",
        "struct": "named_struct('x', id)",
        "map": "map('k', 1)",
        "at": "TIMESTAMP '2020-01-01 00:00:00Z'",
        "local": "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    }
    frame = spark.sql(f"SELECT {columns.format(**texts)} FROM numbers")
    frame.write.option("parquet.bloom.filter.enabled#name", "true").parquet(f"file://{tmp_path}/of spark")
    table.add_files(sorted((tmp_path / "of spark").glob("*.parquet")))
    texts = {
        "list": "[id, NULL]",
        "struct": "{'x': id}",
        "map": "MAP {'k': 1}",
        "at": "TIMESTAMPTZ '2020-01-01 00:00:00Z'",
        "local": "TIMESTAMP '2020-01-01 00:00:00'",
    }
    numbers = "(SELECT range + 100 AS id FROM range(50))"
    duckdb.sql(f"COPY (SELECT {columns.format(**texts)} FROM {numbers}) TO '{tmp_path}/duck.parquet'")
    table.add_files([tmp_path / "duck.parquet"])
    rows = read_alike(spark, table)
    assert ids(rows) == list(range(150))
    assert {str(row["at"]) for row in rows} == {"2020-01-01 00:00:00+00:00"}
    for one in (0, 99, 100, 149):
        assert ids(read_alike(spark, table, f"name = 'n{one}'")) == [one]


def test_the_old_times_of_spark_are_refused(spark: SparkSession, main: Catalog, tmp_path: Path, setting: Any) -> None:
    table = main.create_table("t", {"at": "timestamptz"})
    with setting({"spark.sql.parquet.outputTimestampType": "INT96"}):
        spark.sql("SELECT TIMESTAMP '2020-01-01 00:00:00Z' AS at").write.parquet(f"file://{tmp_path}/old")
    with pytest.raises(Invalid, match="at: timestamptz expected"):
        table.add_files((tmp_path / "old").glob("*.parquet"))


def test_an_added_file_that_changed_is_corrupt(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table("t", {"id": "long"})
    path = put(folder / "a.parquet", id=[1])
    table.add_files([path])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Corrupt):
        table.read(spark).collect()


def test_values_of_hive_folders_are_read_by_spark_as_by_arrow(spark: SparkSession, main: Catalog, folder: Path) -> None:
    types = {"m": "string", "i": "int", "d": "date", "t": "timestamp", "z": "timestamptz", "n": "decimal(20, 2)"}
    types |= {"b": "boolean", "f": "double", "x": "binary"}
    times = "d=2026-01-31/t=2026-01-31 10%3A20%3A30.5/z=2026-01-31 10%3A20%3A30Z"
    first = f"m=a%2Fb%20/i=-7/{times}/n=12.5/b=true/f=0.1/x=%C3%BC"
    null = "/".join(f"{name}=__HIVE_DEFAULT_PARTITION__" for name in types)
    for path, ids_of in ((first, [1, 2]), (null, [3]), (first.replace("i=-7", "i=8"), [4, 5])):
        (folder / path).mkdir(parents=True)
        put(folder / path / "a.parquet", id=ids_of)
    table = main.create_table("t", {"id": "long", **types}, partition_by=list(types))
    table.add_files(folder)
    table.append(spark.createDataFrame([(6, "m")], "id long, m string"))
    rows = read_alike(spark, table)
    assert [row["m"] for row in rows] == ["a/b ", "a/b ", None, "a/b ", "a/b ", "m"]
    assert ids(read_alike(spark, table, "i = 8 and z < timestamp '2026-02-01 00:00:00Z'")) == [4, 5]
    assert ids(read_alike(spark, table, "n is null or t > timestamp '2027-01-01'")) == [3, 6]
    assert table.read(spark, columns=["i", "_file", "id"]).where("id = 4").count() == 1
    table.delete("id = 2", spark=spark)
    table.update({"f": "f + i"}, "id = 4", spark=spark)
    assert [(row["id"], row["i"]) for row in read_alike(spark, table)] == [
        (1, -7),
        (3, None),
        (4, 8),
        (5, 8),
        (6, None),
    ]
    table.compact(spark)
    assert [(row["id"], row["i"]) for row in read_alike(spark, table)] == [
        (1, -7),
        (3, None),
        (4, 8),
        (5, 8),
        (6, None),
    ]
