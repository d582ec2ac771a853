"""The checkpoints of the metastore in plain dictionaries.

(line, partition, version) -> checkpoint
intent                     -> what was begun and neither put nor ended
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from google.protobuf.message import Message

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import State
from lakebed.metastore.kinds import new_id
from lakebed.metastore.metastore import Metastore, UnfinishedCheckpoint
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import Sight
from lakebed.records.layout import Attribute, id_element
from lakebed.store import Version
from lakebed.testing.metastore.arguments import check_ids, check_text


class CheckpointModel(Metastore):
    """The part of the model that keeps checkpoints; the deltas are the other part's."""

    states: dict[tuple[str, str, Attribute], list[State]]

    def __init__(self) -> None:
        self._checkpoints: dict[tuple[str, str, Version], State] = {}
        self._intents: dict[str, UnfinishedCheckpoint] = {}
        self._lock = threading.RLock()

    def begin_checkpoint(self, line: str, partition: str, paths: Sequence[str]) -> str:
        check_ids((line, partition))
        for path in paths:
            check_text(path)
        intent = f"{line}/{partition}/{new_id()}"
        begun = time.time_ns() // 1_000_000
        self._intents[intent] = UnfinishedCheckpoint(intent, line, partition, tuple(paths), begun, False)
        return intent

    def put_checkpoint(
        self, line: str, partition: str, version: Version, record: pb.TableCheckpoint, intent: str | None = None
    ) -> None:
        check_ids((line, partition))
        if not isinstance(record, pb.TableCheckpoint):
            raise Invalid("a checkpoint is a TableCheckpoint", found=type(record).__name__)
        with self._lock:
            deltas = [one for one in self.states.get((line, partition, Attribute.DATA), []) if one.version == version]
            if not deltas or _snapshot(deltas[0].record) != _snapshot(record):
                raise Invalid("a checkpoint stands for no delta", subject=partition, found=version)
            new, known = State(_copied(record), version, line), self._checkpoints.get((line, partition, version))
            if intent is not None:
                self._check_intent(intent, line, partition, new == known)
            self._checkpoints[line, partition, version] = new
            self._intents.pop(intent or "", None)

    def _check_intent(self, intent: str, line: str, partition: str, done: bool) -> None:
        if check_intent(intent)[:2] != (line, partition):
            raise Invalid("an intent is of another line or partition", subject=intent)
        known = self._intents.get(intent)
        if not done and (known is None or known.abandoned):
            raise Invalid("a checkpoint was given up", subject=intent)

    def checkpoints(self, line: str, partition: str) -> list[State]:
        check_ids((line, partition))
        own = [state for unit, state in self._checkpoints.items() if unit[:2] == (line, partition)]
        newest = sorted(own, key=lambda state: state.version, reverse=True)
        return [replace(state, record=_copied(state.record)) for state in newest]

    def drop_checkpoint(self, line: str, partition: str, version: Version) -> None:
        check_ids((line, partition))
        self._checkpoints.pop((line, partition, version), None)

    def unfinished_checkpoints(self, older_than_seconds: float) -> list[UnfinishedCheckpoint]:
        latest = time.time_ns() // 1_000_000 - older_than_seconds * 1000
        return [one for one in self._intents.values() if one.begun_ms <= latest]

    def abandon_checkpoint(self, intent: str) -> None:
        check_intent(intent)
        with self._lock:
            if intent not in self._intents:
                raise NotFound("a checkpoint is not unfinished", subject=intent)
            self._intents[intent] = replace(self._intents[intent], abandoned=True)

    def end_checkpoint(self, intent: str) -> None:
        check_intent(intent)
        self._intents.pop(intent, None)

    def nearest_checkpoint(self, sight: Sight, partition: str) -> State | None:
        for at in sight:
            seen = [one for one in self.checkpoints(at.line, partition) if one.version <= at.version]
            if seen:
                return seen[0]
        return None

    def erase_checkpoints(self, line: str, partitions: Sequence[str] | None) -> None:
        """Those of some partitions of a line, or of all."""
        for unit in [one for one in self._checkpoints if one[0] == line]:
            if partitions is None or unit[1] in partitions:
                del self._checkpoints[unit]


def check_intent(intent: str) -> tuple[str, ...]:
    parts = tuple(intent.split("/"))
    if len(parts) != 3:
        raise Invalid("this is not an intent", found=repr(intent))
    for part in parts:
        id_element(part)
    return parts


def _snapshot(record: Message) -> tuple[int, int]:
    numbered = cast("pb.TableHistory | pb.TableCheckpoint", record)
    return numbered.snapshot_id, numbered.sequence_number


def _copied(record: Message) -> Message:
    copy = type(record)()
    copy.CopyFrom(record)
    return copy
