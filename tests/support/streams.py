"""Streams as tests read them: all that is there, as rows of Python's."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from lakebed import Table

Taken = tuple[Any, ...]


def take(frame: DataFrame, checkpoint: Path) -> list[Taken]:
    """The rows of a stream that its checkpoint has not seen, sorted; Spark's error if the query fails."""
    rows: list[Taken] = []

    def keep(batch: DataFrame, number: int) -> None:
        rows.extend(tuple(row) for row in batch.collect())

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(rows, key=repr)


def numbered(first: int, last: int, item: str = "tea") -> list[dict[str, Any]]:
    """Rows with these ids."""
    return [{"id": number, "item": item} for number in range(first, last)]


def as_files(table: Table[Any]) -> None:
    """Write the rows of later appends to files, however few they are."""
    table.set_properties({"write.inline-bytes": "0"})


def ids(rows: list[Taken]) -> list[int]:
    """The ids of rows, each as often as it came."""
    return sorted(row[0] for row in rows)
