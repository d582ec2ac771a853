"""Spark without its log of errors: those of a dry run, and of the command line, are shown in a line of their own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""They write each error of an analysis as JSON, with a trace of a hundred lines."""


@contextmanager
def quiet_spark() -> Iterator[None]:
    """Let PySpark log no error of a query inside of the block."""
    found = [PySparkLogger.getLogger(name) for name in LOGGERS]  # logging's own would answer one of another class
    before = [logger.level for logger in found]
    for logger in found:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(found, before, strict=True):
            logger.setLevel(level)
