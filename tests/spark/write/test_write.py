import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.arrow.write.write import write as write_arrow
from lakebed.catalog.tables.properties import Distribution
from lakebed.errors import AlreadyExists, Invalid
from lakebed.files import LocalFiles
from lakebed.spark.write.layout import PartitionLayout
from lakebed.spark.write.partitions import partitions_of
from lakebed.spark.write.write import REBASE, write
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.partition.spec import PartitionSpec, make_spec
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, LONG, Field, List, Struct
from lakebed.table.types.values import decode_bound

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]

BUCKET = Transform("bucket", 4)
IDS = with_ids(Schema([Field("id", "long")]), 1, 1)


def paths(files: LocalFiles) -> list[str]:
    return [info.path for info in files.list()]


def test_the_folder_has_the_files_and_nothing_else(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, spark.range(0, 100, 1, 3))
    assert paths(files) == [one.path for one in written]
    assert len(os.listdir(files.location("data/1"))) == len(written) == 3
    assert [one.file_size for one in written] == [files.size(one.path) for one in written]


def test_files_come_in_the_order_of_the_rows(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, spark.range(0, 1000, 1, 11))
    rows = [row for one in written for row in pq.ParquetFile(files.location(one.path)).read()["id"].to_pylist()]
    assert rows == list(range(1000))


def test_a_file_has_ids_physical_names_and_zstd(spark: SparkSession, files: LocalFiles) -> None:
    inner = Struct((Field("new", INT, id=4, physical_name="old"),))
    schema = Schema(
        [
            Field("Straße 1.5", "long", id=1, physical_name="Straße 1.5"),
            Field("l", List(inner, element_id=3), id=2, physical_name="l_2"),
        ]
    )
    frame = spark.range(0, 5, 1, 1).selectExpr("id as `straße 1.5`", "array(struct(1 as new)) as l")
    (written,) = write(files, "data/1", schema, frame)
    metadata = pq.read_metadata(files.location(written.path))
    shown = str(metadata.schema)
    for part in ("int64 field_id=1 Straße 1.5;", "group field_id=2 l_2 (List)", "int32 field_id=4 old;"):
        assert part in shown
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_statistics_come_from_the_footers(spark: SparkSession, files: LocalFiles) -> None:
    names = {"i": "int", "d": "decimal(9, 2)", "t": "timestamptz", "n": "timestamp", "s": "string"}
    schema = with_ids(Schema([Field(*pair) for pair in names.items()]), 1, 1)
    frame = spark.range(0, 10, 1, 1).selectExpr(
        "int(if(id = 3, null, id)) as i",
        "cast(id / 4 as decimal(9, 2)) as d",
        "timestamp_micros(id) as t",
        "timestampadd(microsecond, id, timestamp_ntz'1970-01-01') as n",
        "string(id) as s",
    )
    (written,) = write(files, "data/1", schema, frame)
    bounds = [
        (decode_bound(field.type, one.lower), decode_bound(field.type, one.upper))
        for field, one in zip(schema.fields, written.statistics, strict=True)
    ]
    assert [(str(low), str(high)) for low, high in bounds] == [("0", "9"), ("0.00", "2.25"), *[("0", "9")] * 3]
    assert [one.null_count for one in written.statistics] == [1, 0, 0, 0, 0]


@pytest.mark.before("4.3", "a session's settings go before a write's options")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.parquet.outputTimestampType", "INT96"),
        ("spark.sql.parquet.writeLegacyFormat", "true"),
        ("spark.sql.parquet.fieldId.write.enabled", "false"),
    ],
)
def test_a_session_that_would_write_otherwise_is_refused(
    spark: SparkSession, files: LocalFiles, setting: Setting, name: str, value: str
) -> None:
    schema = with_ids(Schema({"id": "long"}), 1, 1)
    with (
        setting({name: value}),
        pytest.raises(Invalid, match=f"{name}: .*in another format.*found {value}"),
    ):
        write(files, "data/1", schema, spark.range(1))
    assert write(files, "data/1", schema, spark.range(1))[0].num_rows == 1


@pytest.mark.since("4.3", "a write's options go before the session's settings; older sessions are refused")
def test_no_setting_of_the_session_changes_what_is_written(
    spark: SparkSession, files: LocalFiles, setting: Setting
) -> None:
    schema = with_ids(Schema([Field("t", "timestamptz"), Field("d", "decimal(5, 2)")]), 1, 1)
    frame = spark.range(1).selectExpr("timestamp'2020-01-01' as t", "1.25BD as d")
    others = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.fieldId.write.enabled": "false",
        "spark.sql.parquet.compression.codec": "snappy",
    }
    with setting(others):
        (written,) = write(files, "data/1", schema, frame)
    metadata = pq.read_metadata(files.location(written.path))
    columns = [metadata.schema.column(at) for at in range(2)]
    assert [one.physical_type for one in columns] == ["INT64", "INT32"]
    assert "field_id=2 d" in str(metadata.schema)
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_session_that_writes_julian_dates_is_refused(
    spark: SparkSession, files: LocalFiles, setting: Setting
) -> None:
    with setting({REBASE: "LEGACY"}), pytest.raises(Invalid, match="Julian"):
        write(files, "data/1", IDS, spark.range(1))
    assert paths(files) == []


@pytest.mark.parametrize("rows", ["range(0)", "range(9) where id < 0", "range(9) limit 0"])
def test_no_rows_are_no_files(spark: SparkSession, files: LocalFiles, rows: str) -> None:
    assert write(files, "data/1", IDS, spark.sql(f"select id from {rows}")) == []
    assert paths(files) == []


def test_an_empty_partition_leaves_no_file(spark: SparkSession, files: LocalFiles) -> None:
    frame = spark.range(0, 100, 1, 4).where("id >= 50")
    assert sum(one.num_rows for one in write(files, "data/1", IDS, frame)) == 50
    assert len(paths(files)) == 2


def test_what_does_not_fit_is_refused_before_any_job(spark: SparkSession, files: LocalFiles) -> None:
    with pytest.raises(Invalid, match="other is not a column of the table"):
        write(files, "data/1", IDS, spark.range(5).selectExpr("id", "raise_error('a job ran') as other"))
    assert not os.path.exists(files.location("data/1"))


def test_a_failing_job_shows_its_own_error_and_leaves_nothing(spark: SparkSession, files: LocalFiles) -> None:
    @F.udf("long")
    def broken(value):  # unannotated: PySpark would take annotations for those of a pandas function
        if value == 990:
            raise ArithmeticError("the user's own mistake")
        return value

    frame = spark.range(0, 1000, 1, 4).select(broken("id").alias("id"))
    with pytest.raises(PySparkException, match="the user's own mistake"):
        write(files, "data/1", IDS, frame)
    assert paths(files) == []
    assert not os.path.exists(files.location("data/1"))  # an empty folder stayed, one for each job that failed


OUTLIVES = "aggregate(sequence(id, id + 10000000L), 0L, (sum, one) -> greatest(sum, one % 1000 + sum % 7))"
"""Seconds in a loop that does not heed Spark's interrupt."""


def outlived(spark: SparkSession) -> DataFrame:
    """Rows of which one task fails at once, and the other goes on."""
    return spark.range(0, 2, 1, 2).selectExpr(f"if(id = 0, raise_error('my own mistake'), {OUTLIVES}) as id")


@pytest.mark.long
def test_a_task_that_outlived_its_failed_job_does_not_bring_the_folder_back(
    spark: SparkSession, files: LocalFiles
) -> None:
    with pytest.raises(PySparkException, match="my own mistake"):
        write(files, "data/1", IDS, outlived(spark))
    time.sleep(3)
    assert not os.path.exists(files.location("data/1"))


def test_who_gets_an_error_is_told_of_tasks_that_still_run(
    spark: SparkSession, files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[write.__module__], "SETTLING", 0.0)
    with pytest.raises(PySparkException, match="my own mistake") as caught:
        write(files, "data/1", IDS, outlived(spark))
    assert any("still run after 0.0 s; what they write to data/1" in note for note in caught.value.__notes__)


def test_a_null_in_a_required_column_is_invalid_and_leaves_nothing(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema([Field("a », b", "long", required=True)]), 1, 1)
    frame = spark.range(0, 1000, 1, 4).selectExpr("nullif(id, 999) as `A », b`")
    with pytest.raises(Invalid, match=r"^a », b: a required column has a null"):
        write(files, "data/1", schema, frame)
    assert paths(files) == []


def test_a_required_column_without_nulls_is_written(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema([Field("a", "long", required=True)]), 1, 1)
    frame = spark.range(0, 1000, 1, 1).selectExpr("nullif(id, 1000) as a")
    assert [one.num_rows for one in write(files, "data/1", schema, frame)] == [1000]


def test_a_folder_that_is_there_already_is_left_alone(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, spark.range(0, 3, 1, 1))
    with pytest.raises(AlreadyExists, match="data/1"):
        write(files, "data/1", IDS, spark.range(3))
    assert paths(files) == [one.path for one in written]


def test_an_empty_spec_is_noted(spark: SparkSession, files: LocalFiles) -> None:
    (written,) = write(files, "data/1", IDS, spark.range(0, 5, 1, 1), PartitionSpec((), 2))
    assert written.spec_id == 2
    (written,) = write(files, "data/2", IDS, spark.range(0, 5, 1, 1))
    assert not written.HasField("spec_id")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["home.`a.b` desc", "id"], [2, 5, 1, 4, 0, 3]),
        (["home.`a.b` desc nulls first", "id desc"], [3, 0, 5, 2, 4, 1]),
        (["home.`a.b` nulls last", "id", "truncate(2, id)"], [1, 4, 2, 5, 0, 3]),
        (["truncate(2, id) desc", "id"], [4, 5, 2, 3, 0, 1]),
        (["bucket(4, id)", "id desc"], sorted(range(6), key=lambda one: (BUCKET.apply(LONG, one), -one))),
    ],
)
def test_files_are_sorted(spark: SparkSession, files: LocalFiles, order: list[str], expected: list[int]) -> None:
    inner = Struct((Field("a.b", INT, id=3, physical_name="old.name"),))
    schema = Schema([Field("id", "long", id=1, physical_name="n"), Field("home", inner, id=2, physical_name="h")], 1)
    frame = spark.range(5, -1, -1, 1).selectExpr("id", "struct(int(nullif(id % 3, 0)) as `a.b`) as home")
    (written,) = write(files, "data/1", schema, frame, order=make_sort_order(schema, order, order_id=1))
    parquet = pq.ParquetFile(files.location(written.path))
    assert parquet.read()["n"].to_pylist() == expected
    assert "field_id=3 old.name" in str(parquet.metadata.schema)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("d", [None, -1.0, 0.0, 2.0, "nan"]),
        ("d desc", ["nan", 2.0, 0.0, -1.0, None]),
        ("d desc nulls first", [None, "nan", 2.0, 0.0, -1.0]),
    ],
)
def test_nan_is_above_all_numbers_as_in_the_local_engine(
    spark: SparkSession, files: LocalFiles, order: str, expected: list[object]
) -> None:
    schema = with_ids(Schema([Field("d", "double"), Field("p", "int")]), 1, 1)
    values = "cast(null as double), 2D, double('nan'), -1D, 0D"
    frame = spark.range(1).selectExpr(f"explode(array({values})) as d", "1 as p").coalesce(1)
    spec, sort = make_spec(schema, ["p"], spec_id=1), make_sort_order(schema, [order], order_id=1)
    for folder, found in (
        ("data/1", write(files, "data/1", schema, frame, spec, sort)),
        ("data/2", write_arrow(files, "data/2", schema, frame.toArrow(), spec, sort)),
    ):
        [file] = found
        rows = pq.ParquetFile(files.location(file.path)).read()["d"].to_pylist()
        assert ["nan" if one != one else one for one in rows] == expected, folder


def test_rows_are_sorted_once_for_partitions_and_order(spark: SparkSession) -> None:
    schema = with_ids(Schema({"id": "long", "name": "string"}), 1, 1)
    spec = make_spec(schema, ["truncate(1, name)"], spec_id=1)
    layout = PartitionLayout(
        partitions_of(spec, schema), make_sort_order(schema, ["bucket(4, id)"], order_id=1), Distribution.PARTITION
    )
    laid = layout.arranged_rows(spark.range(9).selectExpr("id", "string(id) as name"), schema)
    laid.createOrReplaceTempView("laid_out")
    apart = ", ".join(layout.partitions.names)
    spark.sql(f"create table laid_out_files using parquet partitioned by ({apart}) as select * from laid_out limit 0")
    try:
        plan = spark.sql("explain insert into laid_out_files select * from laid_out").first()
    finally:
        spark.sql("drop table laid_out_files")
    assert plan is not None
    assert plan[0].count("Sort [") == 1, plan[0]
    assert not any(one.nullable for one in laid.schema.fields if one.name in layout.partitions.names)


@pytest.mark.parametrize("type", ["fixed(2)", "uuid", "time", "timestamp_ns", "list<uuid>"])
def test_columns_that_spark_would_write_as_others_are_refused(
    spark: SparkSession, files: LocalFiles, type: str
) -> None:
    schema = with_ids(Schema({"id": "long", "a": type}), 1, 1)
    with pytest.raises(Invalid, match=r"a.*Spark has no type for a column .*frame\.toArrow"):
        write(files, "data/1", schema, spark.range(1))
    assert paths(files) == []


def test_a_frame_goes_by_arrow_into_columns_that_spark_does_not_have(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema({"f": "fixed(2)", "u": "uuid", "n": "timestamp_ns"}), 1, 1)
    frame = spark.sql("select X'00ff' f, X'000102030405060708090a0b0c0d0e0f' u, timestamp_ntz '1969-12-31 23:59:59' n")
    [file] = write_arrow(files, "data", schema, frame.toArrow())
    [row] = pq.ParquetFile(files.location(file.path)).read().to_pylist()
    assert (row["f"], row["u"].bytes, row["n"].value) == (b"\x00\xff", bytes(range(16)), -(10**9))
