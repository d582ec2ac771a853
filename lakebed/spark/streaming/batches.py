"""A streaming query whose batches are handed to a function, each with an id that is the same if it comes again.

id of a batch = the query's id, which is its checkpoint's, and the batch's number
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Write = Callable[[DataFrame, "Batch"], None]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a query: Spark delivers it again, with the same rows, until it was written."""

    query: str
    number: int


@dataclass(slots=True)
class _Batches:
    """What Spark calls with each batch, in the query's thread. The first may come before `start` has returned."""

    write: Write
    query: str = ""
    begun: Event = field(default_factory=Event)

    def __call__(self, rows: DataFrame, number: int) -> None:
        self.begun.wait()
        self.write(rows, Batch(self.query, number))


def start_batches(
    rows: DataFrame,
    write: Write,
    checkpoint: str,
    *,
    output_mode: str,
    trigger: Mapping[str, Any],
    name: str | None,
) -> StreamingQuery:
    """Start a query that hands each batch of a streaming DataFrame to a function."""
    batches = _Batches(write)
    writer = rows.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint).outputMode(output_mode)
    if trigger:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    query = writer.start()
    batches.query = str(query.id)
    batches.begun.set()
    return query
