"""Closing what stays open for too long, even if its owner never comes back."""

import threading
import time
import weakref
from contextlib import suppress
from typing import Protocol


class Ending(Protocol):
    ends_at: float  # on the monotonic clock

    def close(self) -> None: ...


class Deadlines:
    """A thread that closes each thing at its deadline; it runs only while something is open."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: weakref.WeakSet[Ending] = weakref.WeakSet()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def add(self, thing: Ending) -> None:
        with self._lock:
            self._open.add(thing)
            if self._thread is None or not self._thread.is_alive():
                self._start()

    def remove(self, thing: Ending) -> None:
        with self._lock:
            self._open.discard(thing)

    def close(self) -> None:
        """Close everything that is open."""
        self.stop()
        for thing in self._listed():
            thing.close()

    def stop(self) -> None:
        """End the thread; the next `add` starts another."""
        with self._lock:
            thread, stop = self._thread, self._stop
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            stop.set()
            thread.join(timeout=1.0)

    def _start(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stop,), name="lakebed-deadlines", daemon=True)
        # While the interpreter shuts down, no thread can be started, and nothing has to be closed in time.
        with suppress(RuntimeError):
            self._thread.start()

    def _run(self, stop: threading.Event) -> None:
        while (pause := self._sweep()) is not None:
            if stop.wait(pause):
                return

    def _sweep(self) -> float | None:
        """Close what is past its deadline; the seconds until the next deadline, None if nothing is open."""
        now = time.monotonic()
        for thing in self._listed():
            if thing.ends_at <= now:
                thing.close()
                self.remove(thing)
        with self._lock:
            ends = [thing.ends_at for thing in self._open]
            if not ends:
                self._thread = None
                return None
            return max(0.0, min(ends) - now)

    def _listed(self) -> list[Ending]:
        with self._lock:
            return list(self._open)
