import os
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakebed.files import LocalFiles
from lakebed.spark.read.scan import IGNORE_SINK_LOGS, file_list, reads_file_lists
from lakebed.spark.write.write import write
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

IDS = with_ids(Schema([Field("id", "long")]), 1, 1)


@pytest.fixture
def file(spark: SparkSession, files: LocalFiles) -> Path:
    (one,) = write(files, "data/1", IDS, spark.range(0, 10, 1, 1))
    return Path(files.location(one.path))


def rows(spark: SparkSession, folder: str) -> int:
    return spark.read.schema("id long").option("recursiveFileLookup", "true").parquet(folder).count()


def test_a_listed_file_is_read_wherever_it_is(spark: SparkSession, file: Path) -> None:
    with file_list([f"file://{file}"], [file.stat().st_size], [0]) as folder:
        assert rows(spark, folder) == 10


def test_the_list_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ArithmeticError), file_list(["file:///a"], [1], [0]) as folder:
        assert os.listdir(tmp_path) == [folder.rpartition("/")[2]]
        raise ArithmeticError
    assert os.listdir(tmp_path) == []


def test_the_session_of_the_tests_takes_lists(spark: SparkSession) -> None:
    assert reads_file_lists(spark)


def test_a_session_that_ignores_the_logs_of_sinks_takes_none(spark: SparkSession) -> None:
    spark.conf.set(IGNORE_SINK_LOGS, "true")
    try:
        assert not reads_file_lists(spark)
    finally:
        spark.conf.unset(IGNORE_SINK_LOGS)


# What a reader has to guard against. Should a version of Spark stop losing rows here, the guards can go.


def test_spark_loses_the_rows_of_a_file_whose_size_is_given_too_small(spark: SparkSession, file: Path) -> None:
    with file_list([f"file://{file}"], [1], [0]) as folder:
        assert rows(spark, folder) == 0


def test_spark_loses_the_rows_of_a_file_whose_name_begins_with_an_underscore(spark: SparkSession, file: Path) -> None:
    hidden = file.rename(file.with_name(f"_{file.name}"))
    with file_list([f"file://{hidden}"], [hidden.stat().st_size], [0]) as folder:
        assert rows(spark, folder) == 0
