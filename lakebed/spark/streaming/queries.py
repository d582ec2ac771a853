"""The queries of a session that read lists of files: who keeps a list hears when a query begins and when it ends.

Spark calls a session's listeners in the query's own thread, before it makes the query's sources, and waits for them.
Which lists a query reads stands in its plan, which has no public Python API.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from lakebed import forks


@dataclass(frozen=True, slots=True)
class Reader:
    """What is called with a query's id when the query begins, and with the id of its run when that begins and ends."""

    begin: Callable[[str, str], None]
    end: Callable[[str], None]


class Queries(StreamingQueryListener):
    """The readers of a session's queries, by the folders of the lists that they read."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._readers: dict[str, Reader] = {}
        self._lock = forks.lock()

    def add(self, folder: str, reader: Reader) -> None:
        """Call a reader for the queries that read the list in a folder."""
        with self._lock:
            self._readers[folder] = reader

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        plan = _plan_of(self._spark, str(event.id))
        for folder, reader in self._known():
            if folder in plan:
                reader.begin(str(event.id), str(event.runId))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.ended(str(event.runId))

    def ended(self, run: str) -> None:
        """Note that a query has ended: whoever has waited for it need not wait for Spark to say so."""
        for _, reader in self._known():
            reader.end(run)

    def _known(self) -> list[tuple[str, Reader]]:
        with self._lock:
            return list(self._readers.items())


_QUERIES: "WeakKeyDictionary[SparkSession, Queries]" = WeakKeyDictionary()


def queries_of(spark: SparkSession) -> Queries:
    """The listener of a session, which is added to it when it is first asked for."""
    found = _QUERIES.get(spark)
    if found is None:
        found = _QUERIES[spark] = Queries(spark)
        spark.streams.addListener(found)
    return found


def _plan_of(spark: SparkSession, query: str) -> str:
    """The plan of a query that is about to run, as text."""
    found = cast(Any, spark)._jsparkSession.streams().get(query)
    execution = found.streamingQuery() if hasattr(found, "streamingQuery") else found
    return str(execution.analyzedPlan().toString())
