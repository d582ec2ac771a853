"""Spark, with its messages in a file instead of between the demo's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

import lakebed

STDERR = 2


def start(log: Path) -> SparkSession:
    """A local session; everything that Java and Spark print goes to the log."""
    with _errors_to(log):
        return lakebed.spark.session(
            **{
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.sql.shuffle.partitions": "4",
                "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false",
            }
        )


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Give the processes that are started in the block a file as their standard error, for as long as they live."""
    ours = os.dup(STDERR)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), STDERR)
        yield
    finally:
        os.dup2(ours, STDERR)
        os.close(ours)
