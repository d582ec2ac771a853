"""The embedded store: one SQLite file, many threads and processes, durable at every commit.

    kv(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID
    log(version INTEGER PRIMARY KEY, time INTEGER NOT NULL, keys BLOB, sum INTEGER)

`log` has one row per commit; the newest row's version is the store's. `keys` is what the commit wrote (`Written`), kept
for the newest commits only and NULL afterwards. `sum` is that of all rows after the commit. A transaction reads a WAL
snapshot and buffers its writes. The write lock is held only while they are validated and applied.
"""

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw

from lakebed.errors import OutcomeUnknown, TimedOut, Unavailable
from lakebed.store import limits
from lakebed.store.buffered import BufferedTransaction, Snapshot
from lakebed.store.conflicts import Batch, ReadSet, WriteSet, Written
from lakebed.store.sqlite.check import check_file
from lakebed.store.sqlite.copy import copy_database
from lakebed.store.sqlite.failures import error_for, errors_translated
from lakebed.store.sqlite.file import DatabaseFile
from lakebed.store.sqlite.format import FORMAT_VERSION
from lakebed.store.sqlite.sums import Tally, commit_hash, rewrite_times, rows_sum, signed, tally_of
from lakebed.store.sqlite.wholeness import newest_version
from lakebed.store.store import Store
from lakebed.store.transaction import STAMP_BYTES, Committed, Entry, RangeRead, Stale, Transaction

LOGGED_COMMITS = 2048
LOGGED_BYTES = 64_000_000
TRIM_EVERY = 256
TRIM_BYTES = 1_000_000

# How many commits are validated under the write lock, at 4 µs each. If there are more, they are validated before the
# lock is taken again. Others may have committed many more by then, so the last attempt validates all under the lock.
_TAILS = (16, 64, math.inf)

_SCANS = {
    False: "SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k LIMIT ?",
    True: "SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT ?",
}
_PUT = "INSERT INTO kv VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"


class SQLiteStore(Store):
    """A store in the file at `path`, which is created, with its folder, if it is missing."""

    def __init__(self, path: str | Path, *, lock_seconds: float = 5.0) -> None:
        self._file = self._opened(Path(path), lock_seconds)
        self.url = f"sqlite:{self._file.path}"

    def _opened(self, path: Path, lock_seconds: float) -> DatabaseFile:
        return DatabaseFile(path, lock_seconds)

    def begin(self) -> Transaction:
        self._file.require_open()
        return BufferedTransaction(self)

    def settle(self) -> None:
        with self.turn(), self._file.borrowed_connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the write lock, whose waiters get it in the order in which they asked."""
        self._file.require_in_place()  # before the lock file is created, which would hide the problem
        with ExitStack() as held:
            with errors_translated(self._file.path):
                held.enter_context(self._file.write_lock)
            yield

    def set_times(self, times: Mapping[bytes, int]) -> None:
        if not times:
            return
        with self.turn(), self._file.borrowed_connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._file.require_not_behind(newest_version(connection))
            rewrite_times(connection, {int.from_bytes(stamp): time for stamp, time in times.items()})
            _end(connection)

    def copy_to(self, path: str) -> None:
        copy_database(self._file, Path(path))

    def check(self) -> list[str]:
        return check_file(self._file)

    def close(self) -> None:
        self._file.close()

    def open_snapshot(self) -> Snapshot:
        return _SQLiteSnapshot(self._file)

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        self._file.require_in_place()  # before the lock file is created, which would hide the problem
        try:
            return self._commit(reads, writes, None if since is None else int.from_bytes(since))
        except OSError as error:  # of the lock file
            raise error_for(self._file.path, error) from error

    def _commit(self, reads: ReadSet, writes: WriteSet, checked: int | None) -> Committed:
        for tail in _TAILS:
            with self._file.write_lock, self._file.borrowed_connection() as connection:
                committed = _commit(self._file, connection, reads, writes, checked, tail)
                if committed is not None:
                    self._file.require_kept()
                    self._file.note(int.from_bytes(committed.stamp))
                    self._file.shrink_wal(connection)
                    return committed
            with self._file.borrowed_connection() as connection:
                checked = _validate(connection, reads, checked or 0)
        raise AssertionError("the last tail has no bound")


def _commit(
    file: DatabaseFile,
    connection: apsw.Connection,
    reads: ReadSet,
    writes: WriteSet,
    checked: int | None,
    tail: float,
) -> Committed | None:
    """Validate against the commits after `checked` and write; None if there are more than `tail` of them."""
    tally = tally_of(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version, earlier, total = _newest(connection)
        file.require_not_behind(version)
        if checked is not None and version - checked > tail:
            connection.execute("ROLLBACK")
            return None
        if checked is not None and checked < version:
            _validate(connection, reads, checked)
        stamp = _stamp(version + 1)
        committed = Committed(stamp, max(earlier, time.time_ns() // 1000))
        _write(connection, writes.batch(stamp), version + 1, committed.time, total, tally)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    _end(connection)
    return committed


def _end(connection: apsw.Connection) -> None:
    try:
        connection.execute("COMMIT")
    except (apsw.FullError, apsw.BusyError):
        # The commit frame was not written completely, so recovery will not find it.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    except apsw.Error as error:
        # After a failed sync the complete frames may be in the WAL, where recovery would find them.
        if _overwrites(connection):
            raise Unavailable(
                f"the database failed while a commit was being written: {error}; nothing was written",
                advice="Check the disk, then run again.",
            ) from error
        raise OutcomeUnknown(
            f"the database failed while a commit was being written: {error}",
            advice="The commit took effect wholly or not at all. Look it up by its event id.",
        ) from error


def _overwrites(connection: apsw.Connection) -> bool:
    """Whether other frames could overwrite those of a failed commit, so that it can't come back."""
    try:
        connection.execute(f"BEGIN IMMEDIATE; PRAGMA user_version = {FORMAT_VERSION}; COMMIT")
    except apsw.Error:
        return False
    return True


def _write(connection: apsw.Connection, batch: Batch, version: int, time: int, total: int, tally: Tally) -> None:
    tally.total = 0
    for range in batch.cleared_ranges:
        connection.execute("DELETE FROM kv WHERE k >= ? AND k < ?", (range.begin, range.end))
    for key in batch.cleared:
        connection.execute("DELETE FROM kv WHERE k = ?", (key,))
    if batch.entries:
        connection.executemany(_PUT, batch.entries.items())
    keys = batch.written.encode()
    total = signed(total + tally.total + rows_sum(batch.entries.items()) + commit_hash(version, time))
    connection.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (version, time, keys, total))
    if version % TRIM_EVERY == 0 or len(keys) > TRIM_BYTES:
        _trim(connection, version)


def _trim(connection: apsw.Connection, version: int) -> None:
    """Forget what old commits wrote, so that the log stays small; their times stay."""
    total, oldest = 0, version
    recent = "SELECT version, length(keys) FROM log WHERE keys IS NOT NULL AND version > ? ORDER BY version DESC"
    rows: list[Any] = connection.execute(recent, (version - LOGGED_COMMITS,)).fetchall()
    for kept, size in rows:
        total += size
        if total > LOGGED_BYTES and kept != version:
            break
        oldest = kept
    since = oldest - LOGGED_COMMITS - 2 * TRIM_EVERY
    connection.execute(
        "UPDATE log SET keys = NULL WHERE version BETWEEN ? AND ? AND keys IS NOT NULL", (since, oldest - 1)
    )


def _validate(connection: apsw.Connection, reads: ReadSet, since: int) -> int:
    """The newest version; `Stale` if a commit after `since` wrote something that was read."""
    last = since
    for version, keys in connection.execute(
        "SELECT version, keys FROM log WHERE version > ? ORDER BY version", (since,)
    ):
        if keys is None:
            raise Stale("the snapshot is older than the log of commits")
        if reads.meets(Written.decode(keys)):
            raise Stale("a key or range that was read has changed")
        last = version
    return last


def _newest(connection: apsw.Connection) -> tuple[int, int, int]:
    """The newest commit's version, time and sum; zeros before the first."""
    row: Any = connection.execute("SELECT version, time, sum FROM log ORDER BY version DESC LIMIT 1").fetchone()
    return row or (0, 0, 0)


def _stamp(version: int) -> bytes:
    return version.to_bytes(STAMP_BYTES)


class _SQLiteSnapshot(Snapshot):
    """A read transaction on its own connection. It ends at a deadline: while open, it keeps the WAL from shrinking."""

    def __init__(self, file: DatabaseFile) -> None:
        self.ends_at = time.monotonic() + 2 * limits.TRANSACTION_SECONDS
        self._file = file
        self._lock = threading.Lock()
        file.take_locks_again()
        with file.calls:
            self._generation = file.generation
            seen = file.seen
            connection = file.connection()
            try:
                connection.execute("BEGIN")
                self._version = newest_version(connection)
                file.has_read(connection)
                file.require_seen(self._version, seen)
            except BaseException:
                file.release(connection)
                raise
        self._connection: apsw.Connection | None = connection
        self.stamp = _stamp(self._version)
        file.deadlines.add(self)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock, self._file.calls:
            execute = self._live().execute
            found = [execute("SELECT v FROM kv WHERE k = ?", (key,)).get for key in keys]
            self._file.require_unmoved(self._generation)
            return found

    def scan_many(self, reads: Sequence[RangeRead]) -> list[list[Entry]]:
        with self._lock, self._file.calls:
            execute: Any = self._live().execute
            found: list[list[Entry]] = [
                execute(_SCANS[read.reverse], (read.range.begin, read.range.end, read.limit or -1)).fetchall()
                for read in reads
            ]
            self._file.require_unmoved(self._generation)
            return found

    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        with self._lock, self._file.calls:
            return [self._time(min(int.from_bytes(stamp), self._version)) for stamp in stamps]

    def stamp_at(self, time: int) -> bytes | None:
        """Versions have no gaps and times never decrease, so this is a binary search."""
        low, high = 0, self._version
        with self._lock, self._file.calls:
            while low < high:
                middle = (low + high + 1) // 2
                if self._time(middle) <= time:
                    low = middle
                else:
                    high = middle - 1
        return _stamp(low) if low else None

    def close(self) -> None:
        with self._lock, self._file.calls:
            connection, self._connection = self._connection, None
            if connection is not None and self._generation == self._file.generation:
                self._file.release(connection)
        self._file.deadlines.remove(self)

    def _time(self, version: int) -> int:
        found = self._live().execute("SELECT time FROM log WHERE version = ?", (version,)).get
        return found or 0

    def _live(self) -> apsw.Connection:
        self._file.require_open()
        if self._generation != self._file.generation:
            raise Stale("the process forked, or lost its locks, which ends its snapshots")
        if self._connection is None:
            raise TimedOut("a snapshot was closed because it was too old", advice="Begin again.")
        self._file.require_locks()
        return self._connection
