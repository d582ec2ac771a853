"""The figures: all of them in one session, or one of them, in a process of the environment with the peers."""

import json
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figure import Figure, Row
from bench.spark_peers.environment import DELTA, ICEBERG, PYSPARK, ROOT, python, variables

TITLES = {
    "append": "Appending",
    "scan": "Scanning",
    "delete": "Deleting 1 %",
    "deleted": "Scanning with 1 % deleted",
    "upsert": "Upserting 1 %",
    "selective": "A selective filter",
    "small-read": "A small read",
    "small-append": "A small append",
}
"""By the figure's name; in this order, so that the first table that is filled is not needed by other figures."""

_PEERS = f"Spark {PYSPARK} beside plain Parquet, Iceberg {ICEBERG} and Delta {DELTA}"


def measure(folder: Path, names: Sequence[str], size: str) -> list[Row]:
    """Run the figures with these names; the output of Spark and of the parts goes to the terminal."""
    result = folder / "rows.json"
    command = [python(), "-m", "bench.spark_peers", str(folder), str(result), size, *names]
    subprocess.run(command, cwd=ROOT, env=variables(), check=True)
    return [Row(**row) for row in json.loads(result.read_text(encoding="utf-8"))]


def _figure(name: str, title: str, names: Sequence[str]) -> Figure:
    return Figure(name, title, partial(measure, names=names, size="full"), partial(measure, names=names, size="quick"))


FIGURE = _figure("spark-peers", _PEERS, list(TITLES))
PARTS = tuple(_figure(f"spark-peers-{name}", f"{title}: {_PEERS}", [name]) for name, title in TITLES.items())
