"""A lake over Spark Connect: a server of its own that sees the lake's disk, and a client without a JVM."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest

from lakebed.spark.java import java_home

PACKAGES = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
START_SECONDS = 120
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def missing() -> list[str]:
    return [package for module, package in PACKAGES.items() if not _is_there(module)]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server on loopback, which ends with the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    settings = SETTINGS | {"spark.connect.grpc.binding.port": str(port), "spark.sql.warehouse.dir": str(tmp_path)}
    command = [str(home / "bin" / "spark-submit"), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    environment = os.environ | {"JAVA_HOME": java_home(), "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "spark-internal"], stdout=log, stderr=log, env=environment, cwd=tmp_path
        )  # the script becomes Java's process
        try:
            wait(process, port, tmp_path / "server.log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.mark.long  # a server and its client: a minute
@pytest.mark.skipif(bool(missing()), reason=f"Spark Connect needs `pip install {' '.join(missing())}`")
def test_a_client_reads_appends_and_changes_rows(server: str, tmp_path: Path) -> None:
    client = Path(__file__).with_name("connect_client.py")
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"SPARK_REMOTE": server, "PYTHONPATH": root}
    answer = subprocess.run([sys.executable, client, tmp_path], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr[-4000:]
