"""Checkpoints in the records form: rows beside the deltas, written outside commits, of which no commit reads any.

(15, line, partition, version) -> checkpoint
(16, line, partition, intent)  -> the files that one will have, written before they are
"""

from collections.abc import Sequence
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
from lakebed.store import Reads, Transaction, Version
from lakebed.store.tuples import unpack

M = TypeVar("M", bound=Message)

_HANDLE = "a line, a partition and an id, as begin_checkpoint gave it"


def nearest(reads: Reads, sight: Sight, partition: str) -> State | None:
    """The newest checkpoint that can be seen. Not remembered like what else ancestors have: one may come any time."""
    row = cells.nearest(reads, sight, lambda line: layout.checkpoint_prefix(line, partition))
    return None if row is None else _state(row)


def listed(reads: Reads, line: str, partition: str) -> list[State]:
    """The line's own, newest first."""
    page = reads.get_range(layout.prefix_range(layout.checkpoint_prefix(line, partition)), reverse=True)
    return [_state(Row(line, layout.key_version(key), value)) for key, value in page.entries]


def check_checkpoint(record: Message) -> None:
    if not isinstance(record, pb.TableCheckpoint):
        raise Invalid("this is no checkpoint", expected="TableCheckpoint", found=type(record).__name__)


def put(
    transaction: Transaction,
    line: str,
    partition: str,
    version: Version,
    record: pb.TableCheckpoint,
    intent: str | None,
) -> None:
    """Write a checkpoint of the delta at exactly this version, and take its intent away.

    The delta and the intent are read for good: whoever erases the one or abandons the other meanwhile is noticed.
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


def _state(row: Row) -> State:
    return State(_decoded(row.value, pb.TableCheckpoint), row.version, row.line)


def _check_delta(subject: str, stored: bytes | None, record: pb.TableCheckpoint) -> None:
    """So two checkpoints of one place are always of the same state, and either may stand there."""
    if stored is None:
        raise Invalid(
            "there is no delta that it could stand for",
            subject=subject,
            expected="data that this line itself has written at that version",
            advice="Take the version and the line of a delta; it may have been erased.",
        )
    delta = _decoded(stored, pb.TableHistory)
    wanted, found = ((one.snapshot_id, one.sequence_number) for one in (delta, record))
    if wanted != found:
        raise Invalid(
            "it is of another snapshot than the data at that version",
            subject=subject,
            expected=f"snapshot {wanted[0]}, sequence {wanted[1]}",
            found=f"snapshot {found[0]}, sequence {found[1]}",
        )


# Intents


def new_intent(line: str, partition: str, paths: Sequence[str]) -> tuple[str, bytes, bytes]:
    """A fresh intent, its key and its value."""
    intent = f"{line}/{partition}/{new_id()}"
    try:
        record = pb.CheckpointIntent(paths=paths, begun_ms=_now_ms())
    except (ValueError, TypeError) as error:  # a lone surrogate, bytes: protobuf takes neither
        raise Invalid(f"the paths of a checkpoint can't be written down: {error}", subject=intent) from error
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
    found = [(unpack(key), _decoded(value, pb.CheckpointIntent)) for key, value in page.entries]
    return [
        UnfinishedCheckpoint(
            f"{line}/{partition}/{intent}", str(line), str(partition), tuple(one.paths), one.begun_ms, one.abandoned
        )
        for (_, line, partition, intent), one in found
        if one.begun_ms <= latest
    ]


def abandon(transaction: Transaction, intent: str) -> None:
    key = _intent_key(intent)
    stored = transaction.get(key)
    if stored is None:
        raise NotFound(
            "the checkpoint is not unfinished any more", subject=intent, advice="Leave its files: it may have them."
        )
    record = _decoded(stored, pb.CheckpointIntent)
    record.abandoned = True
    transaction.set(key, codec.encode(record))


def end(transaction: Transaction, intent: str) -> None:
    key = _intent_key(intent)
    if transaction.get(key) is not None:
        transaction.clear(key)


def _check_intent(intent: str, stored: bytes | None) -> None:
    if stored is None or _decoded(stored, pb.CheckpointIntent).abandoned:
        raise Invalid(
            "the checkpoint was given up, and its files may be gone",
            subject=intent,
            expected="an intent that stands",
            found="none" if stored is None else "one that was abandoned",
            advice="Begin another one.",
        )


def _intent_key(intent: str, line: str | None = None, partition: str | None = None) -> bytes:
    """Where an intent is, if it is one of this line and partition."""
    parts = intent.split("/") if isinstance(intent, str) else []
    if len(parts) != 3 or (line, partition) not in ((None, None), tuple(parts[:2])):
        expected = _HANDLE if line is None else f"one of line {line}, partition {partition}"
        raise Invalid("this is no intent of a checkpoint", subject=repr(intent), expected=expected)
    return layout.intent_key(*parts)


def _decoded(value: bytes, kind: type[M]) -> M:
    record = codec.decode(value)
    if not isinstance(record, kind):
        raise Corrupt("a row has another record", expected=kind.DESCRIPTOR.name, found=type(record).__name__)
    return record


def _now_ms() -> int:
    return time_ns() // 1_000_000
