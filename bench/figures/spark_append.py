"""An append of a DataFrame against Spark's own write of it, with the same compression."""

import os
import shutil
from pathlib import Path

from pyspark.sql import DataFrame

import lakebed
from bench.data.spark_rows import new_table, rows, spark_session, write_plain
from bench.figure import Figure, Row, ratio
from bench.timing import Work, in_turn, seconds

ROWS = 5_000_000
ROUNDS = 5


def measure(folder: Path) -> list[Row]:
    """Ours is synced to disk when it ends, theirs is not; before each, everything is synced."""
    with spark_session() as spark:
        frame = rows(spark, ROWS)

        def ours() -> float:
            return _append(frame, folder / "lake")

        def theirs() -> float:
            return _alone(lambda: write_plain(frame, folder / "plain"), folder / "plain")

        in_turn(ours, theirs, rounds=1, each=1)
        return [ratio("append / Spark's own write", in_turn(ours, theirs, rounds=ROUNDS, each=1), at_most=1.15)]


def _append(frame: DataFrame, folder: Path) -> float:
    with lakebed.connect(folder) as lake:
        table = new_table(lake, frame)
        return _alone(lambda: table.append(frame), folder)


def _alone(work: Work, folder: Path) -> float:
    """The time of a workload that fills a folder, which is deleted afterwards."""
    os.sync()
    took = seconds(work)
    shutil.rmtree(folder)
    return took


FIGURE = Figure("spark-append", f"Appending {ROWS // 1_000_000}M rows with Spark", measure)
