"""Columns that filters on a DataFrame must not be pushed to the files of."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog

NAN = float("nan")


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
