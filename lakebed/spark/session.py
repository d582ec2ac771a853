"""A Spark session that is set up for Lakebed."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.spark.java import java_home

APP_NAME = "lakebed"

# For a session that Lakebed starts. Whoever started a running session may have set these on purpose.
SETTINGS = {
    # Given more than 32 paths, Spark starts a job to look at each in a task: 3.9 s for 1,000 paths, instead of 0.3 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000000",
    # The default, INT96, has no statistics. Lakebed's own writes set it themselves; `df.write` does not.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Lakebed's filters take a time without a zone as UTC. With this a script means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Without it filters are pushed as dates of Java's old calendar, which has no 1582-10-05 to 14: see `pushdown`.
    "spark.sql.datetime.java8API.enabled": "true",
    # Without it `spark.read.format("lakebed")` gets no filters, and reads every file. Spark 4.0 has no such setting.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Spark draws its own bar on the same line of the terminal as Lakebed's, which shows rows and bytes too.
    "spark.ui.showConsoleProgress": "false",
}


def start_session(url: str | None = None, **conf: Any) -> SparkSession:
    """The Spark session that runs in this process, or a new one, set up for Lakebed and named after the lake's address.

    `conf` is Spark's, and overrides Lakebed's settings.
    """
    builder: SparkSession.Builder = SparkSession.builder
    settings: dict[str, Any] = {}
    if not _is_running():
        _prepare(str(conf.get("spark.master", "local")))
        settings = SETTINGS | {"spark.app.name": APP_NAME if url is None else f"{APP_NAME} {url}"}
    for key, value in (settings | conf).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session, for a while."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, str(value))
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def is_remote(spark: SparkSession) -> bool:
    """Whether this is a Spark Connect session, without a JVM in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_stopped(spark: SparkSession) -> bool:
    """Whether a session was stopped."""
    session: Any = spark  # Connect has a class of its own
    return bool(session.is_stopped if is_remote(spark) else session.sparkContext._jsc is None)


def check_running(spark: SparkSession) -> None:
    """Refuse a session that was stopped, which PySpark's own error does not say."""
    if is_stopped(spark):
        raise Invalid(
            "the Spark session was stopped",
            expected="a running session",
            advice="Start another with lakebed.spark.session(lake), and create the DataFrames again.",
        )


def _is_running() -> bool:
    try:
        SparkSession.active()
    except PySparkRuntimeError:
        return False
    return True


def _prepare(master: str) -> None:
    """Point the launcher to Java, and the workers of a local session to this Python: the path may have others."""
    if "SPARK_REMOTE" in os.environ:
        return
    os.environ["JAVA_HOME"] = java_home()
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
