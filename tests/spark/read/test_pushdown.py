"""Columns that filters on a DataFrame must not be pushed to the files of."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog

NAN = float("nan")
OLD_CALENDAR = {"spark.sql.datetime.java8API.enabled": "false"}
Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


@pytest.fixture
def main(tmp_path: Path) -> Catalog:
    return lakebed.connect(tmp_path / "lake").catalog()


def test_a_filter_put_on_later_did_not_find_rows_with_nan(spark: SparkSession, main: Catalog, tmp_path: Path) -> None:
    form = {"id": "long", "x": "double", "s": "struct<y: float>"}
    table = main.create_table("numbers", form, properties={"write.inline-bytes": "0"})
    inner = pa.struct({"y": pa.float32()})
    rows = pa.table({"id": [1, 2], "x": [0.5, NAN], "s": pa.array([{"y": 0.5}, {"y": NAN}], inner)})
    table.append(rows)
    foreign = tmp_path / "added.parquet"
    pa.parquet.write_table(rows, foreign)
    table.add_files([foreign])
    table.append(spark.sql("SELECT 2L AS id, double('nan') AS x, named_struct('y', float('nan')) AS s"))
    for condition in ("x > 1", "s.y > 1"):
        assert [one.id for one in table.read(spark).where(condition).collect()] == [2, 2, 2], condition
    assert table.scan("x > 1").count() == 3
    assert lakebed_sql(spark, main) == 3


def lakebed_sql(spark: SparkSession, main: Catalog) -> int:
    found: int = main.sql(spark, "SELECT count(*) FROM numbers@main WHERE x > 1").collect()[0][0]
    return found


def test_files_without_nan_are_still_asked_by_their_footers(
    spark: SparkSession, main: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    table = main.create_table("numbers", {"x": "double"}, properties={"write.inline-bytes": "0"})
    table.append(pa.table({"x": [0.5, 1.5]}))
    table.append(spark.sql("SELECT 0.5D AS x"))
    frame = table.read(spark).where("x > 1")
    frame.explain()
    assert "PushedFilters: [IsNotNull(x), GreaterThan(x,1.0)]" in capsys.readouterr().out
    assert frame.count() == 1


@pytest.mark.long
def test_a_session_of_others_lost_rows_of_the_days_that_the_old_calendar_skipped(
    spark: SparkSession, setting: Setting, tmp_path: Path
) -> None:
    with lakebed.connect(tmp_path / "lake") as lake, setting(OLD_CALENDAR):
        form = {"id": "long", "day": "date", "s": "struct<at: timestamptz>"}
        properties = {"write.inline-bytes": "0", "write.row-group-rows": "1"}  # so that there is something to skip
        table = lake.catalog().create_table("t", form, properties=properties)
        days = [date(1582, 10, 3) + timedelta(one) for one in range(14)]
        times = [{"at": datetime(one.year, one.month, one.day, 12, tzinfo=UTC)} for one in days]
        inner = pa.struct({"at": pa.timestamp("us", "UTC")})
        table.append(pa.table({"id": range(14), "day": days, "s": pa.array(times, inner)}))
        of_format = spark.read.format("lakebed").option("lake", lake.url).load("t")
        for condition, ids in {
            "day = DATE '1582-10-10'": [7],
            "day > DATE '1582-10-14' OR day <= DATE '1582-10-03'": [0, 12, 13],
            "s.at = TIMESTAMP '1582-10-10 12:00:00Z'": [7],
            "s.at > TIMESTAMP '1582-10-12 12:00:00Z' AND s.at < TIMESTAMP '1582-10-14 12:00:00Z'": [10],
        }.items():
            for frame in (table.read(spark, condition), table.read(spark).where(condition), of_format.where(condition)):
                assert sorted(one.id for one in frame.collect()) == ids, condition
        table.delete("day >= DATE '1582-10-10' AND hash(id) IS NOT NULL", spark)
        assert table.scan().to_arrow()["id"].to_pylist() == list(range(7))


def test_files_of_later_days_are_still_asked_by_their_footers(
    spark: SparkSession, main: Catalog, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    table = main.create_table("days", {"day": "date"}, properties={"write.inline-bytes": "0"})
    table.append(pa.table({"day": [date(1582, 10, 16), date(2026, 1, 1)]}))
    with setting(OLD_CALENDAR):
        frame = table.read(spark).where("day > DATE '1582-10-10'")
        frame.explain()
        assert "GreaterThan(day,1582-10-15)" in capsys.readouterr().out
        assert frame.count() == 2


def test_rows_of_the_days_that_the_old_calendar_skipped_were_lost_by_filters(main, spark):
    table = main.create_table("t", {"day": "date", "at": "timestamptz"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"day": [date(1582, 10, 10)], "at": [datetime(1582, 10, 10, tzinfo=UTC)]}))
    assert table.read(spark, where="day = DATE '1582-10-10'").count() == 1
    assert table.read(spark).where("at >= TIMESTAMP '1582-10-10 00:00:00'").count() == 1
