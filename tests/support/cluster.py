"""A standalone Spark cluster on this machine: a master and two workers, on loopback, with one executor each."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from lakebed.spark.java import java_home

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a driver that uses it sets."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master on loopback, and its workers."""

    master: str
    workers: tuple["subprocess.Popen[bytes]", ...]

    def executors(self) -> list[int]:
        """The processes that run tasks: children of the workers."""
        return [pid for worker in self.workers for pid in _children(worker.pid)]


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for path in found for one in path.read_text().split()]


@contextmanager
def _daemon(folder: Path, name: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """One of Spark's servers, from the PySpark package; it ends with the block."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "JAVA_HOME": java_home(),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    number = len(list(folder.glob("*.log")))
    with (folder / f"{number}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--webui-port", "0", *arguments], stdout=log, stderr=log, env=environment, cwd=folder
        )
        try:
            yield process
        finally:
            process.terminate()  # a worker ends its executors then
            process.wait(60)


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that ends with the block; `folder` gets its logs and the work of its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(_daemon(folder, "master.Master", "--port", str(port)))
        options = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / "work"), master)
        workers = tuple(stack.enter_context(_daemon(folder, "worker.Worker", *options)) for _ in range(2))
        yield Cluster(master, workers)
