"""The Spark engine, on PySpark alone: sessions, reads and writes at plain Parquet speed; docs/guide/spark.md."""

from importlib.util import find_spec

from lakebed.errors import Unavailable

if find_spec("pyspark") is None:
    raise Unavailable("PySpark is not installed", advice="Run `pip install 'lakebed[spark]'`.")

from lakebed.spark.attachment.attach import attach, detach, session
from lakebed.spark.jobs.run import run

__all__ = ["attach", "detach", "run", "session"]
