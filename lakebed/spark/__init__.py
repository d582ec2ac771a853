"""The Spark engine, on PySpark alone: sessions, reads and writes at plain Parquet speed; docs/guide/spark.md."""

from importlib.util import find_spec

from lakebed.errors import Unavailable

if find_spec("pyspark") is None:
    raise Unavailable("PySpark is not installed", advice="Run `pip install 'lakebed[spark]'`.")

from lakebed.spark import sql
from lakebed.spark.compaction import Compaction, rewritten
from lakebed.spark.jobs.errors import damage_told
from lakebed.spark.jobs.run import run
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.spark.rows.delete import delete_rows, overwrite_rows
from lakebed.spark.rows.keys import check_new_keys
from lakebed.spark.rows.merge import merge_rows
from lakebed.spark.rows.source import stable_rows
from lakebed.spark.rows.update import update_rows
from lakebed.spark.rows.upsert import upsert_rows
from lakebed.spark.rows.where import VARIABLE, SessionText, bind_where
from lakebed.spark.session import session
from lakebed.spark.types import schema_of, spark_schema
from lakebed.spark.write.rows import write_rows
from lakebed.spark.write.write import write

__all__ = [
    "VARIABLE",
    "Compaction",
    "SessionText",
    "Source",
    "bind_where",
    "check_new_keys",
    "damage_told",
    "delete_rows",
    "merge_rows",
    "overwrite_rows",
    "read",
    "rewritten",
    "run",
    "schema_of",
    "session",
    "spark_schema",
    "sql",
    "stable_rows",
    "update_rows",
    "upsert_rows",
    "write",
    "write_rows",
]
