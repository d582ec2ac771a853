import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from lakebed.arrow.write.write import write as write_arrow
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read
from lakebed.spark.read.scan import IGNORE_SINK_LOGS
from lakebed.spark.types import result_schema
from lakebed.spark.write.write import write
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.inline import inline_path
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, Field, List, Map, Struct, parse_type
from tests.support.examples import long_but

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]

IDS = with_ids(Schema([Field("id", "long"), Field("name", "string")]), 1, 1)


def names(spark: SparkSession, rows: int, partitions: int) -> DataFrame:
    return spark.range(0, rows, 1, partitions).selectExpr("id", "concat('name ', id) as name")


def plan(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain("formatted")
    return capsys.readouterr().out


EVERY_TYPE = with_ids(
    Schema(
        {
            "b": "boolean",
            "i": "int",
            "l": "long",
            "f": "float",
            "d": "double",
            "dec": "decimal(38, 18)",
            "small": "decimal(9, 2)",
            "day": "date",
            "at": "timestamptz",
            "local": "timestamp",
            "Ünï çødé.with `dots`": "string",
            "bin": "binary",
            "list": "list<list<int>>",
            "map": "map<string, struct<x: int, `y z`: string>>",
            "struct": "struct<A: int, b: struct<c: timestamptz, d: list<string>>>",
        }
    ),
    1,
    1,
)

ROWS = """
    select true b, 2147483647 i, 9223372036854775807L l, float('nan') f, double('infinity') d,
        12345678901234567890.123456789012345678BD dec, cast(-9999999.99 as decimal(9, 2)) small,
        date'9999-12-31' day, timestamp'9999-12-31 23:59:59.999999 UTC' at,
        timestamp_ntz'9999-12-31 23:59:59.999999' local, 'a\\u0000b 💧 \\uFFFF' `Ünï çødé.with ``dots```, x'00ff' bin,
        array(array(1, null), null, array()) list, map('k', named_struct('x', 1, 'y z', 'v'), '', null) map,
        named_struct('A', 1, 'b', named_struct('c', timestamp'1500-01-01 00:00:00Z', 'd', array('x', null))) struct
    union all
    select false, int(-2147483648), -9223372036854775808L, float('-0.0'), double('4.9E-324'),
        cast('-0.000000000000000001' as decimal(38, 18)), 0.01BD,
        date'0001-01-01', timestamp'0001-01-01 00:00:00.000001 UTC',
        timestamp_ntz'0001-01-01 00:00:00.000001', '', x'',
        array(), map(), named_struct('A', null, 'b', null)
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
"""


def test_every_type_comes_back_as_it_went(spark: SparkSession, files: LocalFiles) -> None:
    frame = spark.sql(ROWS).to(result_schema(EVERY_TYPE)).coalesce(1)
    back = read(spark, files, EVERY_TYPE, write(files, "data/1", EVERY_TYPE, frame))
    assert back.schema == result_schema(EVERY_TYPE)
    rows = back.toArrow().to_pylist()
    assert repr(rows) == repr(frame.toArrow().to_pylist())  # as text, where NaN and -0.0 are themselves
    assert rows[0]["at"].replace(tzinfo=None) == rows[0]["local"] == datetime.max
    assert set(rows[2].values()) == {None}


def test_an_instant_is_the_same_in_every_zone(spark: SparkSession, files: LocalFiles, setting: Setting) -> None:
    schema = with_ids(Schema({"at": "timestamptz", "local": "timestamp"}), 1, 1)
    rows = "select timestamp'2026-03-08 02:30:00 UTC' at, timestamp_ntz'2026-03-08 02:30:00' local"
    seen = []
    for number, zones in enumerate([("UTC", "America/New_York"), ("America/New_York", "UTC")]):
        with setting({"spark.sql.session.timeZone": zones[0]}):
            written = write(files, f"data/{number}", schema, spark.sql(rows))
        with setting({"spark.sql.session.timeZone": zones[1]}):
            kept = read(spark, files, schema, written, filter=parse_filter("at = '2026-03-08T02:30:00'", schema))
            seen += [tuple(row) for row in kept.selectExpr("unix_micros(at)", "string(local)").collect()]
    assert seen == [(1772937000000000, "2026-03-08 02:30:00")] * 2


def exchanged(struct: Struct) -> Struct:
    """The names a and b the other way round, which only a reader by physical name survives."""
    a, b = struct.fields
    return Struct((Field("b", INT, id=a.id, physical_name="a"), Field("a", INT, id=b.id, physical_name="b")))


def test_columns_and_fields_that_were_renamed_are_read_under_their_new_names(
    spark: SparkSession, files: LocalFiles
) -> None:
    inner = Struct((Field("a", INT), Field("b", INT)))
    fields = [Field("s", inner), Field("l", List(inner)), Field("m", Map(INT, inner)), Field("n", INT)]
    schema = with_ids(Schema(fields), 1, 1)
    struct = "named_struct('a', 1, 'b', 2)"
    frame = spark.sql(f"select {struct} s, array({struct}, null) l, map(1, {struct}) m, 7 n")
    written = write(files, "data/1", schema, frame)
    old = {one.name: one for one in schema.fields}
    new = Schema(
        [
            replace(old["s"], name="n", type=exchanged(old["s"].type)),
            replace(old["l"], name="list", type=List(exchanged(old["l"].type.element))),
            replace(old["m"], name="Map of", type=Map(INT, exchanged(old["m"].type.value))),
            replace(old["n"], name="s"),
        ]
    )
    back = read(spark, files, new, written, filter=parse_filter("s = 7", new))
    assert back.schema == result_schema(new)
    expected = {"b": 1, "a": 2}
    (row,) = back.collect()
    assert row.asDict(recursive=True) == {"n": expected, "list": [expected, None], "Map of": {1: expected}, "s": 7}


def test_a_column_that_the_files_lack_is_null_and_narrow_ones_get_wider(spark: SparkSession, files: LocalFiles) -> None:
    old = with_ids(Schema({"i": "int", "f": "float", "d": "decimal(5, 2)"}), 1, 1)
    written = write(files, "data/1", old, spark.sql("select 1 i, float(0.5) f, 1.25BD d"))
    wider = zip(old.fields, ("long", "double", "decimal(20, 2)"), strict=True)
    added = Field("new", "map<string, int>", id=9, physical_name="new")
    new = Schema([*(replace(one, type=parse_type(type)) for one, type in wider), added])
    back = read(spark, files, new, written, filter=parse_filter("i = 1 and f = 0.5 and d = 1.25", new))
    assert [tuple(row) for row in back.collect()] == [(1, 0.5, Decimal("1.25"), None)]


def test_columns_come_in_the_order_asked_for(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, names(spark, 5, 1))
    back = read(spark, files, IDS, written, filter=parse_filter("id = 3", IDS), columns=["NAME"])
    assert [tuple(row) for row in back.collect()] == [("name 3",)] and back.columns == ["name"]
    assert read(spark, files, IDS, written, columns=["name", "id"]).columns == ["name", "id"]
    none = read(spark, files, IDS, written, columns=[])
    assert none.columns == [] and none.count() == 5
    with pytest.raises(Invalid, match="no such column"):
        read(spark, files, IDS, written, columns=["other"])


def test_no_files_are_no_rows_of_the_same_schema(spark: SparkSession, files: LocalFiles) -> None:
    back = read(spark, files, EVERY_TYPE, [])
    assert back.schema == result_schema(EVERY_TYPE)
    assert back.collect() == []


def read_planned(spark: SparkSession, files: LocalFiles, written: list[DataFileRef], where: str) -> DataFrame:
    """The files that may match, as a plan chooses them, read with the filter."""
    filter = parse_filter(where, IDS)
    return read(spark, files, IDS, [file for file in written if may_match(filter, file)], filter=filter)


def test_a_file_that_the_filter_can_not_match_is_not_opened(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, names(spark, 100, 4))
    os.remove(files.location(written[0].path))
    back = read_planned(spark, files, written, "id >= 90")
    assert back.count() == 10
    assert len(back.inputFiles()) == 1
    assert read_planned(spark, files, written, "id > 1000").collect() == []


def test_the_plan_shows_pruned_columns_and_pushed_filters(
    spark: SparkSession, files: LocalFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write(files, "data/1", IDS, names(spark, 100, 1))
    back = read(spark, files, IDS, written, filter=parse_filter("id >= 90", IDS)).where("name > 'x'").select("name")
    shown = plan(back, capsys)
    assert "PushedFilters: [IsNotNull(id), IsNotNull(name), GreaterThanOrEqual(id,90), GreaterThan(name,x)]" in shown
    assert "ReadSchema: struct<id:bigint,name:string>" in shown
    assert "ReadSchema: struct<id:bigint>" in plan(read(spark, files, IDS, written).select("id"), capsys)
    assert "Batched: true" in shown


@pytest.mark.parametrize("way", long_but(["false", "true"], ["false"]))
def test_a_thousand_files_are_planned_without_a_job(
    spark: SparkSession, files: LocalFiles, setting: Setting, way: str
) -> None:
    (one,) = write(files, "data/1", IDS, names(spark, 3, 1))
    written = copies(files, one, 1000)
    if way == "true":  # by their paths, which may have none of the lake's brackets
        files = LocalFiles(Path(files.root).rename(Path(files.root).parent / "plain"))
    group = f"planning, lists ignored: {way}"
    spark.sparkContext.setJobGroup(group, "")
    try:
        with setting({IGNORE_SINK_LOGS: way}):
            back = read(spark, files, IDS, written)
        assert spark.sparkContext.statusTracker().getJobIdsForGroup(group) == []
        assert back.count() == 3000
        assert spark.sparkContext.statusTracker().getJobIdsForGroup(group) != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def copies(files: LocalFiles, one: DataFileRef, count: int) -> list[DataFileRef]:
    """The file under many names."""
    os.makedirs(files.location("data/many"))
    found = []
    for number in range(count):
        copy = DataFileRef()
        copy.CopyFrom(one)
        copy.path = f"data/many/{number}.parquet"
        os.link(files.location(one.path), files.location(copy.path))
        found.append(copy)
    return found


def test_a_file_list_and_plain_paths_give_the_same(spark: SparkSession, tmp_path: Path, setting: Setting) -> None:
    files = LocalFiles(tmp_path / "a lake, 100% ünïcode #1")
    written = write(files, "day=1/_under/1", IDS, names(spark, 1000, 7))
    random.Random(1).shuffle(written)
    answers = []
    for ignored in ("false", "true"):
        with setting({IGNORE_SINK_LOGS: ignored}):
            back = read_planned(spark, files, written, "id < 700")
        answers.append((back.schema, sorted(back.collect()), sorted(back.inputFiles())))
    assert answers[0][:2] == answers[1][:2]
    assert len(answers[0][2]) == len(answers[1][2]) == 5
    assert len(answers[0][1]) == 700


def test_a_path_that_spark_would_take_for_a_pattern_is_refused(
    spark: SparkSession, files: LocalFiles, setting: Setting
) -> None:
    written = write(files, "data/1", IDS, names(spark, 10, 2))
    assert read(spark, files, IDS, written).count() == 10
    with setting({IGNORE_SINK_LOGS: "true"}), pytest.raises(Invalid, match="pattern"):
        read(spark, files, IDS, written)


@pytest.mark.parametrize("name", ["_a.parquet", ".a.parquet", "a.parquet._COPYING_"])
def test_a_file_that_spark_would_skip_is_refused(spark: SparkSession, files: LocalFiles, name: str) -> None:
    (one,) = write(files, "data/1", IDS, names(spark, 10, 1))
    os.rename(files.location(one.path), files.location(f"data/1/{name}"))
    one.path = f"data/1/{name}"
    with pytest.raises(Invalid, match="skips"):
        read(spark, files, IDS, [one])


def test_a_missing_or_changed_file_is_corrupt(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, names(spark, 100, 4))
    os.truncate(files.location(written[1].path), written[1].file_size - 1)
    with pytest.raises(Corrupt, match=written[1].path):
        read(spark, files, IDS, written)
    os.remove(files.location(written[1].path))
    with pytest.raises(Corrupt, match="found no file"):
        read(spark, files, IDS, written)


def test_a_file_that_vanishes_later_is_an_error_whatever_the_session_ignores(
    spark: SparkSession, files: LocalFiles, setting: Setting
) -> None:
    written = write(files, "data/1", IDS, names(spark, 100, 4))
    ignoring = {"spark.sql.files.ignoreMissingFiles": "true", "spark.sql.files.ignoreCorruptFiles": "true"}
    with setting(ignoring):
        back = read(spark, files, IDS, written)
        Path(files.location(written[1].path)).write_bytes(b"damaged" * 100)
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            back.collect()
        os.remove(files.location(written[1].path))
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            back.collect()


def test_a_file_whose_deletes_are_nowhere_is_never_shown(spark: SparkSession, files: LocalFiles) -> None:
    (one,) = write(files, "data/1", IDS, names(spark, 100, 1))
    one.dv_path = "data/1/deletes.puffin"
    with pytest.raises(Corrupt, match="deletion vector"):
        read(spark, files, IDS, [one])


def test_a_frame_can_be_cached_joined_written_and_queried(spark: SparkSession, files: LocalFiles) -> None:
    back = read(spark, files, IDS, write(files, "data/1", IDS, names(spark, 100, 4)))
    assert back.cache().count() == back.count() == 100
    back.unpersist()
    assert back.join(back.selectExpr("id + 50 as id"), "id").count() == 50
    back.createOrReplaceTempView("names_of_a_test")
    assert spark.sql("select max(id) from names_of_a_test").collect()[0][0] == 99
    spark.catalog.dropTempView("names_of_a_test")
    again = write(files, "data/2", IDS, back)
    assert read(spark, files, IDS, again).exceptAll(back).count() == 0


def test_a_table_of_arrow_data_is_read(spark: SparkSession, files: LocalFiles) -> None:
    frame = spark.createDataFrame(pa.table({"id": [1, None], "name": ["a", None]}))
    back = read(spark, files, IDS, write(files, "data/1", IDS, frame))
    assert sorted(map(tuple, back.collect()), key=str) == [(1, "a"), (None, None)]


MORE = with_ids(
    Schema({"id": "long", "f": "fixed(3)", "l": "list<fixed(2)>", "u": "uuid", "n": "list<timestamp_ns>"}), 1, 1
)


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_columns_that_spark_has_types_for_are_read_beside_others(
    spark: SparkSession, files: LocalFiles, setting: Setting, vectorized: str
) -> None:
    rows = pa.table({"id": [1, 2], "f": [b"abc", None], "l": [[b"\x00\xff", None], None], "u": [bytes(16), None]})
    written = write_arrow(files, "data", MORE, rows)
    with setting({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        found = read(spark, files, MORE, written, columns=["id", "f", "l"])
        assert [tuple(row) for row in found.collect()] == [(1, b"abc", [b"\x00\xff", None]), (2, None, None)]
        where = parse_filter("f = X'616263'", MORE)
        assert [row.id for row in read(spark, files, MORE, written, columns=["id"], filter=where).collect()] == [1]
    for columns, filter, path in (
        (None, None, "u"),
        (["id", "n"], None, "n.element"),
        (["id"], "u is null", "u"),
    ):
        with pytest.raises(Invalid, match="Spark has no type for a column") as caught:
            read(spark, files, MORE, written, columns=columns, filter=filter and parse_filter(filter, MORE))
        assert caught.value.subject == path


def test_a_default_of_fixed_bytes_is_shown(spark: SparkSession, files: LocalFiles) -> None:
    written = write(files, "data/1", IDS, names(spark, 2, 1))
    grown = Schema([*IDS.fields, Field("f", "fixed(2)", id=9, physical_name="f", initial_default=b"\x00\xff")])
    assert [row.f for row in read(spark, files, grown, written).collect()] == [b"\x00\xff"] * 2


def test_inline_rows_with_fixed_bytes_are_read(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema({"f": "fixed(3)"}), 1, 1)
    rows = pa.table({"f": pa.array([b"abc", None], pa.binary(3))})
    entry = DataFileRef(path=inline_path(1), num_rows=2)
    found = read(spark, files, schema, [entry], inline_rows=lambda *_: rows)
    assert [row.f for row in found.collect()] == [b"abc", None]
