"""Files that lack fields with defaults: which ones are told apart, and at what cost."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from itertools import count

import pyarrow
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.spark.read.defaults import files_by_missing_fields
from lakebed.spark.read.pushdown import NULL_STRUCTS
from lakebed.spark.read.read import read
from lakebed.spark.write.write import write
from lakebed.table.schema.evolution import add_column
from lakebed.table.schema.schema import Schema, with_ids

OLD = with_ids(Schema({"id": "long", "s": "struct<a: int>", "l": "list<struct<a: int>>"}), 1, 1)
ROWS = "select 1L id, named_struct('a', 1) s, array(named_struct('a', 1)) l"


def grown(*paths: str) -> Schema:
    schema, ids = OLD, count(50)
    for path in paths:
        schema = add_column(schema, path, "binary", ids=ids, default=b"x")
    return schema


def test_files_are_told_apart_by_what_they_lack(spark: SparkSession, files: LocalFiles) -> None:
    newer, newest = grown("top", "s.b"), grown("top", "s.b", "l.element.b")
    written = [
        write(files, f"data/{number}", schema, spark.sql(ROWS))[0] for number, schema in enumerate((OLD, newer, newest))
    ]
    found = files_by_missing_fields(files, newest.fields, written)
    assert {absent: [one.path for one in alike] for absent, alike in found.items()} == {
        frozenset({50, 51, 52}): [written[0].path],
        frozenset({52}): [written[1].path],
        frozenset(): [written[2].path],
    }


def test_no_file_is_opened_for_columns_without_such_defaults_or_whose_statistics_tell(
    spark: SparkSession, files: LocalFiles
) -> None:
    [old] = write(files, "data/1", OLD, spark.sql(ROWS))
    newer = grown("top", "s.b")
    [new] = write(files, "data/2", newer, spark.sql(ROWS))
    for one in (old, new):
        os.remove(files.location(one.path))
    plain = add_column(OLD, "plain", "int", ids=iter([60]), default=7)
    assert files_by_missing_fields(files, plain.fields, [old, new]) == {frozenset(): [old, new]}
    assert files_by_missing_fields(files, newer.select(["id", "l"]).fields, [old, new]) == {frozenset(): [old, new]}
    assert files_by_missing_fields(files, newer.fields, [new]) == {frozenset(): [new]}


def test_a_column_that_is_not_asked_for_costs_nothing(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", OLD, spark.sql(ROWS))
    schema = grown("s.b")
    assert read(spark, files, schema, written, columns=["id"]).collect()[0].id == 1
    assert bytes(read(spark, files, schema, written, columns=["s"]).collect()[0].s.b) == b"x"


def test_what_is_for_older_files_does_not_leave_with_the_rows(spark: SparkSession, files: LocalFiles) -> None:
    schema = add_column(OLD, "plain", "int", ids=iter([60]), default=7)
    back = read(spark, files, schema, write(files, "data/1", OLD, spark.sql(ROWS)))
    assert back.first().plain == 7
    assert [one.metadata for one in back.schema.fields] == [{}] * 4


def test_a_session_that_shows_structs_of_older_files_as_null_is_refused(
    spark: SparkSession, files: LocalFiles, setting: Callable[[dict[str, str]], AbstractContextManager[None]]
) -> None:
    if not spark.conf.isModifiable(NULL_STRUCTS):
        pytest.skip(f"Spark {spark.version} has no such setting; 4.1 has")
    written = write(files, "data/1", OLD, spark.sql(ROWS))
    with setting({NULL_STRUCTS: "true"}), pytest.raises(Invalid, match=f"{NULL_STRUCTS}.*expected false"):
        read(spark, files, OLD, written)
    assert read(spark, files, OLD, written).count() == 1


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


@pytest.mark.parametrize(
    ("digits", "default"),
    [(9, "0.01"), (10, "0.01"), (18, "-9999999999999999.99"), (19, "0.01"), (20, "999999999999999999.99")],
)
def test_a_long_decimal_with_a_default_could_not_be_read_by_spark(main, spark, digits, default):
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [1]}))
    with table.evolve() as change:
        change.add_column("price", f"decimal({digits}, 2)", default=Decimal(default))
    assert table.read(spark, where=f"price = {default}").collect()[0].price == Decimal(default)
    assert table.read(spark, where=f"price <> {default}").count() == 0
