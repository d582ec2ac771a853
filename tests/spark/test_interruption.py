"""Ctrl-C: the lake is as it was or done, what was written is gone, and the next write works."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

from lakebed import Lake, Table, connect

DRIVER = Path(__file__).parent / "interruption_driver.py"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with connect(tmp_path / "lake") as lake:
        lake.catalog().create_namespace("sales")
        yield lake


@pytest.fixture
def table(lake: Lake) -> Table:
    return lake.catalog().create_table("sales.orders", {"id": "long"}, properties={"write.inline-bytes": "0"})


def slow(spark: SparkSession) -> DataFrame:
    """Rows of which some are written at once, and the last one in an hour."""
    quick = spark.range(0, 100, 1, 2)
    return quick.union(spark.range(0, 10**12, 1, 1).where("hash(id, id, id) = 7 and id > 999999999998"))


@contextmanager
def ctrl_c_when(is_time: Callable[[], bool]) -> Iterator[None]:
    """Press Ctrl-C once, when it is time; the block has to end by it."""
    over = threading.Event()

    def press() -> None:
        while not over.is_set():
            if is_time():
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        over.set()
        thread.join()


def tasks_are_done(spark: SparkSession, number: int) -> Callable[[], bool]:
    """Whether a job that runs has so many tasks behind it."""
    tracker = spark.sparkContext.statusTracker()

    def is_time() -> bool:
        stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        return any(one is not None and one.numCompletedTasks >= number for one in stages)

    return is_time


def data_files(lake: Lake) -> set[str]:
    return {path.name for path in Path(lake.url.removeprefix("file://")).rglob("*.parquet")}


def settled(lake: Lake) -> set[str]:
    """The data files when tasks that were cancelled have ended: Spark does not wait for them."""
    for _ in range(100):
        if not data_files(lake):
            break
        time.sleep(0.1)
    return data_files(lake)


@pytest.mark.long
def test_an_append_that_is_interrupted_leaves_no_row_and_no_file(spark: SparkSession, lake: Lake, table: Table) -> None:
    before = table.version
    with ctrl_c_when(tasks_are_done(spark, 2)):
        table.append(slow(spark))
    assert (table.version, table.scan().count(), settled(lake)) == (before, 0, set())
    table.append(spark.range(5))
    assert table.scan().count() == 5


def test_an_overwrite_that_is_interrupted_leaves_the_old_rows(spark: SparkSession, lake: Lake, table: Table) -> None:
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    kept = data_files(lake)
    with ctrl_c_when(tasks_are_done(spark, 2)):
        table.overwrite(slow(spark), "id > 1")
    assert table.scan().to_arrow().column("id").to_pylist() == [1, 2, 3]
    for _ in range(100):
        if data_files(lake) == kept:
            break
        time.sleep(0.1)
    assert data_files(lake) == kept


@pytest.mark.long
def test_an_upsert_is_interrupted_while_its_rows_are_made(spark: SparkSession, table: Table) -> None:
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    with ctrl_c_when(tasks_are_done(spark, 2)):
        table.upsert(slow(spark), on="id")
    assert table.scan().count() == 3


@pytest.mark.long
def test_a_transaction_that_is_interrupted_leaves_nothing(spark: SparkSession, lake: Lake, table: Table) -> None:
    with ctrl_c_when(tasks_are_done(spark, 2)), lake.catalog().transaction() as tx:
        tx.table("sales.orders").append(pyarrow.table({"id": [1, 2, 3]}))
        tx.table("sales.orders").append(slow(spark))
    assert (table.scan().count(), settled(lake)) == (0, set())


@pytest.mark.long
def test_ctrl_c_at_any_moment_leaves_the_lake_as_it_was_or_done(tmp_path: Path) -> None:
    """Real processes; moments from before the first job to after the commit."""
    rounds = int(os.environ.get("LAKEBED_INTERRUPTIONS", "30"))
    command = [sys.executable, str(DRIVER), str(tmp_path / "lake"), "7", str(rounds)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    lines = [json.loads(one) for one in answer.stdout.splitlines() if one.startswith("{")]
    assert (answer.returncode, len(lines)) == (0, rounds), answer.stderr[-3000:]
    assert [one for one in lines if one["state"] == "neither"] == []
    assert [one for one in lines if one["answered"] and one["state"] != "after"] == []
    assert {one["answered"] for one in lines} == {True, False}
