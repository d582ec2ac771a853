"""PySpark's methods that take names, replaced while a session is attached: each asks first whether its session is.

Spark's own declarative pipelines replace methods of the same classes in the same way. Whatever was there before, theirs
too, is called for all other sessions, and put back when the last session is detached.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.column import Column

from lakebed.spark.attachment.attached import Args, Attached
from lakebed.spark.attachment.attachments import attachment_of, spark_alone
from lakebed.spark.session import check_running, is_remote

Replace = Callable[[Any], Any]
"""Makes a member of a class from the one that was there."""


@dataclass(frozen=True, slots=True)
class _Member:
    owner: type
    name: str
    before: Any
    now: Any


_REPLACED: dict[bool, list[_Member]] = {}
"""The members that are replaced, of the classes of Spark Connect and of the others."""


def replace_methods(spark: SparkSession) -> None:
    """Let the methods of the session's classes ask for lakes."""
    if is_remote(spark) not in _REPLACED:
        _REPLACED[is_remote(spark)] = [_replaced(*member) for member in _members(spark)]


def restore_methods(remote: bool) -> None:
    """Put back what was there, except for what others have replaced since: that calls ours, which do nothing."""
    for member in _REPLACED.pop(remote, []):
        if member.owner.__dict__.get(member.name) is member.now:
            setattr(member.owner, member.name, member.before)


def _members(spark: SparkSession) -> Iterator[tuple[type, str, Replace]]:
    for owner, replaced in ((type(spark), _OF_SESSIONS), (_frame_class(spark), _OF_FRAMES)):
        for name, replace in replaced.items():
            found = next((base for base in owner.__mro__ if name in base.__dict__), None)
            if found is not None:  # mergeInto came with Spark 4
                yield found, name, replace


def _replaced(owner: type, name: str, replace: Replace) -> _Member:
    before = owner.__dict__[name]
    now = replace(before)
    setattr(owner, name, now)
    return _Member(owner, name, before, now)


def _frame_class(spark: SparkSession) -> type:
    with spark_alone():
        return type(spark.range(0))


def _lake_of(spark: SparkSession) -> Attached | None:
    attachment = attachment_of(spark)
    if attachment is None:
        return None
    check_running(attachment.spark)
    return attachment.attached


def _sql(before: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(before)
    def sql(self: SparkSession, sqlQuery: str, args: Args = None, **kwargs: Any) -> DataFrame:
        lake = _lake_of(self)
        if lake is None:
            return before(self, sqlQuery, args, **kwargs)
        with spark_alone():
            return lake.sql(functools.partial(before, self), sqlQuery, args, kwargs)

    return sql


def _table(before: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(before)
    def table(self: SparkSession, tableName: str) -> DataFrame:
        lake = _lake_of(self)
        if lake is None:
            return before(self, tableName)
        with spark_alone():
            return lake.table(functools.partial(before, self), tableName)

    return table


def _property(before: Any, answer: Callable[[Attached, Any, Any], Any], session: Callable[[Any], Any]) -> property:
    """A property: Spark's own answer, or what the lake makes of it."""

    @functools.wraps(before.func if isinstance(before, functools.cached_property) else before.fget)
    def get(self: Any) -> Any:
        own = before.__get__(self, type(self))
        lake = _lake_of(session(self))
        return own if lake is None else answer(lake, own, self)

    return property(get)


def _read(before: Any) -> property:
    return _property(before, lambda lake, own, _: lake.reader(own), lambda spark: spark)


def _catalog(before: Any) -> property:
    return _property(before, lambda lake, own, _: lake.catalog(own), lambda spark: spark)


def _write(before: Any) -> property:
    return _property(before, lambda lake, own, frame: lake.writer(own, frame), lambda frame: frame.sparkSession)


def _read_stream(before: Any) -> property:
    return _property(before, lambda lake, own, _: lake.stream_reader(own), lambda spark: spark)


def _write_stream(before: Any) -> property:
    return _property(before, lambda lake, own, frame: lake.stream_writer(own, frame), lambda frame: frame.sparkSession)


def _write_to(before: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(before)
    def writeTo(self: DataFrame, table: str) -> Any:
        lake = _lake_of(self.sparkSession)
        if lake is None:
            return before(self, table)
        with spark_alone():
            return lake.writer_to(functools.partial(before, self), self, table)

    return writeTo


def _merge_into(before: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(before)
    def mergeInto(self: DataFrame, table: str, condition: Column) -> Any:
        lake = _lake_of(self.sparkSession)
        if lake is None:
            return before(self, table, condition)
        with spark_alone():
            return lake.merger(functools.partial(before, self), self, table, condition)

    return mergeInto


_OF_SESSIONS: Final = cast(
    "Mapping[str, Replace]",
    {"sql": _sql, "table": _table, "read": _read, "readStream": _read_stream, "catalog": _catalog},
)
_OF_FRAMES: Final = cast(
    "Mapping[str, Replace]",
    {"write": _write, "writeTo": _write_to, "writeStream": _write_stream, "mergeInto": _merge_into},
)
