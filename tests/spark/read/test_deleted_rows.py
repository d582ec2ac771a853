"""Spark leaves deleted rows out, as the local engine does."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import pyarrow
import pytest
from pyspark.sql import SparkSession

from lakebed.arrow.write.write import write as write_files
from lakebed.catalog.data.deletion_vectors import write_vectors
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read
from lakebed.spark.read.scan import IGNORE_SINK_LOGS
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import SPARK_POSITION
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

SCHEMA = with_ids(Schema({"id": "long", "name": "string", "inner": "struct<a: int>"}), 0, 1)
Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


def written(files: LocalFiles, start: int, count: int) -> DataFileRef:
    ids = pyarrow.array(range(start, start + count), pyarrow.int64())
    table = pyarrow.table({"id": ids, "name": pyarrow.compute.cast(ids, pyarrow.string())})
    [file] = write_files(files, "data", SCHEMA, table, options=WriteOptions(group_rows=50_000))
    return file


def deleted(files: LocalFiles, file: DataFileRef, positions: Sequence[int]) -> DataFileRef:
    [changed] = write_vectors(files, "data", [(file, positions)])
    return changed


def ids(spark: SparkSession, files: LocalFiles, entries: Sequence[DataFileRef], where: str | None = None) -> list[int]:
    filter = None if where is None else parse_filter(where, SCHEMA)
    return sorted(read(spark, files, SCHEMA, entries, filter=filter, columns=["id"]).toArrow()["id"].to_pylist())


def test_rows_are_left_out_by_their_places_in_each_file(spark: SparkSession, files: LocalFiles) -> None:
    random.seed(6)
    gone: set[int] = set()
    entries = []
    for start in range(0, 1_000_000, 200_000):
        file = written(files, start, 200_000)
        positions = {0, 63, 64, 65_535, 65_536, 199_999, *random.sample(range(200_000), 2_000), *range(70_000, 71_000)}
        if start != 400_000:
            file = deleted(files, file, sorted(positions))
            gone |= {start + one for one in positions}
        entries.append(file)
    left = [one for one in range(1_000_000) if one not in gone]
    assert ids(spark, files, entries) == left
    assert read(spark, files, SCHEMA, entries).count() == len(left)
    assert read(spark, files, SCHEMA, entries, columns=[]).count() == len(left)
    where = "id between 199000 and 275000 and name <> '199500'"
    expected = [one for one in left if 199_000 <= one <= 275_000 and one != 199_500]
    assert ids(spark, files, entries, where) == expected
    assert read(spark, files, SCHEMA, entries).where("id >= 999990").count() == sum(one >= 999_990 for one in left)


def test_all_rows_of_a_file_may_be_deleted(spark: SparkSession, files: LocalFiles) -> None:
    file = deleted(files, written(files, 0, 1000), range(1000))
    assert ids(spark, files, [file]) == []
    assert ids(spark, files, [file, written(files, 1000, 2)]) == [1000, 1001]


def test_a_session_that_takes_no_lists_leaves_them_out_too(
    spark: SparkSession, tmp_path: object, setting: Setting
) -> None:
    files = LocalFiles(f"{tmp_path}/plain")
    entries = [deleted(files, written(files, start, 100), [start // 100, 99]) for start in (0, 100, 200)]
    left = [one for one in range(300) if one not in (0, 99, 101, 199, 202, 299)]
    with setting({IGNORE_SINK_LOGS: "true"}):
        assert ids(spark, files, entries) == left
    assert ids(spark, files, entries) == left


def test_defaults_of_later_columns_go_with_them(spark: SparkSession, files: LocalFiles) -> None:
    file = deleted(files, written(files, 0, 5), [1, 3])
    inner = SCHEMA.field("inner")
    added = Field("b", "int", id=9, physical_name="b", initial_default=7)
    binary = Field("key____", "binary", id=10, physical_name="key____", initial_default=b"x")
    later = Schema(
        [SCHEMA.field("id"), replace(inner, type=replace(inner.type, fields=(*inner.type.fields, added))), binary]
    )
    found = read(spark, files, later, [file]).orderBy("id").collect()
    assert [(row.id, row.inner, bytes(row["key____"])) for row in found] == [(one, None, b"x") for one in (0, 2, 4)]


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_both_of_sparks_readers_tell_the_same_places(
    spark: SparkSession, files: LocalFiles, setting: Setting, vectorised: str
) -> None:
    file = deleted(files, written(files, 0, 120_000), [5, 49_999, 50_000, 119_999])
    with setting({"spark.sql.parquet.enableVectorizedReader": vectorised}):
        assert ids(spark, files, [file], "id >= 49990 and id < 50010") == [
            one for one in range(49_990, 50_010) if one not in (49_999, 50_000)
        ]
        assert ids(spark, files, [file], "id >= 119998") == [119_998]


def test_rows_behind_the_last_deleted_one_are_not_taken_for_rows_of_the_next_file(
    spark: SparkSession, files: LocalFiles
) -> None:
    first = deleted(files, written(files, 0, 200_000), [5])
    second = deleted(files, written(files, 200_000, 1), [0])
    third = deleted(files, written(files, 300_000, 140_000), [0, 1, 65_540])
    gone = {5, 200_000, 300_000, 300_001, 365_540}
    assert ids(spark, files, [first, second, third]) == [
        one for one in (*range(200_000), *range(300_000, 440_000)) if one not in gone
    ]


def test_a_column_called_as_sparks_own_does_not_hide_where_rows_are(spark: SparkSession, files: LocalFiles) -> None:
    for type, value in (("long", 7), ("struct<row_index: long, file_modification_time: long>", {"row_index": 1})):
        schema = with_ids(Schema({"id": "long", "_metadata": type}), 0, 1)
        table = pyarrow.table({"id": [0, 1, 2], "_metadata": [value] * 3})
        [file] = write_files(files, f"data/{type[:4]}", schema, table)
        rows = read(spark, files, schema, [deleted(files, file, [1])]).select("id", "_metadata").orderBy("id")
        assert [row.id for row in rows.collect()] == [0, 2]
        assert rows.where("_metadata is not null").count() == 2


def test_a_column_that_spark_fills_by_itself_is_refused_and_not_read_as_positions(
    spark: SparkSession, files: LocalFiles
) -> None:
    schema = with_ids(Schema({"id": "long", SPARK_POSITION: "long"}), 0, 1)
    [file] = write_files(files, "data", schema, pyarrow.table({"id": [0, 1], SPARK_POSITION: [100, 200]}))
    for entry in (file, deleted(files, file, [1])):
        with pytest.raises(Invalid, match="Spark puts its own values in a column") as caught:
            read(spark, files, schema, [entry])
        assert caught.value.subject == SPARK_POSITION
        others = Schema([schema.field("id")])
        assert read(spark, files, others, [entry]).count() == (1 if entry.HasField("dv_path") else 2)
