"""Inline rows in Spark: the same rows, types and names as if they were in files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import lakebed
from lakebed import Catalog, Field, Schema, Table
from lakebed.arrow.types import arrow_schema
from tests.support import filters
from tests.support.examples import examples
from tests.support.filters import condition

INLINE_BYTES = "write.inline-bytes"
Setting = Callable[[dict[str, str]], AbstractContextManager[None]]

EVERY_TYPE = Schema(
    [
        Field("key", "int", required=True),
        Field("flag", "boolean"),
        Field("large", "long"),
        Field("single", "float"),
        Field("double", "double"),
        Field("money", "decimal(9, 2)"),
        Field("huge", "decimal(38, 10)"),
        Field("day", "date"),
        Field("local", "timestamp"),
        Field("instant", "timestamptz"),
        Field("Ünï çødé.with `dots`", "string"),
        Field("raw", "binary"),
        Field("list", "list<timestamp>"),
        Field("map", "map<string, timestamptz>"),
        Field("struct", "struct<A: int, b: struct<c: timestamp, d: list<double>>>"),
        Field("deep", "list<struct<`w.h`: timestamptz, tags: map<string, list<string>>>>"),
    ]
)
ROWS = [
    (
        1,
        True,
        1 << 40,
        0.5,
        0.1,
        Decimal("1234567.89"),
        Decimal("1.0000000001"),
        date(2026, 11, 1),
        datetime(2026, 3, 29, 2, 30, 0, 1),  # no such time in many zones
        datetime(2026, 11, 1, 12, 30, 0, 1, UTC),
        "größe 🌊\x00",
        b"\x00\xff",
        [datetime(2026, 3, 29, 2, 30), None],
        {"a": datetime(2026, 1, 1, tzinfo=UTC), "b": None},
        {"A": 1, "b": {"c": datetime(1969, 12, 31, 23, 59, 59, 999999), "d": [0.5, None]}},
        [{"w.h": datetime(2026, 1, 1, tzinfo=UTC), "tags": {"k": ["v", None], "none": None}}, None],
    ),
    (2, *[None] * 15),
    (
        3,
        False,
        -(1 << 63),
        float("nan"),
        float("-inf"),
        Decimal("-0.01"),
        Decimal("-9999999999999999999999999999.9999999999"),
        date(1, 1, 1),
        datetime(1, 1, 1),
        datetime(1582, 10, 10, tzinfo=UTC),
        "",
        b"",
        [],
        {},
        {"A": None, "b": None},
        [{"w.h": None, "tags": {}}],
    ),
]


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def rows(*places: int) -> pyarrow.Table:
    form = arrow_schema(EVERY_TYPE)
    columns = zip(*(ROWS[place] for place in places), strict=True)
    return pyarrow.table(
        [pyarrow.array(list(one), field.type) for one, field in zip(columns, form, strict=True)], schema=form
    )


def twins(main: Catalog, schema: Any) -> tuple[Table, Table]:
    """A table whose rows are inline, and one whose rows are in files."""
    inline = main.create_table("inline", schema)
    return inline, main.create_table("files", schema, properties={INLINE_BYTES: "0"})


def shown(frame: DataFrame) -> list[str]:
    """The rows as text: NaN is equal to itself there, and 0.0 is not -0.0."""
    return sorted(map(repr, frame.collect()))


def formats(main: Catalog, table: Table) -> set[str]:
    found = main.inspect("__files").to_pylist()
    return {one["file_format"] for one in found if one["table_uuid"] == table.id}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo"])
def test_every_type_is_what_it_is_in_files(main: Catalog, spark: SparkSession, setting: Setting, zone: str) -> None:
    inline, files = twins(main, EVERY_TYPE)
    for table in (inline, files):
        table.append(rows(0, 1))
        table.append(rows(2))
    assert (formats(main, inline), formats(main, files)) == ({"inline"}, {"parquet"})
    with setting({"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": "false"}):
        found = inline.read(spark)
        assert found.schema == files.read(spark).schema
        assert shown(found) == shown(files.read(spark))
        columns = ["map", "Ünï çødé.with `dots`", "instant"]
        assert inline.read(spark, columns=columns).schema == files.read(spark, columns=columns).schema
        assert shown(inline.read(spark, columns=columns)) == shown(files.read(spark, columns=columns))


def test_values_beyond_pythons_dates_arrive(main: Catalog, spark: SparkSession) -> None:
    inline, files = twins(main, {"d": "date", "local": "timestamp", "at": "timestamptz"})
    ends = pyarrow.array([2**63 - 1, -(2**63)])
    days = pyarrow.array([2**31 - 1, -(2**31)], pyarrow.int32())
    data = {
        "d": days.view("date32"),
        "local": ends.view(pyarrow.timestamp("us")),
        "at": ends.view(pyarrow.timestamp("us", "UTC")),
    }
    for table in (inline, files):
        table.append(pyarrow.table(data))
    asked = ["unix_date(d)", "cast(local as string)", "unix_micros(at)"]
    assert shown(inline.read(spark).selectExpr(*asked)) == shown(files.read(spark).selectExpr(*asked))


def test_inline_rows_and_files_are_one_table(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append(pyarrow.table({"id": [1], "name": ["one"]}))
    table.append(spark.range(2, 4).selectExpr("id", "'spark' as name"))
    table.append(pyarrow.table({"id": [4], "name": ["four"]}))
    assert formats(main, table) == {"inline", "parquet"}
    expected = [Row(id=1, name="one"), Row(id=2, name="spark"), Row(id=3, name="spark"), Row(id=4, name="four")]
    assert sorted(table.read(spark).collect()) == expected
    assert table.read(spark, where="name = 'four'").collect() == [expected[3]]
    assert table.read(spark, where="id in (3, 1)", columns=["name"]).count() == 2
    assert table.read(spark, where="id > 100").collect() == []
    assert [one.name for one in table.read(spark, where="id > 100").schema] == ["id", "name"]


def test_what_spark_writes_is_never_inline(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(spark.range(1))
    assert formats(main, table) == {"parquet"}


def test_filters_keep_the_same_rows(main: Catalog, spark: SparkSession) -> None:
    schema = filters.SCHEMA.select([one.name for one in filters.SCHEMA.fields if one.name not in filters.NOT_IN_SPARK])
    constants = {one.name: filters.CONSTANTS[one.name] for one in schema.fields}
    inline, files = twins(main, schema)
    random = Random(17)
    form = arrow_schema(schema)
    for _ in range(3):
        data = pyarrow.Table.from_pylist(filters.rows(random, 20), schema=form)
        inline.append(data)
        files.append(data)
    assert formats(main, inline) == {"inline"}
    for _ in range(examples(6, 40)):
        where = condition(random, constants).text
        assert shown(inline.read(spark, where=where)) == shown(files.read(spark, where=where)), where


def test_rows_that_are_older_than_a_column_show_its_default(main: Catalog, spark: SparkSession) -> None:
    inline, files = twins(main, {"n": "int", "s": "struct<a: long>", "gone": "string"})
    for table in (inline, files):
        table.append(pyarrow.table({"n": pyarrow.array([1], "int32"), "s": [{"a": 1}], "gone": ["x"]}))
        with table.evolve() as change:
            change.widen_column("n", "long")
            change.rename_column("s.a", "b")
            change.add_column("s.c", "string", default="inner")
            change.add_column("d", "binary", default=b"\x01")
            change.drop_column("gone")
        table.append(pyarrow.table({"n": [2], "s": [{"b": 2, "c": "given"}], "d": [b"\x02"]}))
    assert shown(inline.read(spark)) == shown(files.read(spark))
    assert inline.read(spark).schema == files.read(spark).schema
    assert shown(inline.read(spark, where="n = 1")) == shown(files.read(spark, where="n = 1"))


def test_the_past_a_branch_and_a_transaction_show_theirs(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    first = table.append(pyarrow.table({"id": [1]}))
    dev = main.create_branch("dev").table("t")
    dev.append(pyarrow.table({"id": [2]}))
    assert first is not None
    assert sorted(one.id for one in dev.read(spark).collect()) == [1, 2]
    assert [one.id for one in dev.at(first.version).read(spark).collect()] == [1]
    with main.transaction("load") as tx:
        tx.table("t").append(pyarrow.table({"id": [3]}))
        assert sorted(one.id for one in tx.table("t").read(spark).collect()) == [1, 3]


def test_a_frame_shows_the_table_as_it_was_when_it_was_made(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1]}))
    frame = table.read(spark)
    table.append(pyarrow.table({"id": [2]}))
    assert frame.count() == 1


def test_a_read_failed_where_no_inline_row_passed_and_a_column_is_nested(main, spark):
    table = main.create_table("t", {"id": "long", "tags": "list<long>"})
    table.append(pyarrow.table({"id": [1], "tags": [[1, 2]]}))
    assert table.read(spark, where="id = 2").collect() == []
    assert table.read(spark, where="id = 1").collect()[0].tags == [1, 2]
