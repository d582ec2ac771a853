"""A transaction that reads a snapshot and buffers its writes, for backends without transactions of this kind."""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from lakebed.errors import Invalid, TimedOut
from lakebed.store import limits
from lakebed.store.conflicts import ReadSet, WriteSet
from lakebed.store.transaction import STAMP_BYTES, Committed, Entry, KeyRange, Page, RangeRead, Reads, Transaction

_MERGED_AT_LEAST = 16  # entries read from the snapshot when own writes may hide some of them


class Snapshot(ABC):
    """A backend's state as of one commit."""

    stamp: bytes

    @abstractmethod
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    @abstractmethod
    def scan_many(self, reads: Sequence[RangeRead]) -> list[list[Entry]]: ...

    def scan(self, read: RangeRead) -> list[Entry]:
        return self.scan_many((read,))[0]

    @abstractmethod
    def times_of(self, stamps: Sequence[bytes]) -> list[int]: ...

    @abstractmethod
    def stamp_at(self, time: int) -> bytes | None: ...

    @abstractmethod
    def close(self) -> None: ...


class Backend(Protocol):
    """What a buffered transaction needs from its store."""

    def open_snapshot(self) -> Snapshot: ...

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        """Commit `writes` unless something in `reads` was written after `since` (None: nothing was read)."""
        ...


class BufferedTransaction(Transaction):
    """Takes its snapshot at the first read; a transaction that only writes never needs one."""

    def __init__(self, backend: Backend) -> None:
        self.reads = ReadSet()
        self.writes = WriteSet()
        self._backend = backend
        self._source: Snapshot | None = None
        self._began = time.monotonic()
        self._process = os.getpid()
        self._size = 0
        self._ended = False

    # Reading

    @property
    def snapshot(self) -> Reads:
        return _SnapshotReads(self)

    @property
    def read_stamp(self) -> bytes:
        return self._open().stamp

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values = self.peek_many(keys)
        for key in keys:
            self.add_read_conflict_key(key)
        return values

    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        pages = self.peek_ranges(reads)
        for read, page in zip(reads, pages, strict=True):
            self.add_read_conflict_range(read.range if page.rest is None else read.up_to(page.entries[-1][0]))
        return pages

    def peek_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        source = self._open()
        for key in keys:
            limits.check_key(key)
        if not self.writes:
            return source.get_many(keys)
        own, cleared = self.writes.values, self.writes.cleared_ranges
        for key in keys:
            if self.writes.pends(key):
                raise _pending(KeyRange(key, key))
        fresh = [key for key in keys if key not in own and not cleared.contain(key)]
        found = dict(zip(fresh, source.get_many(fresh), strict=True))
        return [own[key] if key in own else found.get(key) for key in keys]

    def peek_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        source = self._open()
        if self.writes:
            return [self._page(read, self._with_own_writes(source, read)) for read in reads]
        return [self._page(read, entries) for read, entries in zip(reads, source.scan_many(reads), strict=True)]

    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        return self._open().times_of(stamps)

    def stamp_at(self, time: int) -> bytes | None:
        return self._open().stamp_at(time)

    def _open(self) -> Snapshot:
        self._require_open()
        if self._source is None:
            self._source = self._backend.open_snapshot()
        return self._source

    @staticmethod
    def _page(read: RangeRead, entries: list[Entry]) -> Page:
        cut = read.limit is not None and len(entries) >= read.limit
        return Page(entries, read.without(entries[-1][0]) if cut else None)

    def _with_own_writes(self, source: Snapshot, read: RangeRead) -> list[Entry]:
        """The snapshot's entries with own writes applied; keeps reading while own clears leave too few."""
        if self.writes.pends_in(read.range):
            raise _pending(read.range)
        if read.limit is None:
            return self._overlay(source.scan(read), read.range, read.reverse)
        entries: list[Entry] = []
        rest, size = read.range, max(read.limit, _MERGED_AT_LEAST)
        while True:
            part = RangeRead(rest, size, read.reverse)
            found = source.scan(part)
            last = found[-1][0] if len(found) == size else None
            entries += self._overlay(found, rest if last is None else part.up_to(last), read.reverse)
            if last is None or len(entries) >= read.limit:
                return entries[: read.limit]
            rest, size = part.without(last), 2 * size

    def _overlay(self, found: list[Entry], covered: KeyRange, reverse: bool) -> list[Entry]:
        cleared = self.writes.cleared_ranges
        seen: dict[bytes, bytes | None] = {key: value for key, value in found if not cleared.contain(key)}
        seen.update((key, self.writes.values[key]) for key in self.writes.within(covered))
        return sorted(((key, value) for key, value in seen.items() if value is not None), reverse=reverse)

    # Writing

    def set(self, key: bytes, value: bytes) -> None:
        self._admit(key, value)
        self.writes.put(key, value)

    def clear(self, key: bytes) -> None:
        self._admit(key, b"")
        self.writes.put(key, None)

    def clear_range(self, range: KeyRange) -> None:
        limits.check_range(range)
        if self.writes.pends_key(range):
            raise _pending(range)
        self._grow(2 * (len(range.begin) + len(range.end)))
        self.writes.clear_range(range)

    def set_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        _check_offset(key, offset)
        self._admit(key, value)
        self.writes.put_stamped_key(key, offset, value)

    def set_stamped_value(self, key: bytes, value: bytes, offset: int) -> None:
        _check_offset(value, offset)
        self._admit(key, value)
        self.writes.put_stamped_value(key, value, offset)

    def add_read_conflict_key(self, key: bytes) -> None:
        if key not in self.reads.keys:
            limits.check_key(key)
            self._grow(2 * len(key) + 1)
            self.reads.keys.add(key)

    def add_read_conflict_range(self, range: KeyRange) -> None:
        limits.check_range(range)
        self._grow(len(range.begin) + len(range.end))
        self.reads.ranges.add(range)

    def _admit(self, key: bytes, value: bytes) -> None:
        limits.check_key(key)
        limits.check_value(key, value)
        # FoundationDB counts the key of a write two more times: as the range that other transactions conflict with.
        self._grow(3 * len(key) + 1 + len(value))

    def _grow(self, size: int) -> None:
        # A small commit comes here twenty times, so the usual case is tested inline, without further calls.
        if self._ended or time.monotonic() - self._began > limits.TRANSACTION_SECONDS:
            self._require_open()
        size += self._size
        if size > limits.TRANSACTION_BYTES:
            limits.check_transaction(size)
        self._size = size

    # Ending

    def commit(self) -> Committed | None:
        self._require_open()
        since = self._open().stamp if self.reads and self.writes else None
        self.close()
        return self._backend.apply(self.reads, self.writes, since) if self.writes else None

    def close(self) -> None:
        self._ended = True
        if self._source is not None and self._process == os.getpid():
            self._source.close()

    def _require_open(self) -> None:
        if self._ended:
            raise Invalid("this store transaction has ended", advice="Begin a new one.")
        if self._process != os.getpid():
            # Otherwise parent and child would both commit it.
            raise Invalid("a store transaction can't be used in a forked process", advice="Begin a new one there.")
        took = time.monotonic() - self._began
        if took > limits.TRANSACTION_SECONDS:
            self.close()
            raise TimedOut(
                "a store transaction took too long; nothing was written",
                expected=f"at most {limits.TRANSACTION_SECONDS:g} s",
                found=f"{took:.1f} s",
                advice="Split the work into several transactions, or try again when the machine is less busy.",
            )


class _SnapshotReads(Reads):
    def __init__(self, transaction: BufferedTransaction) -> None:
        self._transaction = transaction

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._transaction.peek_many(keys)

    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]:
        return self._transaction.peek_ranges(reads)


def _check_offset(template: bytes, offset: int) -> None:
    if offset < 0 or offset + STAMP_BYTES > len(template):
        raise Invalid(
            "a stamp does not fit",
            expected=f"an offset from 0 to {len(template) - STAMP_BYTES}",
            found=offset,
        )


def _pending(range: KeyRange) -> Invalid:
    return Invalid(
        "a stamped key or value can't be read or cleared by range before its transaction commits",
        subject=limits.shown(range.begin),
        advice="Read it in a later transaction.",
    )
