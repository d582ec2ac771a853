"""Structs of which a file has none of today's fields: they are there all the same, in every version of Spark."""

import os
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Invalid, Table
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read
from lakebed.spark.read.structs import PROBE, files_by_probes
from lakebed.table.schema.evolution import add_column, drop_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import walk

INNER = "struct<a: long>"
COLUMNS = {
    "id": "long",
    "s": INNER,
    "deep": f"struct<x: {INNER}>",
    "l": f"list<{INNER}>",
    "m": f"map<string, {INNER}>",
}
ROWS = [
    {"id": 1, "s": {"a": 1}, "deep": {"x": {"a": 1}}, "l": [{"a": 1}, None], "m": {"k": {"a": 1}, "n": None}},
    {"id": 2, "s": None, "deep": {"x": None}, "l": [], "m": {}},
    {"id": 3, "s": {"a": None}, "deep": None, "l": None, "m": None},
]
STRUCTS = ("s", "deep.x", "l.element", "m.value")


@pytest.fixture
def main(tmp_path: Path) -> Catalog:
    return lakebed.connect(tmp_path / "lake").catalog()


def form(type: str) -> pyarrow.Schema:
    inner = pyarrow.struct({"a": type})
    types = [inner, pyarrow.struct({"x": inner}), pyarrow.list_(inner), pyarrow.map_("string", inner)]
    return pyarrow.schema([("id", "int64"), *zip(list(COLUMNS)[1:], types, strict=True)])


def with_other_fields(main: Catalog, spark: SparkSession, **default: Any) -> Table:
    """A table with files of Arrow's and of Spark's, all of whose structs have got other fields since."""
    table = main.create_table("t", COLUMNS, properties={"write.inline-bytes": "0"})
    rows = pyarrow.Table.from_pylist(ROWS, form("int64"))
    table.append(rows)
    table.append(spark.createDataFrame(rows).coalesce(1))
    with table.evolve() as change:
        for one in STRUCTS:
            change.add_column(f"{one}.b", "string", **default)
            change.drop_column(f"{one}.a")
    return table


def by_id(rows: pyarrow.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(maps_as_pydicts="strict"), key=lambda row: row["id"])


def test_a_struct_is_there_though_a_file_has_none_of_its_fields(main: Catalog, spark: SparkSession) -> None:
    table = with_other_fields(main, spark)
    found = by_id(table.read(spark).toArrow())
    assert found == by_id(table.scan().to_arrow())
    assert found[0]["s"] == {"b": None} and found[0]["l"] == [{"b": None}, None]
    assert found[0]["m"] == {"k": {"b": None}, "n": None} and found[0]["deep"] == {"x": {"b": None}}
    assert found[4] == {"id": 3, "s": {"b": None}, "deep": None, "l": None, "m": None}


def test_it_is_there_for_filters_and_for_rows_beside_deleted_ones(main: Catalog, spark: SparkSession) -> None:
    table = with_other_fields(main, spark)
    table.append(pyarrow.table({"id": [4], "s": pyarrow.array([{"b": "x"}])}))
    for where, ids in {"s IS NOT NULL": [1, 1, 3, 3, 4], "s IS NULL": [2, 2], "s.b = 'x'": [4]}.items():
        assert sorted(one.id for one in table.read(spark).where(where).select("id").collect()) == ids, where
    assert table.read(spark).where("s IS NOT NULL AND s.b IS NULL").count() == 4
    table.delete("id = 1")
    assert by_id(table.read(spark).toArrow()) == by_id(table.scan().to_arrow())
    assert sorted(
        one.id for one in table.read(spark, columns=["id", "s", "_pos"]).where("s IS NOT NULL").collect()
    ) == [
        3,
        3,
        4,
    ]


def test_defaults_are_given_to_it(main: Catalog, spark: SparkSession) -> None:
    table = with_other_fields(main, spark, default="new")
    found = by_id(table.read(spark).toArrow())
    assert found == by_id(table.scan().to_arrow())
    assert found[0]["s"] == {"b": "new"} and found[0]["m"] == {"k": {"b": "new"}, "n": None}


def with_other_field(type: str) -> tuple[Schema, Schema]:
    """The schema of a file, and the one that its table has by now."""
    old = with_ids(Schema({"id": "long", "s": f"struct<a: {type}>"}), 1, 1)
    return old, drop_column(add_column(old, "s.b", "string", ids=iter([50])), "s.a")


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("boolean", True),
        ("decimal(20, 2)", Decimal("1.5")),
        ("timestamptz", datetime(2026, 1, 1, tzinfo=UTC)),
        ("fixed(2)", b"ab"),
        ("list<struct<t: time, x: int>>", [{"t": time(1), "x": 1}]),
        ("map<string, date>", [("a", date(2026, 1, 1))]),
    ],
)
def test_any_type_that_spark_reads_may_be_the_witness(
    spark: SparkSession, files: LocalFiles, type: str, value: Any
) -> None:
    old, new = with_other_field(type)
    [entry] = write(files, "data", old, pyarrow.Table.from_pylist([{"id": 1, "s": {"a": value}}], arrow_schema(old)))
    [(asked, [_])] = files_by_probes(files, new.fields, new.fields, [entry]).items()
    assert any(way[-1].id == PROBE for way in walk(asked))
    assert read(spark, files, new, [entry]).collect() == [(1, (None,))]


def test_a_file_without_any_such_field_is_refused(files: LocalFiles) -> None:
    old, new = with_other_field("time")
    [entry] = write(files, "data", old, pyarrow.table({"id": [1], "s": [{"a": time(1)}]}))
    with pytest.raises(Invalid, match=r"^s: Spark 4\.0 would read a struct as null.*found a time64"):
        files_by_probes(files, new.fields, new.fields, [entry])
    assert files_by_probes(files, new.fields, new.fields[:1], [entry]) == {new.fields: [entry]}


def test_no_file_is_opened_whose_statistics_tell_or_for_columns_that_are_not_needed(files: LocalFiles) -> None:
    old, new = with_other_field("long")
    [entry] = write(files, "data", old, pyarrow.table({"id": [1], "s": [{"a": 1}]}))
    os.remove(files.location(entry.path))
    assert files_by_probes(files, old.fields, old.fields, [entry]) == {old.fields: [entry]}
    assert files_by_probes(files, new.fields, new.fields[:1], [entry]) == {new.fields: [entry]}
