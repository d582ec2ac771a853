"""Attaching a session to a lake: Spark's own names then work for the lake's tables. docs/guide/spark.md."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.spark.attachment import attachments
from lakebed.spark.attachment.attached import Attachable, Attached
from lakebed.spark.attachment.methods import replace_methods, restore_methods
from lakebed.spark.session import check_running, is_remote, start_session


def session(lake: Attachable | None = None, **conf: Any) -> SparkSession:
    """The Spark session that runs in this process, or a new one, set up for Lakebed; attached to the lake, if given.

    `conf` is Spark's, and overrides Lakebed's settings: `session(lake, **{"spark.master": "local[4]"})`. A running
    session keeps the settings that Spark can't change any more. A new one runs on the Java that `java_home` finds, and
    its workers on this Python if it is local.
    """
    spark = start_session(None if lake is None else lake.url, **conf)
    return spark if lake is None else attach(spark, lake)


def attach(spark: SparkSession, lake: Attachable, ref: str | None = None) -> SparkSession:
    """Let a session find the lake's names, by `spark.sql`, `spark.table`, `df.write.saveAsTable`, `spark.catalog` …

    Names are a branch's or a tag's with `ref`. What the lake does not have is Spark's, as ever. Other sessions stay as
    they are. A session has one lake: attaching it again replaces the first. `detach` undoes it.
    """
    _check_session(spark)
    check_running(spark)
    if not hasattr(lake, "_attached_to"):
        raise Invalid("this is not a lake", expected="what lakebed.connect(…) returns", found=f"{lake!r:.80}")
    attached = lake._attached_to(spark, ref)
    with attachments.LOCK:
        attachments.put(spark, attached)
        replace_methods(spark)
    return spark


def detach(spark: SparkSession) -> None:
    """Undo `attach`: all names are Spark's again. A session that is not attached stays as it is."""
    _check_session(spark)
    with attachments.LOCK:
        gone = attachments.remove(spark)
        if gone is not None:
            gone.attached.leave()
        _restore(spark)


def _restore(spark: SparkSession) -> None:
    """Put PySpark's methods back, if no session needs them any more."""
    if all(is_remote(other) != is_remote(spark) for other in attachments.attached_sessions()):
        restore_methods(is_remote(spark))


def _check_session(spark: object) -> None:
    if not any(kind.__name__ == "SparkSession" for kind in type(spark).__mro__):
        raise Invalid(
            "this is not a Spark session", expected="what lakebed.spark.session() returns", found=f"{spark!r:.80}"
        )


@contextmanager
def answered_by(spark: SparkSession, attached: Attached) -> Iterator[None]:
    """While it lasts, `attached` answers this session's calls, whatever lake it is attached to otherwise."""
    with attachments.LOCK:
        before = attachments.attachment_in_place(spark)
        attachments.put(spark, attached)
        replace_methods(spark)
    try:
        with attachments.spark_attended():
            yield
    finally:
        with attachments.LOCK:
            if before is not None:
                attachments.put(spark, before.attached)
            else:
                attachments.remove(spark)
                _restore(spark)
