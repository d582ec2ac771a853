"""A cluster of two workers, of which one loses its executor in the middle of a write: each row is there once."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

import lakebed
from lakebed import Table
from tests.support.cluster import Cluster, running_cluster

DRIVER = Path(__file__).parent / "cluster_driver.py"
SECONDS = 400
"""A test fails that waits longer for anything; none of it takes that long on a machine that does nothing else."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path / "cluster") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lake with a table of two small files in each of four partitions."""
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        lake.catalog().create_namespace("sales")
        table = lake.catalog().create_table(
            "sales.orders",
            {"id": "long", "place": "long", "value": "long"},
            primary_key=["id"],
            partition_by=["place"],
            properties={"write.inline-bytes": "0"},
        )
        for first in (0, 8):
            rows = [{"id": id, "place": id % 4, "value": id} for id in range(first, first + 8)]
            table.append(pyarrow.Table.from_pylist(rows))
    return folder


def data_files(folder: Path) -> set[Path]:
    """Those that tasks are writing too."""
    return set(folder.glob("tables/*/data/**/*.parquet"))


def run(cluster: Cluster, folder: Path, works: list[str]) -> list[str]:
    """What a driver says that does these works; an executor is killed in each, when it has begun to write."""
    own = {"PYTHONPATH": str(Path(lakebed.__file__).parents[1]), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment = os.environ | own | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(DRIVER), str(folder), cluster.master, *works]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as driver:
        try:
            return list(told(driver, cluster, folder))
        except BaseException:
            driver.kill()
            raise


def told(driver: "subprocess.Popen[str]", cluster: Cluster, folder: Path) -> Iterator[str]:
    assert driver.stdout is not None
    for line in driver.stdout:
        if line.startswith("begins"):
            wait_for_a_file(folder, data_files(folder), driver)
            os.kill(cluster.executors()[0], signal.SIGKILL)
        yield line.strip()


def wait_for_a_file(folder: Path, before: set[Path], driver: "subprocess.Popen[str]") -> None:
    for _ in range(SECONDS * 100):
        if data_files(folder) - before:
            return
        assert driver.poll() is None, "the driver ended before it wrote"
        time.sleep(0.01)
    raise AssertionError("no task has begun to write")


WORKS = [
    pytest.param(["append"], id="append"),
    pytest.param(["append", "upsert", "compact"], id="all", marks=pytest.mark.long),
]


@pytest.mark.parametrize("works", WORKS)
@pytest.mark.long
def test_each_row_is_there_once_though_an_executor_was_lost_while_it_was_written(
    cluster: Cluster, folder: Path, works: list[str]
) -> None:
    said = run(cluster, folder, works)
    failed = [one for one in said if one.startswith("failed")]  # what an executor holds for an upsert is lost with it
    assert all(re.search(r"table sales\.orders: an executor was lost.*Run it again", one) for one in failed), failed
    steps = [one for one in said if one not in failed]
    assert steps[:-1] == [f"{what} {work}" for work in works for what in ("begins", "is over")], said
    assert re.search(r"stopped: table sales\.orders: the Spark session was stopped .*Start another", steps[-1])
    expected = {id: id for id in (*range(16), *range(100, 112))}
    if "upsert" in works:
        expected |= {id: 100 + id for id in range(106, 118)}
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("sales.orders")
        found = table.scan().to_arrow().to_pylist()
        assert sorted((one["id"], one["place"], one["value"]) for one in found) == [
            (id, id % 4, value) for id, value in sorted(expected.items())
        ]
        assert len(table.snapshots()) == 3 + len(works)  # made, two appends, and each change once
        assert not data_files(folder) - referred(folder, table)


def referred(folder: Path, table: Table) -> set[Path]:
    """The data files of all versions."""
    return {
        folder / planned.file.path
        for one in table.snapshots()
        for planned in table.at(snapshot=one.id).scan()._plan.files
    }
