"""The Spark engine, on PySpark alone: sessions, and reads and writes at the speed of plain Parquet; docs/spark.md."""

from importlib.util import find_spec

from lakebed.errors import Unavailable

if find_spec("pyspark") is None:
    raise Unavailable("PySpark is not installed", advice="Run `pip install 'lakebed[spark]'`.")

from lakebed.spark import sql
from lakebed.spark.compaction import Compaction, rewritten
from lakebed.spark.conditions import VARIABLE, SessionText, bind_where
from lakebed.spark.damage import damage_told
from lakebed.spark.new_keys import check_new_keys
from lakebed.spark.read import read
from lakebed.spark.row_deletes import delete_rows, overwrite_rows
from lakebed.spark.row_merges import merge_rows
from lakebed.spark.row_updates import update_rows
from lakebed.spark.row_upserts import upsert_rows
from lakebed.spark.running import run
from lakebed.spark.session import session
from lakebed.spark.source import Source
from lakebed.spark.stable_rows import stable_rows
from lakebed.spark.types import schema_of, spark_schema
from lakebed.spark.write import write
from lakebed.spark.write_rows import write_rows

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
