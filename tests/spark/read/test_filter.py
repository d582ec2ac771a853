"""Spark keeps the rows that a filter's words are true of, whatever the session says, and skips row groups soundly."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.spark.read.filter import to_spark
from lakebed.table.filter.bind import TERMS, parse_filter
from lakebed.table.types.types import Field
from tests.support.brute_force import passes
from tests.support.examples import examples
from tests.support.filters import (
    CONSTANTS,
    NAN,
    NOT_IN_SPARK,
    QUOTED_NUMBERS,
    SCHEMA,
    condition,
    rows,
)

ROWS = rows(Random(17), 60)
NUMERIC = ("small", "big", "ratio", "share", "price", "wide")
KNOWN = {name: constants for name, constants in CONSTANTS.items() if name not in NOT_IN_SPARK}
OURS = KNOWN | {name: KNOWN[name] + QUOTED_NUMBERS for name in NUMERIC}
# Where Spark 4.3 is no judge: it takes `int > -9223372036854775809` for true, of a null too, and rounds decimals that
# would need more than 38 digits beside one another.
SPARKS = {name: constants for name, constants in KNOWN.items() if name != "wide"}
SPARKS |= {name: [one for one in KNOWN[name] if -(2**63) <= one.value < 2**63] for name in ("small", "big")}
TYPES = {
    "boolean": pyarrow.bool_(),
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "float": pyarrow.float32(),
    "double": pyarrow.float64(),
    "decimal(10, 2)": pyarrow.decimal128(10, 2),
    "decimal(38, 10)": pyarrow.decimal128(38, 10),
    "date": pyarrow.date32(),
    "timestamp": pyarrow.timestamp("us"),
    "timestamptz": pyarrow.timestamp("us", "UTC"),
    "string": pyarrow.string(),
    "binary": pyarrow.binary(),
    "fixed(3)": pyarrow.binary(3),
}


def physical(field: Field) -> str:
    return field.physical_name


def where(text: str) -> Column:
    return to_spark(parse_filter(text, SCHEMA), physical)


def array(field: Field, values: list[Any]) -> pyarrow.Array:
    return pyarrow.array(values, TYPES[str(field.type)])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rows in Parquet, two to a row group, so that groups are skipped."""
    path = tmp_path_factory.mktemp("filters") / "rows.parquet"
    fields = [field for field in SCHEMA.fields if field.name not in NOT_IN_SPARK]
    columns = {field.physical_name: array(field, [row[field.name] for row in ROWS]) for field in fields}
    pyarrow.parquet.write_table(
        pyarrow.table(columns | {"row": pyarrow.array(range(len(ROWS)))}), path, row_group_size=2
    )
    return str(path)


@contextmanager
def settings(spark: SparkSession, **wanted: str) -> Iterator[None]:
    """Settings of the session, for a while."""
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def kept(table: DataFrame, conditions: list[Column]) -> list[list[bool]]:
    """For every condition, whether each row passes: all of them in one job."""
    passed = [F.coalesce(one, F.lit(False)).alias(f"c{at}") for at, one in enumerate(conditions)]
    found = table.select("row", *passed).toArrow().sort_by("row")
    return [found[f"c{at}"].to_pylist() for at in range(len(conditions))]


@pytest.mark.parametrize(("zone", "ansi"), [("America/New_York", "true"), ("UTC", "false")])
def test_spark_keeps_the_rows_that_the_words_are_true_of(spark: SparkSession, file: str, zone: str, ansi: str) -> None:
    asked = [condition(Random(seed), OURS) for seed in range(examples(120, 300))]
    with settings(spark, **{"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": ansi}):
        found = kept(spark.read.parquet(file), [where(one.text) for one in asked])
    for one, passed in zip(asked, found, strict=True):
        assert passed == one.kept(ROWS), one.text


def test_spark_reads_the_same_words_alike(spark: SparkSession, file: str) -> None:
    asked = [condition(Random(seed), SPARKS) for seed in range(1000, 1000 + examples(120, 300))]
    if spark.sql("select 'a''b'").first()[0] == "ab":  # two literals to Spark 4.0, one with a quote to SQL and to us
        asked = [one for one in asked if "''" not in one.text]
    with settings(spark, **{"spark.sql.session.timeZone": "UTC"}):
        found = kept(spark.read.parquet(file), [F.expr(one.text) for one in asked])
    for one, passed in zip(asked, found, strict=True):
        assert passed == one.kept(ROWS), one.text


def test_a_read_that_skips_row_groups_keeps_the_same_rows(spark: SparkSession, file: str) -> None:
    asked = [condition(Random(seed), OURS, depth=1) for seed in range(2000, 2000 + examples(40, 80))]
    table = spark.read.parquet(file)
    reads = [table.filter(where(one.text)).select(F.lit(at).alias("asked"), "row") for at, one in enumerate(asked)]
    found = reduce(DataFrame.union, reads).toArrow().to_pylist()
    for at, one in enumerate(asked):
        passed = {each["row"] for each in found if each["asked"] == at}
        assert [number in passed for number in range(len(ROWS))] == one.kept(ROWS), one.text


def test_spark_matches_any_pattern_as_it_is_meant(spark: SparkSession) -> None:
    random = Random(5)
    written = ["a", "b", "%", "_", r"\%", r"\_", r"\\", "\n", ".", "*", "é", "😀"]
    texts = ["".join(random.choices("ab%_\\\n.*é😀", k=random.randrange(5))) for _ in range(100)]
    patterns = ["".join(random.choices(written, k=random.randrange(6))) for _ in range(200)]
    bound = [parse_filter("word like '{}'".format(one.replace("\\", "\\\\")), SCHEMA) for one in patterns]
    table = spark.createDataFrame([(at, text) for at, text in enumerate(texts)], "row int, word string")
    found = kept(table, [to_spark(one, physical) for one in bound])
    for one, passed in zip(bound, found, strict=True):
        assert passed == [passes(one, {"word": text}) for text in texts], one


def plan(table: DataFrame) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        table.explain("formatted")
    return printed.getvalue()


def pushed(table: DataFrame) -> str:
    """The filters that Spark hands to its Parquet reader."""
    lines = [line for line in plan(table).splitlines() if line.startswith("PushedFilters:")]
    return lines[0] if lines else "no filter"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("small = 17", "EqualTo(small,17)"),
        ("big < 17", "LessThan(big,17)"),
        ("price > 2.5", "GreaterThan(price,2.50)"),
        ("day >= '2026-01-01'", "GreaterThanOrEqual(day,2026-01-01)"),
        ("local >= '2026-01-01'", "GreaterThanOrEqual(local,2026-01-01T00:00)"),
        ("instant >= '2026-01-01'", "GreaterThanOrEqual(instant,20"),
        ("word in ('a', 'b')", "In(word, [a,b])"),
        ("blob = X'00'", "EqualTo(blob,"),
        ("flag", "EqualTo(flag,true)"),
        ("ratio < 0.1", "LessThanOrEqual(ratio,0.099999994)"),
        ("share <= 0", "LessThanOrEqual(share,0.0)"),
        ("small is null", "IsNull(small)"),
        ("share > 1", "no filter"),
        ("word like 'ab%'", "StringStartsWith(word,ab)"),
        ("word like 'ab'", "EqualTo(word,ab)"),
    ],
)
def test_filters_are_pushed_down(spark: SparkSession, file: str, text: str, expected: str) -> None:
    with settings(spark, **{"spark.sql.session.timeZone": "America/New_York"}):
        assert expected in pushed(spark.read.parquet(file).filter(where(text)))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("share > 5", [1.0, NAN], [NAN]),
        ("share != 1", [1.0, NAN], [NAN]),
        ("share = 'NaN'", [1.0, NAN], [NAN]),
        ("share not in (1)", [1.0, NAN], [NAN]),
        ("share < 'NaN'", [1.0, NAN, None], [1.0]),
        ("share = 0", [-0.0, -0.0], [-0.0, -0.0]),
        ("share >= 0", [-0.0, -0.0], [-0.0, -0.0]),
        ("share <= -0.0", [0.0, 0.0], [0.0, 0.0]),
        ("share in (0, 1)", [-0.0, -0.0], [-0.0, -0.0]),
        ("share in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", [-0.0, -0.0], [-0.0, -0.0]),
        ("share not in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", [-0.0, 12.0], [12.0]),
    ],
)
def test_no_row_is_lost_to_statistics_and_dictionaries(
    spark: SparkSession, tmp_path: Path, text: str, values: list[float], expected: list[float]
) -> None:
    path = tmp_path / "floats.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"share": pyarrow.array(values, pyarrow.float64())}), path)
    found = spark.read.parquet(str(path)).filter(where(text)).toArrow()["share"].to_pylist()
    assert str(found) == str(expected)


def test_a_column_is_called_what_it_is_in_the_files(spark: SparkSession) -> None:
    table = spark.sql("select 1 as `a.b``c`, 2 as small")
    one = to_spark(parse_filter("small = 1", SCHEMA), lambda field: "a.b`c")
    assert table.filter(one).count() == 1


def test_timestamps_reach_as_far_as_their_type(spark: SparkSession) -> None:
    texts = ("local = '0001-01-01'", "local = '9999-12-31 23:59:59.999999'")
    found = spark.sql(
        "select timestamp_ntz'0001-01-01' as local union select timestamp_ntz'9999-12-31 23:59:59.999999'"
    )
    assert [found.filter(where(text)).count() for text in texts] == [1, 1]


@pytest.mark.long
def test_the_longest_chain_that_a_filter_may_have_is_run(spark: SparkSession, file: str) -> None:
    bound = where(" or ".join(f"big != {at}" for at in range(TERMS)))
    assert spark.read.parquet(file).filter(bound).count() == sum(row["big"] is not None for row in ROWS)
