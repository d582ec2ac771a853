"""Which sessions are attached to a lake, and what is done by Spark alone all the same.

A session is known by the id that Spark gave it: PySpark may have several objects for one session.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from lakebed.forks import recursive_lock
from lakebed.spark.attachment.attached import Attached
from lakebed.spark.session import is_remote, is_stopped

LOCK: Final = recursive_lock()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A session and its lake."""

    spark: SparkSession
    attached: Attached


_ATTACHMENTS: dict[str, Attachment] = {}
_KEYS: "WeakKeyDictionary[SparkSession, str]" = WeakKeyDictionary()
_SPARK_ALONE: ContextVar[bool] = ContextVar("lakebed_spark_alone", default=False)


@contextmanager
def spark_alone() -> Iterator[None]:
    """While it lasts, calls of this thread on attached sessions are Spark's own: they come from Lakebed itself."""
    before = _SPARK_ALONE.set(True)
    try:
        yield
    finally:
        _SPARK_ALONE.reset(before)


@contextmanager
def spark_attended() -> Iterator[None]:
    """While it lasts, calls of this thread on attached sessions ask for lakes: a user's function is called."""
    before = _SPARK_ALONE.set(False)
    try:
        yield
    finally:
        _SPARK_ALONE.reset(before)


def attachment_in_place(spark: SparkSession) -> Attachment | None:
    """The lake that a session is attached to, whoever calls."""
    key = _key(spark)
    return None if key is None else _ATTACHMENTS.get(key)


def attachment_of(spark: SparkSession) -> Attachment | None:
    """The lake that answers a call on a session; None if Spark does."""
    if not _ATTACHMENTS or _SPARK_ALONE.get():
        return None
    key = _key(spark)
    return None if key is None else _ATTACHMENTS.get(key)


def put(spark: SparkSession, attached: Attached) -> None:
    """Attach a session; it replaces a lake that the session was attached to."""
    with LOCK:
        _forget_stopped()
        key = _key(spark)
        if key is not None:
            _ATTACHMENTS[key] = Attachment(spark, attached)


def remove(spark: SparkSession) -> Attachment | None:
    """Detach a session; None if it was not attached."""
    with LOCK:
        key = _key(spark)
        return None if key is None else _ATTACHMENTS.pop(key, None)


def attached_sessions() -> list[SparkSession]:
    """The sessions that are attached now."""
    return [attachment.spark for attachment in _ATTACHMENTS.values()]


def _forget_stopped() -> None:
    for key, attachment in list(_ATTACHMENTS.items()):
        if is_stopped(attachment.spark):
            del _ATTACHMENTS[key]


def _key(spark: SparkSession) -> str | None:
    """The id of a session; None for one that was stopped before anybody asked for it."""
    known = _KEYS.get(spark)
    if known is None:
        session: Any = spark
        try:
            known = str(session.session_id if is_remote(spark) else session._jsparkSession.sessionUUID())
        except (Py4JError, AttributeError):
            return None
        _KEYS[spark] = known
    return known
