"""The store in memory: the model for tests of the other stores, and a lake that lives as long as its process."""

import time
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from lakebed import forks
from lakebed.errors import Invalid
from lakebed.store.buffered import BufferedTransaction, Snapshot
from lakebed.store.conflicts import Batch, ReadSet, WriteSet, Written
from lakebed.store.store import Store, check_order
from lakebed.store.transaction import STAMP_BYTES, Committed, Entry, RangeRead, Stale, Transaction

LOGGED_COMMITS = 2048

_Values = list[tuple[bytes, bytes | None]]


class MemoryStore(Store):
    """Keeps every value that a key ever had, by stamp: a snapshot is only a stamp, and nothing is ever freed."""

    url = "memory:"

    def __init__(self) -> None:
        self._lock: AbstractContextManager[bool] = forks.lock()
        self._keys: list[bytes] = []
        self._values: dict[bytes, _Values] = {}
        self._commits: list[Committed] = []
        self._log: deque[tuple[bytes, Written]] = deque(maxlen=LOGGED_COMMITS)
        self._closed = False

    def begin(self) -> Transaction:
        self._require_open()
        return BufferedTransaction(self)

    def settle(self) -> None:
        with self._lock:
            self._require_open()

    def set_times(self, times: Mapping[bytes, int]) -> None:
        self._require_open()
        with self._lock:
            changed = [Committed(one.stamp, times.get(one.stamp, one.time)) for one in self._commits]
            check_order([one.time for one in changed])
            self._commits[:] = changed

    def close(self) -> None:
        self._closed = True

    def open_snapshot(self) -> Snapshot:
        self._require_open()
        with self._lock:
            return _MemorySnapshot(self, self._newest())

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        self._require_open()
        with self._lock:
            newest = self._newest()
            if since is not None and since != newest:
                self._validate(reads, since)
            stamp = next_stamp(newest)
            earlier = self._commits[-1].time if self._commits else 0
            return self._write(writes.batch(stamp), stamp, max(earlier, time.time_ns() // 1000))

    def _require_open(self) -> None:
        if self._closed:
            raise Invalid("the store is closed", subject=self.url, advice="Open it again.")

    def _newest(self) -> bytes:
        return self._commits[-1].stamp if self._commits else bytes(STAMP_BYTES)

    def _validate(self, reads: ReadSet, since: bytes) -> None:
        if int.from_bytes(since) + 1 < int.from_bytes(self._log[0][0]):
            raise Stale("the snapshot is older than the log of commits")
        if any(stamp > since and reads.meets(written) for stamp, written in self._log):
            raise Stale("a key or range that was read has changed")

    def _write(self, batch: Batch, stamp: bytes, moment: int) -> Committed:
        for range in batch.cleared_ranges:
            for key in self._keys[bisect_left(self._keys, range.begin) : bisect_left(self._keys, range.end)]:
                self._put(key, None, stamp)
        for key in batch.cleared:
            self._put(key, None, stamp)
        for key, value in batch.entries.items():
            self._put(key, value, stamp)
        self._log.append((stamp, batch.written))
        self._commits.append(Committed(stamp, moment))
        return self._commits[-1]

    def _put(self, key: bytes, value: bytes | None, stamp: bytes) -> None:
        if key not in self._values:
            insort(self._keys, key)
            self._values[key] = []
        values = self._values[key]
        if values and values[-1][0] == stamp:
            values.pop()
        values.append((stamp, value))


def next_stamp(stamp: bytes) -> bytes:
    return (int.from_bytes(stamp) + 1).to_bytes(STAMP_BYTES)


class _MemorySnapshot(Snapshot):
    def __init__(self, store: MemoryStore, stamp: bytes) -> None:
        self._store = store
        self.stamp = stamp

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._store._require_open()
        with self._store._lock:
            return [self._at(key) for key in keys]

    def scan_many(self, reads: Sequence[RangeRead]) -> list[list[Entry]]:
        return [self._scan(read) for read in reads]

    def _scan(self, read: RangeRead) -> list[Entry]:
        self._store._require_open()
        entries: list[Entry] = []
        with self._store._lock:
            keys = self._store._keys
            found = keys[bisect_left(keys, read.range.begin) : bisect_left(keys, read.range.end)]
            for key in reversed(found) if read.reverse else found:
                if len(entries) == read.limit:
                    break
                value = self._at(key)
                if value is not None:
                    entries.append((key, value))
        return entries

    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        commits = self._store._commits
        places = [min(int.from_bytes(stamp), int.from_bytes(self.stamp)) for stamp in stamps]
        return [commits[place - 1].time if place else 0 for place in places]

    def stamp_at(self, time: int) -> bytes | None:
        commits = self._store._commits
        place = bisect_right(commits, time, hi=int.from_bytes(self.stamp), key=lambda commit: commit.time)
        return commits[place - 1].stamp if place else None

    def close(self) -> None:
        pass

    def _at(self, key: bytes) -> bytes | None:
        values = self._store._values.get(key, [])
        place = bisect_right(values, self.stamp, key=lambda value: value[0])
        return values[place - 1][1] if place else None
