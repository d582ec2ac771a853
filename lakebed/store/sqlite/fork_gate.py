"""A gate around SQLite, which does not survive a fork: no thread is inside and nothing is open when one happens."""

import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType

from lakebed import forks
from lakebed.errors import Unavailable

PATIENCE = 10.0  # seconds; no call takes that long, unless its own thread forks


class ForkAware(ABC):
    """Something that has to act around forks, once `watch_forks` knows it."""

    path: Path

    @abstractmethod
    def before_fork(self) -> None:
        """End its threads: Python warns about a fork while other threads run."""

    @abstractmethod
    def at_fork(self) -> None:
        """Close what must not be inherited. Nobody is inside the gate, or can enter until the fork is done."""

    @abstractmethod
    def after_fork_in_child(self) -> None: ...


class Gate:
    """Many threads may be inside, or one may fork. A thread must not enter twice."""

    def __init__(self) -> None:
        self._entry = threading.Lock()
        self._inside: list[None] = []  # a list, because append and pop are atomic and need no second lock
        self._broken = False

    def __enter__(self) -> None:
        with self._entry:
            if self._broken:
                raise Unavailable(
                    "this process was forked while a thread was inside SQLite, which does not survive that",
                    advice="Fork while no other thread uses the lake, or use multiprocessing's spawn method.",
                )
            self._inside.append(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._inside:  # otherwise the thread forked in here, and this is the child
            self._inside.pop()

    def shut(self) -> bool:
        """Let nobody in and wait until all are out; False if some stayed. Call `reopen` in either case."""
        self._entry.acquire()
        deadline = time.monotonic() + PATIENCE
        while self._inside and time.monotonic() < deadline:
            time.sleep(0.0002)
        return not self._inside

    def reopen(self) -> None:
        self._entry.release()

    def renew(self) -> None:
        """Reset the gate in a forked child, where the other threads are gone."""
        self._broken = self._broken or bool(self._inside)
        self._entry = threading.Lock()
        self._inside = []


GATE = Gate()
_aware: "weakref.WeakSet[ForkAware]" = weakref.WeakSet()


def watch_forks(thing: ForkAware) -> None:
    _aware.add(thing)


def close_connections(path: Path) -> None:
    """Close all connections of this process to a file, as for a fork: what they read is `Stale`, and others open."""
    all_out = GATE.shut()
    try:
        for thing in list(_aware) if all_out else []:
            if os.path.realpath(thing.path) == os.path.realpath(path):
                thing.at_fork()
    finally:
        GATE.reopen()


def _before() -> None:
    forks.wait_for_imports()  # while the gate is open, so that other threads go on
    try:
        for thing in list(_aware):
            thing.before_fork()
    finally:
        all_out = GATE.shut()
    if all_out:
        for thing in list(_aware):
            thing.at_fork()


def _after_in_child() -> None:
    GATE.renew()
    for thing in list(_aware):
        thing.after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=GATE.reopen, after_in_child=_after_in_child)
