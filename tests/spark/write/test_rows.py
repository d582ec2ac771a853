"""Rows of a DataFrame into a table: as its properties say, and nothing of what fails."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Lake, Table
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Invalid, Unavailable
from lakebed.spark.write.rows import write_rows
from lakebed.table.schema.metadata_columns import ROW_ID
from tests.support.unchecked import set_unchecked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a lake"


@pytest.fixture
def lake(folder: Path) -> Iterator[Lake]:
    with lakebed.connect(folder) as lake:
        lake.catalog().create_namespace("sales")
        yield lake


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return lake.catalog()


def stored(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.parquet"))


@pytest.mark.long
@pytest.mark.since("4.1", "Parquet bounds row groups by rows")
def test_files_and_row_groups_are_as_large_as_the_table_wants_them(
    spark: SparkSession, main: Catalog, folder: Path
) -> None:
    target = 400_000
    table = main.create_table(
        "sales.orders",
        {"id": "long", "word": "string"},
        properties={"write.target-file-bytes": str(target), "write.row-group-rows": "20000"},
    )
    frame = spark.range(0, 300_000, 1, 1).selectExpr("id", "sha2(string(id), 256) as word")
    table.append(frame)
    first = set(stored(folder))
    table.append(frame)  # by now it is known what a row takes
    sizes = sorted(path.stat().st_size for path in set(stored(folder)) - first)
    assert 0.6 * target < sizes[1] <= sizes[-1] < 1.4 * target  # the last one is what is left
    for path in stored(folder):
        metadata = pyarrow.parquet.read_metadata(path)
        assert all(metadata.row_group(at).num_rows <= 20_000 for at in range(metadata.num_row_groups))
    assert any(pyarrow.parquet.read_metadata(path).num_row_groups > 1 for path in first)


def test_compression_pages_and_dictionaries_are_as_icebergs_properties_say(spark: SparkSession, main: Catalog) -> None:
    frame = spark.range(0, 40_000, 1, 1).selectExpr("id", "concat('word ', id % 5000) as word")

    def written(**properties: str) -> tuple[pyarrow.parquet.ColumnChunkMetaData, pyarrow.parquet.ColumnChunkMetaData]:
        given = {f"write.parquet.{name.replace('_', '-')}": value for name, value in properties.items()}
        table = main.create_or_replace_table("sales.orders", {"id": "long", "word": "string"}, properties=given)
        table.append(frame)
        [path] = table.scan().files()
        group = pyarrow.parquet.read_metadata(path.removeprefix("file://")).row_group(0)
        return group.column(0), group.column(1)

    plain = written(compression_codec="uncompressed")
    paged = written(compression_codec="uncompressed", page_size_bytes="1kB", dict_size_bytes="100")
    assert paged[0].compression == "UNCOMPRESSED"
    assert paged[0].total_uncompressed_size - plain[0].total_uncompressed_size > 100 * 20  # each page has a head
    assert paged[1].total_uncompressed_size > 300_000 > 200_000 > plain[1].total_uncompressed_size
    fast, best = written(compression_level="1"), written(compression_level="19")
    assert (fast[0].compression, best[0].compression) == ("ZSTD", "ZSTD")
    assert best[0].total_compressed_size < fast[0].total_compressed_size
    assert [written(compression_codec=codec)[0].compression for codec in ("gzip", "snappy")] == ["GZIP", "SNAPPY"]


@pytest.mark.since("4.1", "Parquet bounds row groups by rows")
def test_a_table_with_a_key_has_smaller_row_groups(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table("sales.orders", {"id": "long"}, primary_key=["id"])
    table.append(spark.range(0, 40_000, 1, 1))
    [path] = stored(folder)
    assert pyarrow.parquet.read_metadata(path).row_group(0).num_rows == 1 << 15
    assert "reads 1 of 1 file, 1 of 2 row groups" in table.scan("id = 39999").explain()


def test_bloom_filters_are_written_where_asked_and_used_by_planning(
    spark: SparkSession, main: Catalog, folder: Path
) -> None:
    properties = {"write.bloom.columns": "word, home.street", "write.bloom.fpp": "0.001"}
    columns = {"id": "long", "word": "string", "home": "struct<street: int>"}
    table = main.create_table("sales.orders", columns, properties=properties)
    words = "concat('word ', id * 2) as word"
    table.append(spark.range(0, 4000, 1, 4).selectExpr("id", words, "struct(int(id * 2) as street) as home"))
    explained = table.scan("word = 'word 33333' and home.street = 5").explain()
    assert "zone maps: cut 3 files" in explained
    assert "bloom filters: cut 1 file" in explained
    found = table.scan("home.street = 34 and word = 'word 34'")
    assert found.count() == 1
    assert len(found.files()) == 1
    assert table.scan("home.street = 35 and id < 1000").count() == 0
    assert len(table.scan("home.street = 35 and id < 1000").files()) == 0
    for path in stored(folder):
        group = pyarrow.parquet.read_metadata(path).row_group(0)
        assert [group.column(at).bloom_filter_offset is None for at in range(3)] == [True, False, False]
        assert group.column(1).bloom_filter_length < 5000  # for its 1,000 values, not for a full row group


def test_a_column_of_row_ids_passes(spark: SparkSession, main: Catalog, folder: Path) -> None:
    table = main.create_table("sales.orders", {"id": "long"})
    work = table._scope.read()
    target = target_of(work, table_state(work, table.id)).with_columns(ROW_ID)
    frame = spark.range(0, 4, 1, 1).selectExpr("id", "nullif(id, 2) + 100 as _row_id")
    [file] = write_rows(target, frame).files
    [path] = stored(folder)
    assert pyarrow.parquet.ParquetFile(path).read()["_row_id"].to_pylist() == [100, 101, None, 103]
    assert f"field_id={ROW_ID.id} _row_id" in str(pyarrow.parquet.read_metadata(path).schema)
    assert [one.field_id for one in file.statistics] == [target.schema.fields[0].id]


def test_partitions_are_overwritten_by_the_rows_of_a_frame(spark: SparkSession, main: Catalog) -> None:
    table = main.create_table("sales.orders", {"id": "long", "region": "string"}, partition_by=["truncate(2, region)"])
    frame = spark.range(0, 9, 1, 2).selectExpr("id", "concat('r', id % 3, id) as region")
    table.append(frame)
    table.overwrite_partitions(spark.range(1).selectExpr("100 + id as id", "'r1' as region"))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 2, 3, 5, 6, 8, 100]
    table.overwrite(frame.where("id < 2"), where="region < 'r1'")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 5, 8, 100]


def test_a_table_is_created_as_a_select_in_one_commit(spark: SparkSession, main: Catalog, folder: Path) -> None:
    frame = spark.range(0, 9, 1, 2).selectExpr("id", "string(id % 2) as even")
    with main.transaction() as transaction:
        table = transaction.create_table("sales.orders", frame.schema, partition_by=["even"])
        table.append(frame)
        assert table.read(spark).count() == 9
    assert main.table("sales.orders").read(spark, "even = '1'").count() == 4
    assert len(main.table("sales.orders").history()) == 1
    before = stored(folder)
    with pytest.raises(PySparkException, match="oh no"), main.transaction() as transaction:
        table = transaction.create_table("sales.lines", frame.schema)
        table.append(frame.selectExpr("id + bigint(raise_error('oh no')) as id", "even"))
    assert not main.table_exists("sales.lines")
    assert stored(folder) == before


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("id, 1 as other", r"table sales\.orders: .*other is not a column of the table.*Select, rename or cast"),
        ("string(id) as id", r"table sales\.orders: .*id is string instead of long"),
        (
            "nullif(id, 3) as id",
            r"table sales\.orders, id: a required column has a null .*nulls in 1 of the rows.*Fill",
        ),
    ],
)
def test_an_error_names_the_table_and_changes_nothing(
    spark: SparkSession, main: Catalog, folder: Path, select: str, said: str
) -> None:
    table = main.create_table("sales.orders", pyarrow.schema([pyarrow.field("id", pyarrow.int64(), nullable=False)]))
    with pytest.raises(Invalid, match=said):
        table.append(spark.range(5).selectExpr(*select.split(", ") if "nullif" not in select else [select]))
    assert stored(folder) == []
    assert table.scan().count() == 0


def test_a_property_that_is_none_is_invalid(spark: SparkSession, main: Catalog) -> None:
    table = main.create_table("sales.orders", {"id": "long"})
    set_unchecked(table, {"write.distribution": "sideways"})
    with pytest.raises(Invalid, match=r"write\.distribution.*none or partition.*sideways"):
        table.append(spark.range(5))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place]).returncode:
        pytest.skip("a small disk needs the right to mount one: run as root")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)  # Spark may still hold a file of its failed job


@pytest.mark.long  # test_bad_input fills one, too
def test_a_full_disk_is_told_and_leaves_the_lake_as_it_was(spark: SparkSession, small_disk: Path) -> None:
    with lakebed.connect(small_disk / "lake") as lake:
        lake.catalog().create_namespace("sales")
        table: Table = lake.catalog().create_table("sales.orders", {"word": "string"})
        table.append(spark.range(0, 10, 1, 1).selectExpr("string(id) as word"))
        before = stored(small_disk)
        with pytest.raises(Unavailable, match=r"table sales\.orders, .*the disk is full .*Free space"):
            table.append(spark.range(0, 1_000_000, 1, 1).selectExpr("sha2(string(id), 512) as word"))
        assert stored(small_disk) == before
        assert table.scan().count() == 10
        # Parquet's writer leaves the file open that it could not finish: its room is free when Java collects garbage.
        spark._jvm.System.gc()
        _wait_for_room(small_disk)
        table.append(spark.range(0, 10, 1, 1).selectExpr("string(id) as word"))
        assert table.read(spark).count() == 20


def _wait_for_room(disk: Path) -> None:
    for _ in range(200):
        if shutil.disk_usage(disk).free > 4 << 20:
            return
        sleep(0.1)
    raise AssertionError("what a failed job wrote takes room still")
