"""The lock that lets one writer at a time into a file, among threads and processes."""

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lakebed.errors import TimedOut
from lakebed.store.sqlite.holders import WRITER, holders, named
from lakebed.store.sqlite.paths import beside
from lakebed.store.sqlite.permissions import permissions_beside
from lakebed.store.sqlite.turns import Turns


class WriteLock:
    """A lock on a file of its own, created when it is first taken; the kernel frees it when its holder dies.

    Threads of a process get it in the order in which they asked. The thread that has it may take it again.

    It is taken before SQLite's own lock, whose waiters back off for up to 100 ms, so that one process starved
    (slowest / fastest 0.09). It is for fairness, not safety: if the file is deleted, BEGIN IMMEDIATE still lets in one
    writer at a time, and the next writer creates a new file.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self._seconds = seconds
        self._threads = Turns(seconds)
        self._descriptor: int | None = None
        self._held = -1, self._threads

    def __enter__(self) -> None:
        """Take the lock; `TimedOut` if that takes too long."""
        began, threads = time.monotonic(), self._threads
        if not threads.acquire(began):
            raise self._timed_out()
        if threads.depth > 1:
            return
        try:
            self._held = self._lock_file(threads.deadline(began)), threads
        except BaseException:
            threads.release()
            raise
        threads.note_progress()

    def __exit__(self, *_: object) -> None:
        # In a child that was forked inside the `with`, the descriptor is the parent's, and closed.
        descriptor, threads = self._held
        if threads.depth == 1:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        threads.release()

    def open(self) -> None:
        """Create the file now, so that a folder that can't be written is reported early."""
        with self._alone():
            self._open_file()

    def close(self) -> None:
        """Close the file, after the current writer of this process is done."""
        with self._alone():
            self._close_file()

    def forget(self) -> None:
        """Close the file in a forked child: the lock belongs to the open file, which parent and child share."""
        self._threads = Turns(self._seconds)
        self._close_file()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for the current writer of this process, however long it takes."""
        threads = self._threads
        while not threads.acquire(time.monotonic()):
            pass
        try:
            yield
        finally:
            threads.release()

    def _lock_file(self, deadline: float) -> int:
        while True:
            descriptor = self._open_file()
            if _try_lock(descriptor):
                if self._is_in_place(descriptor):
                    return descriptor
                self._close_file()
            elif time.monotonic() > deadline:
                raise self._timed_out()
            else:
                # Equal pauses keep it fair; growing ones starve the writer that has waited longest.
                time.sleep(random.uniform(0.0001, 0.0004))

    def _open_file(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, permissions_beside(self.path))
        return self._descriptor

    def _close_file(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _timed_out(self) -> TimedOut:
        holder = named(holders(self.path), "another writer")
        return TimedOut(
            f"{holder} held the store for more than {self._seconds:g} s; nothing was written",
            subject=str(self.path),
            advice="If a process hangs while writing, end it. Then run again.",
        )

    def __del__(self) -> None:
        self._close_file()


def writer_of(database: str | Path, seconds: float) -> str | None:
    """Who keeps others from writing to a database for this long; None if a writer could begin meanwhile.

    It creates nothing, and lets the lock go at once. A program that writes without this lock holds SQLite's own.
    """
    until, path = time.monotonic() + seconds, beside(Path(database), "-lock")
    while _is_held(path) or holders(beside(Path(database), "-shm"), WRITER):
        if time.monotonic() > until:
            found = holders(path) or holders(beside(Path(database), "-shm"), WRITER)
            return named(found, "a process that this system does not name")
        time.sleep(0.01)
    return None


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # nobody has written yet
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
