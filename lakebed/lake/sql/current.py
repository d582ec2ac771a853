"""Where a session stands in a lake: the ref and the namespace that USE chose for its statements.

A session that ends takes what it chose with it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lakebed.catalog.transaction.context import Context
from lakebed.lake.engines import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Current:
    """What names mean by default: `ref` is as `Lake.catalog` takes it, None for the default catalog's trunk."""

    ref: str | None = None
    namespace: tuple[str, ...] = ()


_Lake = tuple[str, str]
"""A lake's address and its project."""

_CHOSEN: "WeakKeyDictionary[SparkSession, dict[_Lake, Current]]" = WeakKeyDictionary()


def current(spark: "SparkSession", context: Context) -> Current:
    """Where a session stands in a lake; at the default catalog's trunk, without a namespace, if it chose nothing."""
    check_session(spark)
    return _CHOSEN.get(spark, {}).get(_lake(context), Current())


def choose(spark: "SparkSession", context: Context, chosen: Current) -> None:
    """Set where a session stands in a lake, for all handles of that lake in this process."""
    _CHOSEN.setdefault(spark, {})[_lake(context)] = chosen


def forget(spark: "SparkSession", context: Context) -> None:
    """Put a session back to where it began."""
    _CHOSEN.get(spark, {}).pop(_lake(context), None)


def _lake(context: Context) -> _Lake:
    return context.files.url, context.project
