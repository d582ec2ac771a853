"""A Spark session that is set up for Lakebed."""

import os
import sys
from typing import Any, Protocol

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.spark.java import java_home

APP_NAME = "lakebed"

# For a session that Lakebed starts. One that runs already is somebody's, who may have set these on purpose.
SETTINGS = {
    # Given more than 32 paths, Spark starts a job with one task for each to look at it: 3.9 s for 1,000, without 0.3 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000000",
    # The default, INT96, has no statistics. Lakebed's own writes don't need it set; what `df.write` writes does.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Filters given to Lakebed take a time without a zone as UTC. So a script means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Without it filters are pushed as dates of Java's old calendar, which lacks 1582-10-05 to 14: see `hidden`.
    "spark.sql.datetime.java8API.enabled": "true",
    # Without it `spark.read.format("lakebed")` is told of no filters, and reads every file. Spark 4.0 has none.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Spark's own bar is drawn on the same line of the terminal as Lakebed's, which tells of rows and bytes too.
    "spark.ui.showConsoleProgress": "false",
}


class HasUrl(Protocol):
    """What a session wants to know of a lake."""

    @property
    def url(self) -> str: ...


def session(lake: HasUrl | None = None, **conf: Any) -> SparkSession:
    """The Spark session that runs in this process, or a new one, set up for Lakebed.

    `conf` is Spark's, and goes before Lakebed's: `session(lake, **{"spark.master": "local[4]"})`. In a running session
    what Spark can't change any more stays. A new one runs on the Java that `java_home` finds, and on this Python
    if it is a local one.
    """
    builder: SparkSession.Builder = SparkSession.builder
    settings: dict[str, Any] = {}
    if not _is_running():
        _prepare(str(conf.get("spark.master", "local")))
        settings = SETTINGS | {"spark.app.name": f"{APP_NAME} {lake.url}" if lake else APP_NAME}
    for key, value in (settings | conf).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, and has no JVM in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def check_running(spark: SparkSession) -> None:
    """Refuse a session that was stopped: what PySpark says of it then tells nobody so."""
    session: Any = spark  # of Connect a class of its own
    if session.is_stopped if is_remote(spark) else session.sparkContext._jsc is None:
        raise Invalid(
            "the Spark session was stopped",
            expected="one that runs",
            advice="Start another, with lakebed.spark.session(lake), and make its DataFrames again.",
        )


def _is_running() -> bool:
    try:
        SparkSession.active()
    except PySparkRuntimeError:
        return False
    return True


def _prepare(master: str) -> None:
    """Let the launcher find Java, and the workers of a local session this Python: the path may have others."""
    if "SPARK_REMOTE" in os.environ:
        return
    os.environ["JAVA_HOME"] = java_home()
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
