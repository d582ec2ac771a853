"""A store in nothing but files: each commit is the next numbered slot, put if it is absent.

`commits/<20 digits>`: the first file with a number is that commit, for ever. `checkpoints/<20 digits>` is the state
after one. docs/internals/slots.md has the protocol.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import time_ns
from uuid import uuid4

from lakebed import forks
from lakebed.errors import AlreadyExists, Corrupt, LakebedError, NotFound
from lakebed.files import Files
from lakebed.metastore.files.slot import Slot, decode_slot
from lakebed.store.buffered import Snapshot
from lakebed.store.conflicts import Batch, ReadSet, WriteSet
from lakebed.store.memory import MemoryStore, next_stamp
from lakebed.store.store import check_order
from lakebed.store.transaction import STAMP_BYTES, Committed

COMMITS, CHECKPOINTS = "commits", "checkpoints"

HINT = f"{CHECKPOINTS}/newest"
"""The number of a checkpoint, as text. It may be old: then more slots are read."""

CHECKPOINT_EVERY = 256
READ_AHEAD = 32

_log = logging.getLogger("lakebed.metastore")


class SlotStore(MemoryStore):
    """The state of all slots in memory, brought up to date before each read; one put decides each commit."""

    def __init__(self, files: Files) -> None:
        super().__init__()
        self.url = files.url
        self._files = files
        self._writer = uuid4().bytes
        self._lock = forks.recursive_lock()
        self._load()

    def settle(self) -> None:
        """Put an empty slot: a writer that already has its time, and is late, loses its number and takes a new time."""
        self.apply(ReadSet(), WriteSet(), None)

    def set_times(self, times: Mapping[bytes, int]) -> None:
        """A commit like any other: its slot has the times, and no writes."""
        self._require_open()
        with self._lock:
            self._catch_up()
            self._win(WriteSet(), lambda: check_order(self._times_with(times)), times)

    def open_snapshot(self) -> Snapshot:
        self._require_open()
        with self._lock:
            self._catch_up()
            return super().open_snapshot()

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        """Put the writes into the next slot; who loses it reads the winner's, looks whether they meet, and goes on."""

        def check() -> None:
            if since is not None and since != self._newest():
                self._validate(reads, since)

        self._require_open()
        with self._lock:
            committed = self._win(writes, check)
            if int.from_bytes(committed.stamp) % CHECKPOINT_EVERY == 0:
                self._checkpoint(committed.stamp)
            return committed

    def _win(self, writes: WriteSet, check: Callable[[], None], times: Mapping[bytes, int] | None = None) -> Committed:
        """Put the writes into the first free slot, if the check passes on the state before it."""
        while True:
            check()
            stamp = next_stamp(self._newest())
            slot = Slot(self._writer, self._moment(times or {}), writes.batch(stamp), times or {})
            try:
                self._files.put_if_absent(slot_path(stamp), slot.encode())
            except AlreadyExists:
                self._catch_up()
            else:
                return self._take(stamp, slot)

    def _moment(self, times: Mapping[bytes, int]) -> int:
        """The time of a commit now: the clock's, unless it is behind the newest time, by the times that it gives."""
        return max([time_ns() // 1000, *self._times_with(times)[-1:]])

    def _times_with(self, times: Mapping[bytes, int]) -> list[int]:
        return [times.get(one.stamp, one.time) for one in (self._commits if times else self._commits[-1:])]

    def _take(self, stamp: bytes, slot: Slot) -> Committed:
        if slot.times:
            super().set_times(slot.times)
        return self._write(slot.batch, stamp, slot.time)

    # Reading slots

    def _catch_up(self) -> None:
        """Take the slots that others have put. There are no gaps: the first number that is absent ends them."""
        ahead = 1
        while True:
            first = int.from_bytes(self._newest()) + 1
            for number, slot in self._slots(first, ahead):
                if slot is None:
                    return
                self._take(number.to_bytes(STAMP_BYTES), slot)
            ahead = min(2 * ahead, READ_AHEAD)

    def _slots(self, first: int, count: int) -> Iterator[tuple[int, Slot | None]]:
        numbers = range(first, first + count)
        if count == 1:
            yield first, self._slot(first)
            return
        with ThreadPoolExecutor(count) as pool:
            yield from zip(numbers, pool.map(self._slot, numbers), strict=True)

    def _slot(self, number: int) -> Slot | None:
        path = slot_path(number.to_bytes(STAMP_BYTES))
        try:
            return decode_slot(path, self._files.read(path))
        except NotFound:
            return None

    # Checkpoints

    def _load(self) -> None:
        """Begin with the checkpoint that the hint names; without one, all slots are read."""
        try:
            hint = self._files.read(HINT)
        except NotFound:
            return
        if not hint.isdigit():
            raise Corrupt("the hint at a checkpoint is damaged", subject=HINT, advice="Delete it: slots are whole.")
        path = f"{CHECKPOINTS}/{int(hint):020}"
        found = decode_slot(path, self._files.read(path))
        self._commits += [Committed(stamp, time) for stamp, time in found.times.items()]
        newest = self._commits.pop()
        self._write(found.batch, newest.stamp, newest.time)
        self._log.clear()

    def _checkpoint(self, stamp: bytes) -> None:
        """Write the state after a commit. It is for speed: what fails is logged, and the next one is tried later."""
        entries = {key: value for key in self._keys if (value := self._values[key][-1][1]) is not None}
        times = {one.stamp: one.time for one in self._commits}
        state = Slot(self._writer, self._commits[-1].time, Batch((), (), entries), times)
        number = int.from_bytes(stamp)
        try:
            with suppress(AlreadyExists):
                self._files.put_if_absent(f"{CHECKPOINTS}/{number:020}", state.encode())
            self._files.put(HINT, b"%d" % number)
        except LakebedError as error:
            _log.warning("a checkpoint of %s failed: %s", self.url, error)


def slot_path(stamp: bytes) -> str:
    """The path of a commit's slot."""
    return f"{COMMITS}/{int.from_bytes(stamp):020}"
