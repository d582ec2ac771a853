"""Positions of rows out of the executors: the same bitmaps whichever way they come."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyroaring import BitMap64
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark.compaction
from lakebed import Catalog, Table, when_matched_delete
from lakebed.errors import Corrupt, Invalid
from lakebed.spark.rows import addresses
from lakebed.spark.rows.addresses import FILE_ORDINAL, POSITION, bare, check_unreserved
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import check_free_name

FILES = [DataFileRef(path=f"{number}.parquet", num_rows=1 << 40) for number in range(4)]


@pytest.mark.parametrize("few", [addresses.FEW, 0], ids=["rows", "bitmaps"])
def test_every_position_comes_once_in_the_bitmap_of_its_file(spark, monkeypatch, few):
    monkeypatch.setattr(addresses, "FEW", few)
    chance = random.Random(7)
    edges = [0, 1, 63, 64, 32767, 32768, 32769, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 35) + 5]
    places = [(0, one) for one in edges] + [(2, chance.randrange(200_000)) for _ in range(500)] + [(3, 9), (3, 9)]
    expected = {number: BitMap64([place for file, place in places if file == number]) for number in (0, 2, 3)}
    frame = spark.createDataFrame(places, f"{FILE_ORDINAL} int, {POSITION} bigint").repartition(3)
    found = addresses.deletion(frame, FILES, len(places))
    assert frame.columns == [bare(FILE_ORDINAL), bare(POSITION)]
    assert not found.whole
    assert {int(file.path[0]): bitmap for file, bitmap in found.some} == expected


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def values(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


def written(path: Path, ids: range, note: int) -> int:
    """A Parquet file with a note of so many letters in its footer, and its size."""
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema({"id": "int64"}), compression="none") as writer:
        writer.write_table(pyarrow.table({"id": list(ids)}))
        writer.add_key_value_metadata({"note": "x" * note})
    return os.path.getsize(path)


def test_a_copy_of_a_file_that_had_lost_rows_took_them_away(main: Catalog, spark: SparkSession, tmp_path: Path) -> None:
    given, other = tmp_path / "given.parquet", tmp_path / "other.parquet"
    size = written(given, range(100), 200)
    assert next((note for note in range(200, 600) if written(other, range(90), note) == size), None) is not None
    table = main.create_table("t", {"id": "long"}, properties={"write.row-changes": "copy-on-write"})
    table.add_files([given])
    before = table.version
    shutil.copy(other, given)
    with pytest.raises(Corrupt, match=r"given\.parquet: the data file is damaged: its footer"):
        table.delete("id = 5", spark)
    assert table.version == before
    data = Path(main.table("t").location.removeprefix("file://"), "data")
    assert not [one for one in data.rglob("*") if one.is_file()]


def test_a_column_of_the_name_that_places_have_had_other_rows_deleted(main: Catalog, spark: SparkSession) -> None:
    for name in ("lakebed.file", "Lakebed.position", "lakebed.row"):
        with pytest.raises(Invalid, match="names with this prefix are reserved for Lakebed"):
            main.create_table("t", {"id": "long", name: "int"})
        with pytest.raises(Invalid, match="a name that Lakebed needs for itself"):
            check_unreserved(["id", name])
    check_free_name("lakebed_file")
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1]}))
    with pytest.raises(Invalid, match="a name that Lakebed needs for itself"):
        table.merge(spark.range(2).selectExpr("id", "1 as `lakebed.source`"), "id", when_matched_delete())
    assert values(table, "id") == [1]
