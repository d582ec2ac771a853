"""Which processes have a database open, by locks that nobody can lose: a shared one on a byte of its lock file.

SQLite knows that too, by POSIX's locks on the database and its `-shm` file, which a process loses when it closes any
descriptor of them. So whoever would act as the only one (copy and delete the WAL, begin another `-shm`) asks here too.
"""

import os
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from lakebed.store.sqlite import ofd

_BYTE = 0
_all: "WeakSet[Presence]" = WeakSet()


class Presence:
    """This store's own lock. Without the lock file, as beside a lake on a read-only disk, there is none."""

    def __init__(self, lock: Path) -> None:
        self._lock = lock
        self._descriptor: int | None = None
        _all.add(self)

    def announce(self) -> None:
        if self._descriptor is None and (descriptor := _opened(self._lock)) is not None:
            ofd.share(descriptor, _BYTE)
            self._descriptor = descriptor

    def others(self) -> bool:
        """Whether another store, of this process or another, has the database open."""
        if (descriptor := self._descriptor) is not None:
            return ofd.is_locked(descriptor, _BYTE)
        if (descriptor := _opened(self._lock)) is None:
            return False
        try:
            return ofd.is_locked(descriptor, _BYTE)
        finally:
            os.close(descriptor)

    def withdraw(self) -> None:
        """Release the lock. A forked child closes its copy of the descriptor, which leaves the parent's lock alone."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self.withdraw()


def withdraw_all() -> None:
    """At the end of the process, before its connections are closed."""
    for presence in list(_all):
        presence.withdraw()


def _opened(lock: Path) -> int | None:
    if ofd.AVAILABLE:
        with suppress(OSError):
            return os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    return None
