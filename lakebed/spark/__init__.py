"""The Spark engine, on PySpark alone: sessions, and reads and writes at the speed of plain Parquet; docs/spark.md."""

from importlib.util import find_spec

from lakebed.errors import Unavailable

if find_spec("pyspark") is None:
    raise Unavailable("PySpark is not installed", advice="Run `pip install 'lakebed[spark]'`.")

from lakebed.spark.read import read
from lakebed.spark.session import session
from lakebed.spark.types import schema_of, spark_schema
from lakebed.spark.write import write

__all__ = ["read", "schema_of", "session", "spark_schema", "write"]
