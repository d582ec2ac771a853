"""The lock that the writers of one file take one after another, threads and processes alike."""

import fcntl
import os
import random
import threading
import time
from contextlib import suppress
from pathlib import Path

from lakebed.errors import TimedOut


class WriteLock:
    """A lock on a file of its own, made when it is first taken; the kernel frees it when its holder dies.

    It stands in front of SQLite's own lock, under which waiters back off up to 100 ms and one process starved
    (slowest / fastest 0.09). So it guards fairness and not safety: if somebody removes the file, BEGIN IMMEDIATE still
    lets one writer in at a time, and the next to take the lock makes a new file.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self._seconds = seconds
        self._threads = threading.Lock()
        self._descriptor: int | None = None
        self._held = -1, self._threads

    def __enter__(self) -> None:
        """Hold the lock; `TimedOut` when it can't be had in time."""
        deadline = time.monotonic() + self._seconds
        if not self._threads.acquire(timeout=self._seconds):
            raise self._timed_out()
        try:
            self._held = self._locked(deadline), self._threads
        except BaseException:
            self._threads.release()
            raise

    def __exit__(self, *_: object) -> None:
        # In a child that was forked from in here, the descriptor is the parent's, and closed.
        descriptor, threads = self._held
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        threads.release()

    def open(self) -> None:
        """Make the file now, so that a folder that can't be written is found out."""
        with self._threads:
            self._opened()

    def close(self) -> None:
        """Waits for the writer in this process: its lock is not taken away while it writes."""
        with self._threads:
            self._drop()

    def forget(self) -> None:
        """In a forked child: the lock belongs to the open file, which parent and child share; open it anew."""
        self._threads = threading.Lock()
        self._drop()

    def _locked(self, deadline: float) -> int:
        while True:
            descriptor = self._opened()
            if _try(descriptor):
                if self._is_in_place(descriptor):
                    return descriptor
                self._drop()
            elif time.monotonic() > deadline:
                raise self._timed_out()
            else:
                # Even steps keep it fair; growing ones starve whoever waited longest.
                time.sleep(random.uniform(0.0001, 0.0004))

    def _opened(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._descriptor

    def _drop(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _timed_out(self) -> TimedOut:
        return TimedOut(
            f"another writer held the store for more than {self._seconds:g} s; nothing was written",
            subject=str(self.path),
            advice="If a process hangs while it writes, end it; else run again.",
        )

    def __del__(self) -> None:
        self._drop()


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
