"""Streams of an attached session: Spark's own, which refuse tables of the lake and say what to use."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from lakebed.errors import Invalid

IsInLake = Callable[[str], bool]


def stream_reader(own: Any, is_in_lake: IsInLake) -> Any:
    """Spark's reader of streams, whose methods return itself; its `table` takes what is not in the lake."""
    return _guarded(
        own,
        "table",
        is_in_lake,
        "a stream does not read tables of the lake",
        "Use table.changes(since) or table.consumer(name) in Python, again and again.",
    )


def stream_writer(own: Any, is_in_lake: IsInLake) -> Any:
    """Spark's writer of streams; its `toTable` takes what is not in the lake."""
    return _guarded(
        own,
        "toTable",
        is_in_lake,
        "a stream does not write tables of the lake by itself",
        "Use writeStream.foreachBatch(…) with table.append(frame, event_id=…).",
    )


def _guarded(own: Any, method: str, is_in_lake: IsInLake, problem: str, advice: str) -> Any:
    before = getattr(own, method)

    @wraps(before)
    def guarded(tableName: str, *args: Any, **kwargs: Any) -> Any:
        if is_in_lake(tableName):
            raise Invalid(problem, subject=tableName, advice=advice)
        return before(tableName, *args, **kwargs)

    setattr(own, method, guarded)
    return own
