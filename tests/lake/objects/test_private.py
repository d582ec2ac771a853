"""A private lake: no file or folder of it can be opened by other users, whoever wrote it."""

import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import Invalid

FILES = {"write.inline-bytes": "0"}


@pytest.fixture(autouse=True)
def open_umask():
    """Without a lake's own care, everybody could read and write all of it."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> set[str]:
    """What is allowed to others, of a folder and all in it."""
    found = [folder, *folder.rglob("*")]
    return {f"{path.relative_to(folder)} {stat.S_IMODE(path.stat().st_mode):o}" for path in found if _is_open(path)}


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def test_no_other_user_can_open_anything_of_a_private_lake(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "lake"
    with lakebed.connect(folder, create=True, private=True) as lake:
        main = lake.catalog()
        table = main.create_table("t", {"id": "long"}, properties=FILES, partition_by=["id"])
        table.append(pa.table({"id": [1, 2]}))
        table.delete("id = 1")
        table.checkpoint()
        assert {"catalog.db-wal", "catalog.db-shm"} <= {path.name for path in folder.iterdir()}
        assert len(list(folder.rglob("*.parquet"))) == 2
        assert modes(folder) == set()
        lake.backup(tmp_path / "copy")
        assert modes(tmp_path / "copy") == set()
    with lakebed.connect(folder) as lake:  # it stays private, without a word
        lake.catalog().table("t").append(pa.table({"id": [3]}))
        assert modes(folder) == set()
    with lakebed.connect(tmp_path / "copy", private=True, read_only=True) as copy:
        assert copy.catalog().table("t").scan().count() == 1
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o777, "the folders above it are as others make them"


def test_a_lake_is_as_open_as_its_folder(tmp_path: Path) -> None:
    group = tmp_path / "group"
    group.mkdir(0o750)
    with lakebed.connect(group) as lake:
        lake.catalog().create_table("t", {"id": "long"}, properties=FILES).append(pa.table({"id": [1]}))
        assert not [path for path in group.rglob("*") if path.stat().st_mode & 0o027]
        assert (group / "catalog.db").stat().st_mode & 0o777 == 0o640
    with lakebed.connect(tmp_path / "open") as lake:
        lake.catalog().create_table("t", {"id": "long"}, properties=FILES).append(pa.table({"id": [1]}))
        assert (tmp_path / "open" / "catalog.db").stat().st_mode & 0o777 == 0o666


def test_a_lake_that_others_can_open_is_not_called_private(tmp_path: Path) -> None:
    lakebed.connect(tmp_path / "lake").close()
    for keywords in ({}, {"read_only": True}):
        with pytest.raises(Invalid, match=r"other users may open this folder.*mode 777.*chmod -R go-rwx "):
            lakebed.connect(tmp_path / "lake", private=True, **keywords)
    (tmp_path / "empty").mkdir()
    lakebed.connect(tmp_path / "empty", private=True).close()
    assert modes(tmp_path / "empty") == set()
    with pytest.raises(Invalid, match="private is True or False"):
        lakebed.connect(tmp_path / "x", private=1)  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


def test_files_that_spark_wrote_are_private_too(tmp_path: Path, spark: SparkSession) -> None:
    with lakebed.connect(tmp_path / "lake", private=True) as lake:
        table = lake.catalog().create_table("t", {"id": "long"}, properties=FILES, partition_by=["bucket(2, id)"])
        table.append(spark.range(10))
        assert table.read(spark).count() == 10
        assert modes(tmp_path / "lake") == set()
