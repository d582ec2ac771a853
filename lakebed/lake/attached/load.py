"""Loads what answers an attached session when the first one is attached: it needs PySpark, and a lake does not."""

from typing import TYPE_CHECKING

from lakebed.catalog.transaction.context import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.lake.attached.session import AttachedSession


def attached_session(context: Context, spark: "SparkSession", ref: str | None) -> "AttachedSession":
    """A lake's answers for a session; `ref` is as `Lake.catalog` takes it."""
    from lakebed.lake.attached.session import attached_session

    return attached_session(context, spark, ref)
