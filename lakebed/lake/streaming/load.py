"""Loads what streams need when the first one is asked for: it needs PySpark, and a lake does not."""

from typing import TYPE_CHECKING

from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.lake.engines import check_session
from lakebed.lake.streaming.modes import Mode, Trigger, Written

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def read_stream(
    scope: Scope,
    table: str,
    spark: "SparkSession",
    since: Moment | None,
    *,
    changes: bool,
    max_files: int | None,
    max_bytes: int | None,
    on_change: str,
) -> "DataFrame":
    """The rows of a table as a stream."""
    check_session(spark)
    from lakebed.lake.streaming.reading import read_stream

    return read_stream(
        scope, table, spark, since, changes=changes, max_files=max_files, max_bytes=max_bytes, on_change=on_change
    )


def write_stream(
    table: Written,
    rows: "DataFrame",
    checkpoint: "str | os.PathLike[str]",
    mode: Mode,
    trigger: Trigger,
    name: str | None,
    output_mode: str | None,
) -> "StreamingQuery":
    """Start a query that commits each batch of a streaming DataFrame."""
    from lakebed.lake.streaming.writing import write_stream

    return write_stream(table, rows, checkpoint, mode, trigger, name, output_mode)
