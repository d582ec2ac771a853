"""Spark keeps the rows that a filter on a column inside structs is true of, and skips row groups soundly by it."""

from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.spark.read.filter import to_spark
from lakebed.table.filter.bind import bind
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field
from tests.support.brute_force import NASTY, every_filter, passes, row_of, schema_of
from tests.support.examples import examples, long_but
from tests.support.raw_names import with_raw_names

TYPES = {
    "boolean": pyarrow.bool_(),
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "float": pyarrow.float32(),
    "double": pyarrow.float64(),
    "decimal(9, 2)": pyarrow.decimal128(9, 2),
    "decimal(38, 10)": pyarrow.decimal128(38, 10),
    "date": pyarrow.date32(),
    "timestamp": pyarrow.timestamp("us"),
    "timestamptz": pyarrow.timestamp("us", "UTC"),
    "string": pyarrow.string(),
    "binary": pyarrow.binary(),
}


def physical(field: Field) -> str:
    return field.physical_name


def written(path: Path, type: str, rows: list[dict[str, Any]]) -> str:
    """The rows in Parquet, two to a row group, so that groups are skipped."""
    form = pyarrow.struct([pyarrow.field("s", pyarrow.struct([pyarrow.field("c", TYPES[type])]))])
    columns = {"id": [row["id"] for row in rows], "t": pyarrow.array([row["t"] for row in rows], form)}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return str(path)


@pytest.mark.parametrize("type", long_but(sorted(TYPES), sorted(TYPES)[::3]))
def test_spark_keeps_the_rows_that_a_filter_is_true_of(spark: SparkSession, tmp_path: Path, type: str) -> None:
    _, way = schema_of(type, "t")
    values = [*((one, 0) for one in NASTY[type]), (None, 0), (None, 1), (None, 2)]
    rows = [{"id": at} | row_of(way, value, level) for at, (value, level) in enumerate(values)]
    table = spark.read.parquet(written(tmp_path / "rows.parquet", type, rows))
    asked = list(every_filter(way, NASTY[type][:: examples(6, 3)]))
    tested = [F.coalesce(to_spark(one, physical), F.lit(False)).alias(f"c{at}") for at, one in enumerate(asked)]
    found = table.select("id", *tested).toArrow().sort_by("id")
    for at, filter in enumerate(asked):
        assert found[f"c{at}"].to_pylist() == [passes(filter, row) for row in rows], filter


@pytest.mark.parametrize("type", long_but(["double", "float", "string"], ["double"]))
def test_a_read_that_skips_row_groups_keeps_the_same_rows(spark: SparkSession, tmp_path: Path, type: str) -> None:
    _, way = schema_of(type, "t")
    values = [*((one, 0) for one in sorted(NASTY[type])), (None, 0), (None, 1), (None, 2)]
    rows = [{"id": at} | row_of(way, value, level) for at, (value, level) in enumerate(values)]
    table = spark.read.parquet(written(tmp_path / "rows.parquet", type, rows))
    asked = list(every_filter(way, NASTY[type][:: examples(9, 5)]))
    reads = [table.filter(to_spark(one, physical)).select(F.lit(at).alias("at"), "id") for at, one in enumerate(asked)]
    found = reduce(DataFrame.union, reads).toArrow().to_pylist()
    for at, filter in enumerate(asked):
        kept = sorted(one["id"] for one in found if one["at"] == at)
        assert kept == [row["id"] for row in rows if passes(filter, row)], filter


def test_names_with_dots_and_ticks_are_no_ways(spark: SparkSession) -> None:
    schema = with_raw_names(with_ids(Schema({"a.b": "struct<`c.``d`: int>", "a": "struct<b: int>"}), 1, 1))
    table = spark.sql("select struct(1 as `c.``d`) as `a.b`, struct(2 as b) as a")
    for text, count in (("`a.b`.`c.``d` = 1", 1), ("a.b = 2", 1), ("a.b = 1", 0)):
        assert table.filter(to_spark(bind(text, schema), physical)).count() == count, text
