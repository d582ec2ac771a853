"""A worker of a history that moves its rows by Spark, in a process that is started, not forked.

python -m torture.histories.spark_process LAKE JOURNAL NUMBER SEED SECONDS CONFIGURATION
"""

import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torture.configuration import configuration
from torture.histories.actions import work
from torture.histories.deeds import Pair, arrow_rows, pairs_of
from torture.histories.worker import Share

SPARK_SECONDS = 60.0
"""A shorter round would end before Spark has done a few things."""

ACTIONS = (
    *("change", "compact", "evolve", "rename", "drop", "undrop"),
    *("transaction", "feature", "merge", "read", "read version"),
)

CONF = {
    "spark.master": "local[1]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SparkEngine:
    """Rows go in and come out by DataFrames."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def data(self, pairs: Iterable[Pair]) -> Any:
        return self.session.createDataFrame(arrow_rows(pairs))

    def read(self, table: Any, where: str | None) -> list[Pair]:
        return pairs_of(table.read(self.session, where, columns=["id", "v"]).toArrow())


def why_not() -> str:
    """Why Spark can't take part; empty if it can."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'lakebed[spark]'"
    return ""


def start_spark(share: Share) -> int:
    """Start the process, without the shim; its id."""
    arguments = [share.lake, share.journal, share.number, share.seed, share.seconds, share.how.name]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    words = [sys.executable, "-m", "torture.histories.spark_process", *map(str, arguments)]
    output = str(share.journal.with_suffix(".output"))
    opened = (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    return os.posix_spawn(sys.executable, words, environment, file_actions=[opened, (os.POSIX_SPAWN_DUP2, 1, 2)])


def main(lake: str, journal: str, number: str, seed: str, seconds: str, how: str) -> None:
    path = Path(journal)
    try:
        from lakebed.spark import session  # takes a while, and only this process needs it

        engine = SparkEngine(session(None, **CONF))
        share = Share(Path(lake), path, int(number), seed, float(seconds), configuration(how), actions=ACTIONS)
        work(share, engine)
        engine.session.stop()
    except BaseException:
        path.with_suffix(".failed").write_text(traceback.format_exc())
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
