"""`table.write_stream`: each batch of a query is one commit, however often Spark delivers it.

    event id of a batch = ("stream", the query's id, the batch's number, the line, the table)

The query's id is that of its checkpoint: another checkpoint is another query, whose batches are new. A copy of a
checkpoint may write to another line: its batches are new there.
"""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from lakebed.catalog.feed.columns import CHANGE_TYPE, DELETE
from lakebed.catalog.transaction.bound import asked_id
from lakebed.catalog.transaction.commits import Request, event_id
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.scopes import Live
from lakebed.errors import Invalid
from lakebed.lake.arguments import check_not_staged
from lakebed.lake.clauses import when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.lake.engines import is_of_spark
from lakebed.lake.streaming.modes import Mode, Trigger, Written
from lakebed.lake.streaming.transactions import run_in_transaction
from lakebed.spark.fit import quoted
from lakebed.spark.session import is_remote
from lakebed.spark.streaming.batches import Batch, start_batches
from lakebed.spark.streaming.last_changes import is_feed, last_changes


def write_stream(
    table: Written,
    rows: DataFrame,
    checkpoint: str | os.PathLike[str],
    mode: Mode,
    trigger: Trigger,
    name: str | None,
    output_mode: str | None,
) -> StreamingQuery:
    """Start a query that commits each batch of a streaming DataFrame."""
    check_not_staged(table.id, "write_stream()")
    _check_rows(rows)
    scope = table._scope
    if not isinstance(scope, Live):
        inside = scope.is_transaction
        raise Invalid(
            "each batch of a stream is a commit of its own" if inside else "a table at a version can't be written",
            advice="Call write_stream outside of the transaction." if inside else "Write to a branch's table.",
        )
    scope.context.check_writable("write_stream")
    name_of(scope.read(), table.id)  # `NotFound` if it is dropped
    write = _writer(table, mode)

    def write_batch(batch_rows: DataFrame, batch: Batch) -> None:
        event = event_id("stream", batch.query, batch.number, scope.ref.line.id, asked_id(table.id))
        write(batch_rows, event, f"batch {batch.number} of {name or f'query {batch.query}'}")

    return start_batches(
        rows,
        write_batch,
        _place(checkpoint),
        output_mode=output_mode or ("append" if mode == "append" else "update"),
        trigger=_trigger(trigger),
        name=name,
    )


Write = Callable[[DataFrame, str, str], None]
"""Commits rows by an event id, with a message."""


def _writer(table: Written, mode: Mode) -> Write:
    if callable(mode):
        return _in_transaction(table, mode)
    if mode == "append":
        return lambda rows, event, message: _append(table, rows, event, message)
    if mode == "upsert":
        if not table.primary_key:
            raise Invalid(
                "an upsert needs a primary key",
                subject=spelled(name_of(table._scope.read(), table.id)),
                advice="Set one with evolve().",
            )
        return lambda rows, event, message: _upsert(table, rows, event, message)
    raise Invalid(
        "a stream can't be written so",
        subject="mode",
        expected='"append", "upsert", or a function of a batch and a transaction',
        found=repr(mode),
    )


def _in_transaction(table: Written, function: Callable[..., object]) -> Write:
    scope = table._scope

    def write(rows: DataFrame, event: str, message: str) -> None:
        if scope.replayed(Request("transaction", event_id=event)) is None:
            run_in_transaction(scope.context, scope.ref, lambda tx: function(rows, tx), message, event)

    return write


def _append(table: Written, rows: DataFrame, event: str, message: str) -> None:
    table.append(rows, event_id=event, message=message)


def _upsert(table: Written, rows: DataFrame, event: str, message: str) -> None:
    if not is_feed(rows):
        table.upsert(rows, event_id=event, message=message)
        return
    key = table.primary_key
    source = last_changes(rows, key)
    values = {column: f"source.{quoted(column)}" for column in source.columns if column != CHANGE_TYPE.name}
    deleted = f"source.{CHANGE_TYPE.name} = '{DELETE}'"
    table.merge(
        source,
        list(key),
        when_matched_delete(deleted),
        when_matched_update({column: value for column, value in values.items() if column not in key}),
        when_not_matched_insert(values, f"not ({deleted})"),
        event_id=event,
        message=message,
    )


def _check_rows(rows: object) -> None:
    if not (is_of_spark(rows) and isinstance(rows, DataFrame)):
        raise Invalid("this is not a DataFrame of Spark", found=type(rows).__name__)
    if not rows.isStreaming:
        raise Invalid(
            "this DataFrame is not a stream",
            expected="one that spark.readStream or table.read_stream(spark) made",
            advice="append(df) writes it once.",
        )
    if is_remote(rows.sparkSession):
        raise Invalid(
            "over Spark Connect, batches can't be handed to this process",
            advice="Use a session in this process.",
        )


def _place(checkpoint: str | os.PathLike[str]) -> str:
    """The checkpoint's folder, absolute: Spark would take a relative one from the folder in which Java began."""
    found = os.fspath(checkpoint) if isinstance(checkpoint, str | os.PathLike) else None
    if not found or not isinstance(found, str):
        raise Invalid("a stream needs a checkpoint", expected="a folder", found=repr(checkpoint))
    return found if "://" in found or found.startswith("file:") else os.path.abspath(found)


def _trigger(given: Trigger) -> Mapping[str, Any]:
    match given:
        case None:
            return {}
        case "availableNow":
            return {"availableNow": True}
        case str():
            return {"processingTime": given}
        case timedelta():
            return {"processingTime": f"{int(given.total_seconds() * 1000)} milliseconds"}
        case Mapping():
            return given
    raise Invalid(
        "this is not a trigger",
        expected='"availableNow", an interval such as "10 seconds", or {"processingTime": …}',
        found=repr(given),
    )
