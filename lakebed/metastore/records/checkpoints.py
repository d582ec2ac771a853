"""Checkpoints in the records form: rows beside the deltas, written outside commits and never read by one.

(15, line, partition, version) -> checkpoint
(16, line, partition, intent)  -> the files that one will have, written before they are
"""

from collections.abc import Sequence
from functools import partial
from time import time_ns
from typing import TypeVar

from google.protobuf.message import Message

from lakebed.errors import Corrupt, Invalid, NotFound, TooLarge
from lakebed.metastore.change import State
from lakebed.metastore.kinds import new_id
from lakebed.metastore.metastore import UnfinishedCheckpoint
from lakebed.records import cells, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import Row, Sight
from lakebed.records.layout import Attribute, Space
from lakebed.store import RangeRead, Reads, Transaction, Version
from lakebed.store.tuples import unpack

M = TypeVar("M", bound=Message)

_HANDLE = "a line, a partition and an id, as begin_checkpoint returned it"


def nearest(reads: Reads, sight: Sight, partitions: Sequence[str]) -> list[State | None]:
    """The newest visible checkpoint of each partition.

    They are not cached like other rows of ancestors: one may be added at any time.
    """
    rows = cells.nearest(reads, [(sight, partial(_prefix, partition)) for partition in partitions])
    return [None if row is None else checkpoint_state(row) for row in rows]


def visible(reads: Reads, sight: Sight, partitions: Sequence[str]) -> list[list[State]]:
    """All visible checkpoints of each partition, oldest first: a line's are later than those of its ancestors."""
    lines = sight[::-1]
    asked = [
        RangeRead(layout.versions_up_to(layout.checkpoint_prefix(at.line, partition), at.version))
        for partition in partitions
        for at in lines
    ]
    pages = iter(reads.get_ranges(asked) if asked else ())
    return [
        [
            checkpoint_state(Row(at.line, layout.key_version(key), value))
            for at in lines
            for key, value in next(pages).entries
        ]
        for _ in partitions
    ]


def _prefix(partition: str, line: str) -> bytes:
    return layout.checkpoint_prefix(line, partition)


def listed(reads: Reads, line: str, partition: str) -> list[State]:
    """The line's own checkpoints, newest first."""
    page = reads.get_range(layout.prefix_range(layout.checkpoint_prefix(line, partition)), reverse=True)
    return [checkpoint_state(Row(line, layout.key_version(key), value)) for key, value in page.entries]


def check_checkpoint(record: Message) -> None:
    if not isinstance(record, pb.TableCheckpoint):
        raise Invalid("this is not a checkpoint", expected="TableCheckpoint", found=type(record).__name__)


def put(
    transaction: Transaction,
    line: str,
    partition: str,
    version: Version,
    record: pb.TableCheckpoint,
    intent: str | None,
) -> None:
    """Write a checkpoint of the delta at exactly this version, and remove its intent.

    The reads of the delta and the intent join the conflict set: a concurrent erase or abandon is noticed.
    """
    at, value = layout.version_element(version), codec.encode(record)
    delta_key = layout.attribute_cell(partition, Attribute.DATA).history_prefix(line) + at
    key = layout.checkpoint_prefix(line, partition) + at
    intent_keys = [] if intent is None else [_intent_key(intent, line, partition)]
    delta, known, *begun = transaction.get_many([delta_key, key, *intent_keys])
    _check_delta(f"checkpoint of partition {partition} at version {version}", delta, record)
    if known != value:
        for stored in begun:
            _check_intent(str(intent), stored)
        transaction.set(key, value)
    for intent_key, stored in zip(intent_keys, begun, strict=True):
        if stored is not None:
            transaction.clear(intent_key)


def drop(transaction: Transaction, line: str, partition: str, version: Version) -> None:
    key = layout.checkpoint_prefix(line, partition) + layout.version_element(version)
    if transaction.get(key) is not None:
        transaction.clear(key)


def checkpoint_state(row: Row) -> State:
    return State(_decode(row.value, pb.TableCheckpoint), row.version, row.line)


def _check_delta(subject: str, stored: bytes | None, record: pb.TableCheckpoint) -> None:
    """Refuse a checkpoint of another state: so all checkpoints under one key are of the same state."""
    if stored is None:
        raise Invalid(
            "there is no delta for this checkpoint",
            subject=subject,
            expected="data that this line itself wrote at that version",
            advice="The delta may have been erased. Use the version and the line of an existing one.",
        )
    delta = _decode(stored, pb.TableHistory)
    wanted, found = ((at.snapshot_id, at.sequence_number) for at in (delta, record))
    if wanted != found:
        raise Invalid(
            "the data at that version has another snapshot",
            subject=subject,
            expected=f"snapshot {wanted[0]}, sequence {wanted[1]}",
            found=f"snapshot {found[0]}, sequence {found[1]}",
        )


# Intents


def new_intent(line: str, partition: str, paths: Sequence[str]) -> tuple[str, bytes, bytes]:
    """A new intent, its key and its value."""
    intent = f"{line}/{partition}/{new_id()}"
    try:
        record = pb.CheckpointIntent(paths=paths, begun_ms=_now_ms())
    except (ValueError, TypeError) as error:  # a lone surrogate, bytes: protobuf accepts neither
        raise Invalid(f"the paths of a checkpoint can't be stored: {error}", subject=intent) from error
    return intent, _intent_key(intent, line, partition), codec.encode(record)


def begin(transaction: Transaction, key: bytes, value: bytes) -> None:
    try:
        transaction.set(key, value)
    except TooLarge as error:
        error.advice = "Name the folder of the files instead of each of them."
        raise


def unfinished(reads: Reads, older_than_seconds: float) -> list[UnfinishedCheckpoint]:
    latest = _now_ms() - older_than_seconds * 1000
    page = reads.get_range(layout.prefix_range(layout.PREFIX[Space.INTENT]))
    found = [(unpack(key), _decode(value, pb.CheckpointIntent)) for key, value in page.entries]
    return [
        UnfinishedCheckpoint(
            f"{line}/{partition}/{intent}",
            str(line),
            str(partition),
            tuple(record.paths),
            record.begun_ms,
            record.abandoned,
        )
        for (_, line, partition, intent), record in found
        if record.begun_ms <= latest
    ]


def abandon(transaction: Transaction, intent: str) -> None:
    key = _intent_key(intent)
    stored = transaction.get(key)
    if stored is None:
        raise NotFound(
            "the checkpoint was put or ended already", subject=intent, advice="Keep its files: they may be in use."
        )
    record = _decode(stored, pb.CheckpointIntent)
    record.abandoned = True
    transaction.set(key, codec.encode(record))


def end(transaction: Transaction, intent: str) -> None:
    key = _intent_key(intent)
    if transaction.get(key) is not None:
        transaction.clear(key)


def _check_intent(intent: str, stored: bytes | None) -> None:
    if stored is None or _decode(stored, pb.CheckpointIntent).abandoned:
        raise Invalid(
            "the checkpoint was abandoned, and its files may be gone",
            subject=intent,
            expected="a valid intent",
            found="none" if stored is None else "an abandoned intent",
            advice="Begin a new checkpoint.",
        )


def _intent_key(intent: str, line: str | None = None, partition: str | None = None) -> bytes:
    """The key of an intent; `Invalid` unless it is of this line and partition."""
    parts = intent.split("/") if isinstance(intent, str) else []
    if len(parts) != 3 or (line, partition) not in ((None, None), tuple(parts[:2])):
        expected = _HANDLE if line is None else f"an intent of line {line}, partition {partition}"
        raise Invalid("this is not the intent of a checkpoint", subject=repr(intent), expected=expected)
    return layout.intent_key(*parts)


def _decode(value: bytes, kind: type[M]) -> M:
    record = codec.decode(value)
    if not isinstance(record, kind):
        raise Corrupt("a row has the wrong record", expected=kind.DESCRIPTOR.name, found=type(record).__name__)
    return record


def _now_ms() -> int:
    return time_ns() // 1_000_000
