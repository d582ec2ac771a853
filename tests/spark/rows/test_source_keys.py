"""Keys of bytes that are not text, in a source for Spark: matched, and shown in errors."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark.compaction
from lakebed import Catalog, Invalid, Table, when_matched_update, when_not_matched_insert

ODD = b"\xff\xfe"


@pytest.fixture
def table(tmp_path):
    """Its key may be anything: a hash, say."""
    with lakebed.connect(tmp_path / "lake") as lake:
        table = lake.catalog().create_table("t", {"key": "binary", "value": "long"}, primary_key=["key"])
        yield table


def frame(spark: SparkSession, *rows):
    return spark.createDataFrame(list(rows), "key binary, value long")


@pytest.mark.long
def test_a_merge_or_upsert_by_bytes_that_are_no_text_ended_with_a_codec_error(table, spark):
    table.upsert(frame(spark, (ODD, 1)))
    table.merge(frame(spark, (ODD, 2), (b"", 3)), "key", when_matched_update(), when_not_matched_insert())
    table.upsert(frame(spark, (ODD, 4)))
    assert {bytes(one["key"]): one["value"] for one in table.scan().to_arrow().to_pylist()} == {ODD: 4, b"": 3}


def test_a_key_of_bytes_that_comes_twice_is_shown_by_its_digits(table, spark):
    twice = frame(spark, (ODD, 1), (ODD, 2), (b"a", 3))
    with pytest.raises(Invalid, match="comes twice") as refused:
        table.upsert(twice)
    assert "key = X'fffe'" in str(refused.value)
    with pytest.raises(Invalid, match="comes twice") as refused:
        table.merge(twice, "key", when_not_matched_insert())
    assert "key = X'fffe'" in str(refused.value)


Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def values(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        pytest.param("timestamptz", "timestamp_micros(253402300800000000 + id)", marks=pytest.mark.long),
        ("date", "date_add(date'9999-12-31', int(id) + 1)"),
    ],
)
def test_keys_behind_the_last_year_of_python_could_not_be_upserted(
    main: Catalog, spark: SparkSession, kind: str, key: str
) -> None:
    table = main.create_table("t", {"k": kind, "v": "int"}, primary_key=["k"])
    rows = spark.range(300).selectExpr(f"{key} k", "1 v")
    table.append(rows)
    table.upsert(rows.selectExpr("k", "2 v"))
    assert values(table, "v") == [2] * 300
    twice = rows.union(rows)
    with pytest.raises(Invalid, match="300"):
        table.upsert(twice)
    with pytest.raises(Invalid, match=r"k = \+1\d{4}-"):
        table.merge(twice, "k", when_matched_update({"v": "source.v"}))
    table.set_properties({"write.check-keys": "true"})
    with pytest.raises(Invalid, match=r"k = \+1\d{4}-.* is in the table already|is in the table already.*k = \+1"):
        table.append(rows)


def test_a_key_was_looked_for_by_the_tables_spelling(main: Catalog, spark: SparkSession, setting: Setting) -> None:
    table = main.create_table("t", {"Straße": "long", "v": "int"})
    table.append(pyarrow.table({"Straße": [1, 2], "v": pyarrow.array([1, 1], "int32")}))
    table.upsert(spark.range(2, 4).selectExpr("id `STRASSE`", "2 v"), ["Straße"])
    with setting({"spark.sql.caseSensitive": "true"}):
        table.upsert(spark.range(3, 5).selectExpr("id `straße`", "3 v"), ["Straße"])
    assert sorted(table.scan().to_arrow().to_pydict()["v"]) == [1, 2, 3, 3]
