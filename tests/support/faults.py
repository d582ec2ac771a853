"""Stores that wrap another one: to lose the answer of a commit, and to see what commits read and write."""

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from lakebed.errors import OutcomeUnknown
from lakebed.store import Committed, KeyRange, Page, RangeRead, Reads, Store, Transaction
from lakebed.store.conflicts import ReadSet, WriteSet, Written


class Fault(Enum):
    """When the connection to the store is lost; both look the same to the caller."""

    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"


class WrappedStore(Store):
    """Another store under the same interface. Closing it closes the other."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.url = store.url

    def begin(self) -> Transaction:
        return WrappedTransaction(self.store.begin())

    def settle(self) -> None:
        self.store.settle()

    def check(self) -> list[str]:
        return self.store.check()

    def set_times(self, times: Mapping[bytes, int]) -> None:
        self.store.set_times(times)

    def close(self) -> None:
        self.store.close()


class WrappedTransaction(Transaction):
    """Another transaction under the same interface."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    @property
    def snapshot(self) -> Reads:
        return self.transaction.snapshot

    @property
    def read_stamp(self) -> bytes:
        return self.transaction.read_stamp

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self.transaction.get_many(keys)

    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        return self.transaction.get_ranges(reads)

    def set(self, key: bytes, value: bytes) -> None:
        self.transaction.set(key, value)

    def clear(self, key: bytes) -> None:
        self.transaction.clear(key)

    def clear_range(self, range: KeyRange) -> None:
        self.transaction.clear_range(range)

    def set_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        self.transaction.set_stamped_key(key, offset, value)

    def set_stamped_value(self, key: bytes, value: bytes, offset: int) -> None:
        self.transaction.set_stamped_value(key, value, offset)

    def add_read_conflict_key(self, key: bytes) -> None:
        self.transaction.add_read_conflict_key(key)

    def add_read_conflict_range(self, range: KeyRange) -> None:
        self.transaction.add_read_conflict_range(range)

    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        return self.transaction.times_of(stamps)

    def stamp_at(self, time: int) -> bytes | None:
        return self.transaction.stamp_at(time)

    def commit(self) -> Committed | None:
        return self.transaction.commit()

    def close(self) -> None:
        self.transaction.close()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A commit with what it read and what it wrote."""

    committed: Committed
    reads: ReadSet
    written: Written

    def meets(self, other: "Recorded") -> bool:
        """Whether the two share a key that one of them writes: run at once, one might have lost to the other."""
        mine = ReadSet(set(self.written.keys))
        for range in self.written.ranges:
            mine.ranges.add(range)
        return self.reads.meets(other.written) or other.reads.meets(self.written) or mine.meets(other.written)


class RecordingStore(WrappedStore):
    """A store that keeps, for every commit made through it, its conflict sets: `commits`, oldest first."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits: list[Recorded] = []

    def begin(self) -> Transaction:
        return _RecordingTransaction(self.store.begin(), self.commits)


class _WritingTransaction(WrappedTransaction):
    """Keeps what it writes."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.writes = WriteSet()

    def set(self, key: bytes, value: bytes) -> None:
        super().set(key, value)
        self.writes.put(key, value)

    def clear(self, key: bytes) -> None:
        super().clear(key)
        self.writes.put(key, None)

    def clear_range(self, range: KeyRange) -> None:
        super().clear_range(range)
        self.writes.clear_range(range)

    def set_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        super().set_stamped_key(key, offset, value)
        self.writes.put_stamped_key(key, offset, value)

    def set_stamped_value(self, key: bytes, value: bytes, offset: int) -> None:
        super().set_stamped_value(key, value, offset)
        self.writes.put_stamped_value(key, value, offset)


class _RecordingTransaction(_WritingTransaction):
    def __init__(self, transaction: Transaction, commits: list[Recorded]) -> None:
        super().__init__(transaction)
        self._reads = ReadSet()
        self._commits = commits

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values = super().get_many(keys)
        self._reads.keys.update(keys)
        return values

    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        pages = super().get_ranges(reads)
        for read, page in zip(reads, pages, strict=True):
            self._reads.ranges.add(read.range if page.rest is None else read.up_to(page.entries[-1][0]))
        return pages

    def add_read_conflict_key(self, key: bytes) -> None:
        super().add_read_conflict_key(key)
        self._reads.keys.add(key)

    def add_read_conflict_range(self, range: KeyRange) -> None:
        super().add_read_conflict_range(range)
        self._reads.ranges.add(range)

    def commit(self) -> Committed | None:
        committed = super().commit()
        if committed is not None:
            written = self.writes.batch(committed.stamp).written
            self._commits.append(Recorded(committed, self._reads, written))
        return committed


class FaultyStore(WrappedStore):
    """A store that loses the answers of the next commits that write something, as `arm` said."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._armed: deque[Fault] = deque()
        self._lock = threading.Lock()

    def arm(self, *faults: Fault) -> None:
        """One fault for each of the next commits, in this order."""
        with self._lock:
            self._armed.extend(faults)

    @property
    def armed(self) -> tuple[Fault, ...]:
        """The faults that are yet to come."""
        return tuple(self._armed)

    def begin(self) -> Transaction:
        return _FaultyTransaction(self.store.begin(), self)

    def take_fault(self) -> Fault | None:
        with self._lock:
            return self._armed.popleft() if self._armed else None


class _FaultyTransaction(_WritingTransaction):
    def __init__(self, transaction: Transaction, store: FaultyStore) -> None:
        super().__init__(transaction)
        self._store = store

    def commit(self) -> Committed | None:
        fault = self._store.take_fault() if self.writes else None
        if fault is None:
            return super().commit()
        # Either way nothing is written if this raises, as when it lost to another writer: that answer arrives.
        if fault is Fault.BEFORE_COMMIT:
            self.close()
        else:
            super().commit()
        raise OutcomeUnknown(
            f"the answer of a commit was lost: {fault.value}",
            advice="The commit took effect wholly or not at all; look it up by its event id.",
        )
