import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.spark import detach, session
from lakebed.spark.session import SETTINGS


def test_a_running_session_is_answered(spark: SparkSession, tmp_path: Path) -> None:
    assert session().sparkContext is spark.sparkContext
    with lakebed.connect(tmp_path / "lake") as lake:
        try:
            assert session(lake) is spark
        finally:
            detach(spark)


def test_a_session_that_lakebed_started_has_its_settings(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS


def test_a_running_session_keeps_what_somebody_has_set(spark: SparkSession) -> None:
    """It used to lose its type of timestamps, and what its own writes wrote changed."""
    theirs = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.parquet.outputTimestampType": "INT96"}
    try:
        for name, value in theirs.items():
            spark.conf.set(name, value)
        session()
        assert {name: spark.conf.get(name) for name in theirs} == theirs
    finally:
        for name in theirs:
            spark.conf.set(name, SETTINGS[name])


def test_the_settings_of_the_caller_win(spark: SparkSession) -> None:
    name = "spark.sql.parquet.outputTimestampType"
    try:
        assert session(**{name: "INT96"}).conf.get(name) == "INT96"
    finally:
        spark.conf.set(name, SETTINGS[name])


def test_the_workers_run_this_python(spark: SparkSession) -> None:
    @F.udf("string")
    def executable(_):
        return sys.executable

    assert spark.range(1).select(executable("id")).collect()[0][0] == sys.executable


def test_without_pyspark_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['pyspark'] = None\nimport lakebed.spark"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 1
    assert "Unavailable: PySpark is not installed. Run `pip install 'lakebed[spark]'`." in answer.stderr


@pytest.mark.parametrize("name", ["lakebed", "lakebed.files", "lakebed.table.schema.schema"])
def test_nothing_else_loads_pyspark(name: str) -> None:
    code = f"import sys, {name}\nsys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
