"""A run on a cluster of two workers: an executor is lost in a step, then the driver between two; it is resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lakebed
from tests.support.cluster import Cluster, running_cluster

DRIVER = Path(__file__).parent / "cluster_driver.py"
SECONDS = 400
"""A test fails that waits longer for anything; none of it takes that long on a machine that does nothing else."""

ROWS = [{"id": id, "place": id % 4, "value": id} for id in range(24)]
GOOD = [row for row in ROWS if row["id"] != 3]
SUMS = sorted(
    (place, sum(row["value"] for row in GOOD if row["place"] == place), sum(row["place"] == place for row in GOOD))
    for place in range(4)
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path / "cluster") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        main.create_namespace("raw")
        properties = {"write.inline-bytes": "0"}
        main.create_table("raw.orders", {"id": "long", "place": "long", "value": "long"}, properties=properties)
        main.table("raw.orders").append(ROWS)
    return folder


@contextmanager
def driver(cluster: Cluster, folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs the pipeline; what is left of it ends with the block."""
    own = {"PYTHONPATH": str(Path(lakebed.__file__).parents[1]), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(DRIVER), str(folder), cluster.master, *arguments]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | own | {"PYSPARK_PYTHON": sys.executable},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.strip()


def goes_on(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def files(folder: Path) -> set[Path]:
    """Those that tasks are writing too."""
    return set(folder.glob("tables/*/data/**/*.parquet"))


def wait_for_a_file(folder: Path, before: set[Path], process: "subprocess.Popen[str]") -> None:
    for _ in range(SECONDS * 100):
        if files(folder) - before:
            return
        assert process.poll() is None, "the driver ended before it wrote"
        time.sleep(0.01)
    raise AssertionError("no task has begun to write")


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 3], ids=lambda steps: f"dies after step {steps}")
def test_a_run_that_lost_an_executor_and_its_driver_is_resumed_with_equal_rows(
    cluster: Cluster, folder: Path, steps: int
) -> None:
    before = files(folder)
    with driver(cluster, folder) as process:
        done = 0
        for line in said(process):
            if line == "step sales.orders":
                wait_for_a_file(folder, before, process)
                os.kill(cluster.executors()[0], signal.SIGKILL)
            if line.startswith("done"):
                done += 1
                if done == steps:
                    process.kill()
                    break
                goes_on(process)
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        assert not main.table_exists("sales.orders")
        [run] = main.inspect("__runs").to_pylist()
        assert run["status"] == "running"
    lines: list[str] = []
    with driver(cluster, folder, "resume") as process:
        for line in said(process):
            lines.append(line)
            if line.startswith("done"):
                goes_on(process)
    assert lines[-1] == "published: None", lines
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        assert rows(main, "sales.orders") == [tuple(row.values()) for row in GOOD]
        assert rows(main, "sales.sums") == SUMS
        assert rows(main, "sales.best") == [(place, total) for place, total, _ in SUMS if total > 50]
        assert [row[0] for row in rows(main, "sales.orders__quarantine")] == [3]
        reasons = {row["step"]: row["status"] for row in main.inspect("__steps").to_pylist()}
        assert reasons == dict.fromkeys(("sales.orders", "sales.sums", "sales.best"), "done")
        assert [branch.ref for branch in main.branches()] == ["main"]
        assert lake.check(deep=True) == []


def rows(main: lakebed.Catalog, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in main.table(name).scan().to_arrow().to_pylist())
