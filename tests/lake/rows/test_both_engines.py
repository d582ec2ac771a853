"""One table, two engines: what Arrow appends Spark reads, and the other way round, on every line and in every past."""

import datetime
import math
from decimal import Decimal

import pyarrow
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from lakebed import Field, Invalid, Schema
from lakebed.arrow.types import arrow_schema
from lakebed.spark.types import spark_schema

UTC = datetime.UTC
SCHEMA = Schema(
    [
        Field("key", "int", required=True),
        Field("flag", "boolean"),
        Field("small", "int"),
        Field("large", "long"),
        Field("single", "float"),
        Field("double", "double"),
        Field("money", "decimal(9, 2)"),
        Field("huge", "decimal(38, 10)"),
        Field("day", "date"),
        Field("local", "timestamp"),
        Field("instant", "timestamptz"),
        Field("text", "string"),
        Field("raw", "binary"),
        Field("list", "list<int>"),
        Field("map", "map<string, long>"),
        Field("struct", "struct<a: int, b: struct<c: string, d: list<double>>>"),
        Field("deep", "list<struct<when: timestamptz, tags: map<string, list<string>>>>"),
    ]
)
NAMES = SCHEMA.names
ROWS = [
    (
        1,
        True,
        17,
        1 << 40,
        0.5,
        0.1,
        Decimal("1234567.89"),
        Decimal("1.0000000001"),
        datetime.date(2026, 11, 1),
        datetime.datetime(2026, 11, 1, 12, 30, 0, 1),
        datetime.datetime(2026, 11, 1, 12, 30, 0, 1, UTC),
        "größe 🌊",
        b"\x00\xff",
        [1, None, 3],
        {"a": 1, "b": None},
        {"a": 1, "b": {"c": "x", "d": [0.5, None]}},
        [{"when": datetime.datetime(2026, 1, 1, tzinfo=UTC), "tags": {"k": ["v", None], "none": None}}, None],
    ),
    (
        2,
        False,
        -(1 << 31),
        -(1 << 63),
        -math.inf,
        5e-324,
        Decimal("-9999999.99"),
        Decimal("-9999999999999999999999999999.9999999999"),
        datetime.date(1, 1, 1),
        datetime.datetime(1, 1, 1),
        datetime.datetime(1900, 1, 1, tzinfo=UTC),
        "",
        b"",
        [],
        {},
        {"a": None, "b": None},
        [],
    ),
    (
        3,
        None,
        (1 << 31) - 1,
        (1 << 63) - 1,
        math.inf,
        1.7976931348623157e308,
        Decimal("0.00"),
        Decimal("9999999999999999999999999999.9999999999"),
        datetime.date(9999, 12, 31),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2262, 4, 11, 23, 47, 16, 854775, UTC),
        "x" * 5000,
        bytes(range(256)),
        [None],
        {"": -1},
        {"a": 0, "b": {"c": None, "d": None}},
        [{"when": None, "tags": {}}],
    ),
    (4, *([None] * 16)),
]


def arrow_rows():
    return pyarrow.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in ROWS], arrow_schema(SCHEMA))


@pytest.fixture
def spark_rows(spark):
    """The same rows as a DataFrame, by way of Arrow: PySpark's own way from Python has no times before 1900."""
    return spark.createDataFrame(arrow_rows(), schema=spark_schema(SCHEMA))


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def by_arrow(table):
    return table.scan().to_arrow().sort_by("key")


def by_spark(table, spark):
    """What Spark reads, as Arrow holds it, so that both can be compared value by value."""
    return table.read(spark).orderBy("key").toArrow().cast(arrow_schema(SCHEMA))


def ids(frame):
    return sorted(row.id for row in frame.select("id").collect())


@pytest.fixture
def all_types(main):
    return main.create_table("all_types", SCHEMA)


def test_what_arrow_appends_spark_reads(all_types, spark):
    all_types.append(arrow_rows())
    assert by_spark(all_types, spark).to_pylist() == arrow_rows().to_pylist()


def test_what_spark_appends_arrow_reads(all_types, spark_rows):
    all_types.append(spark_rows)
    assert by_arrow(all_types).to_pylist() == arrow_rows().to_pylist()
    assert by_arrow(all_types).schema == arrow_schema(SCHEMA)


def test_both_engines_read_what_both_appended_alike(all_types, spark, spark_rows):
    for _ in range(2):
        all_types.append(arrow_rows())
        all_types.append(spark_rows)
    there, here = by_spark(all_types, spark), by_arrow(all_types)
    assert there.to_pylist() == here.to_pylist()
    assert here.num_rows == 4 * len(ROWS)


def test_nan_and_both_zeros_are_the_same_to_both(main, spark):
    table = main.create_table("floats", {"id": "long", "x": "double", "y": "float"})
    values = [math.nan, -0.0, 0.0, None]
    rows = pyarrow.table({"id": range(4), "x": values, "y": pyarrow.array(values, pyarrow.float32())})
    table.append(rows)
    table.append(spark.createDataFrame(rows))
    for where in ("x = 0", "x <> 0", "x IS NULL", "x > 1", "y <= 0", "x IN (0, 1)"):
        here = sorted(table.scan(where).to_arrow()["id"].to_pylist())
        assert ids(table.read(spark, where)) == here, where


FILTERS = {
    "key = 2": [2],
    "flag": [1],
    "NOT flag": [2],
    "large < 0": [2],
    "large >= 9223372036854775807": [3],
    "double > 1e300": [3],
    "single <> 0.5": [2, 3],
    "money = 1234567.89": [1],
    "huge < 0": [2],
    "day >= DATE '2026-01-01'": [1, 3],
    "local < TIMESTAMP '2026-11-01 12:30:00.000002'": [1, 2],
    "instant > '2026-11-01T12:30:00'": [1, 3],
    "text = ''": [2],
    "text BETWEEN 'h' AND 'y'": [3],
    "text IS NULL OR small > 0": [1, 3, 4],
    "key IN (1, 3) AND flag IS NULL": [3],
    "key NOT IN (1, 2)": [3, 4],
    "raw = X'00FF'": [1],
}


def test_both_engines_filter_alike(all_types, spark, spark_rows):
    """Pruned by statistics of files that both have written, and by each engine's own reader."""
    all_types.append(arrow_rows())
    all_types.append(spark_rows)
    for row in ROWS:
        all_types.append(pyarrow.Table.from_pylist([dict(zip(NAMES, row, strict=True))], arrow_schema(SCHEMA)))
    for where, keys in FILTERS.items():
        expected = sorted(keys * 3)
        assert sorted(all_types.scan(where).to_arrow()["key"].to_pylist()) == expected, where
        assert sorted(row.key for row in all_types.read(spark, where).collect()) == expected, where


def test_spark_reads_the_columns_that_were_asked_for(all_types, spark):
    all_types.append(arrow_rows())
    frame = all_types.read(spark, where="key <= 2", columns=["text", "KEY"])
    assert frame.columns == ["text", "key"]
    assert sorted(tuple(row) for row in frame.collect()) == [("", 2), ("größe 🌊", 1)]


@pytest.fixture
def orders(main):
    table = main.create_table("orders", {"id": "long"})
    table.append(numbers(1))
    return table


def test_spark_reads_branches_and_the_past(main, orders, spark):
    version = main.version
    dev = main.create_branch("dev")
    dev.table("orders").append(spark.createDataFrame(numbers(2)))
    orders.append(spark.createDataFrame(numbers(3)))
    assert ids(orders.read(spark)) == [1, 3]
    assert ids(dev.table("orders").read(spark)) == [1, 2]
    assert ids(orders.at(version=version).read(spark)) == [1]
    assert ids(dev.at(version).table("orders").read(spark)) == [1]
    first = orders.snapshots()[-1]
    assert ids(orders.at(snapshot=first.id).read(spark)) == []


def test_a_frame_shows_the_table_as_it_was_when_it_was_asked_for(orders, spark):
    frame = orders.read(spark)
    orders.append(numbers(2))
    assert ids(frame) == [1]
    assert ids(orders.read(spark)) == [1, 2]


def test_an_empty_table_is_an_empty_frame(main, spark):
    empty = main.create_table("empty", SCHEMA)
    frame = empty.read(spark)
    assert (frame.columns, frame.count()) == (list(NAMES), 0)
    empty.append(empty.read(spark))
    assert empty.scan().to_arrow().num_rows == 0


def test_two_tables_loaded_by_spark_are_one_commit(main, orders, spark):
    with main.transaction("load") as tx:
        tx.table("orders").append(spark.range(10, 20))
        items = tx.create_table("items", {"id": "long"})
        items.append(spark.range(5))
        assert ids(tx.table("orders").read(spark)) == [1, *range(10, 20)]
        assert ids(items.read(spark, where="id >= 3")) == [3, 4]
        assert ids(orders.read(spark)) == [1]
    assert {main.table(name).version for name in ("orders", "items")} == {tx.committed.version}
    assert ids(main.table("items").read(spark)) == list(range(5))
    assert main.table("orders").scan().count() == 11


def test_a_table_is_filled_from_itself_and_others(main, orders, spark):
    """Reads of a transaction feed its writes: an insert from a select."""
    with main.transaction("double") as tx:
        table = tx.table("orders")
        table.append(table.read(spark).select((F.col("id") + 100).alias("id")))
        table.append(table.read(spark).select((F.col("id") + 1000).alias("id")))
    assert ids(orders.read(spark)) == [1, 101, 1001, 1101]


def failing(spark):
    """Rows of which the last one fails when it is computed, in a job with several tasks."""
    fails = F.udf(lambda number: number if number < 99 else 1 // 0, "long")
    return spark.range(0, 100, numPartitions=4).select(fails("id").alias("id"))


def test_a_spark_job_that_fails_leaves_nothing(orders, spark, unchanged):
    with unchanged(), pytest.raises(PySparkException):
        orders.append(failing(spark))
    assert ids(orders.read(spark)) == [1]


def test_a_spark_job_that_fails_inside_a_transaction_leaves_nothing(main, orders, spark, unchanged):
    """Nor does what was loaded before it."""
    with unchanged(), pytest.raises(PySparkException), main.transaction("fails") as tx:
        tx.table("orders").append(spark.range(10))
        tx.create_table("new", {"id": "long"}).append(numbers(1))
        tx.table("orders").append(failing(spark))
    assert ids(orders.read(spark)) == [1]


def test_a_spark_append_that_comes_again_runs_no_job(orders, spark, unchanged):
    """Looked up before the job: a frame that would fail is not even computed."""
    event = "6f6e13c8-2c51-551c-a81e-e28ec3fb5910"
    first = orders.append(spark.range(5), event_id=event)
    with unchanged():
        assert orders.append(failing(spark), event_id=event) == first


@pytest.mark.parametrize(
    "frame",
    [
        lambda spark: spark.createDataFrame([("a",)], "id string"),
        lambda spark: spark.createDataFrame([(1, 2)], "id long, other long"),
        lambda spark: spark.range(3).toDF("other"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_without_a_job(orders, spark, unchanged, frame):
    with unchanged(), pytest.raises(Invalid):
        orders.append(frame(spark))


def test_a_null_in_a_required_column_is_refused_by_both(main, spark, unchanged):
    table = main.create_table("strict", [Field("id", "long", required=True)])
    for rows in (numbers(None), spark.createDataFrame([(1,), (None,)], "id long")):
        with unchanged(), pytest.raises(Invalid):
            table.append(rows)


def test_a_table_may_be_made_from_a_spark_schema(main, spark):
    frame = spark.range(1).select("id", F.lit("a").alias("name"))
    table = main.create_table("made", frame.schema)
    table.append(frame)
    assert table.scan().to_arrow().to_pylist() == [{"id": 0, "name": "a"}]
    assert main.create_table("rows", frame).scan().to_arrow().to_pylist() == [{"id": 0, "name": "a"}]
