"""Whether this process still has the locks that SQLite took on a `-shm` file.

POSIX drops all locks of a process on a file when it closes any descriptor of it: a program that copies its own open
lake loses SQLite's. Then others may take the file for unused, and cut it off under this process (SIGBUS) or overwrite
what it reads. A canary is one more lock of the same kind, on a byte that nobody else uses: it is lost when the others
are.
"""

import os
import random
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import apsw

from lakebed import forks
from lakebed.store.sqlite import ofd
from lakebed.store.sqlite.paths import identity

_DESCRIPTORS = "/proc/self/fd"
_FIRST_BYTE = 1 << 40  # SQLite locks bytes 120 to 128
_BYTES = 1 << 30


class Canary:
    """A lock beside SQLite's, for as long as the process has one of `connections` open."""

    def __init__(self, shm: str | Path) -> None:
        self.connections: WeakSet[apsw.Connection] = WeakSet()
        self._byte = _FIRST_BYTE + random.SystemRandom().randrange(_BYTES)
        self._descriptor = _descriptor_of(shm)
        if self._descriptor is not None and not ofd.share_by_process(self._descriptor, self._byte):
            self._descriptor = None

    def is_alive(self) -> bool:
        """Whether no lock was lost. True also if there is none to lose, or if the system can't tell."""
        if self._descriptor is None or not self.connections or ofd.is_locked(self._descriptor, self._byte):
            return True
        return not self.connections  # else another thread closed the last one meanwhile, and so the file


_canaries: dict[object, Canary] = {}
_mutex = forks.lock()


def watch(connection: apsw.Connection, shm: str | Path) -> Canary:
    """The canary of a connection that has read, and so has the `-shm` file open."""
    with _mutex:
        for file in [file for file, canary in _canaries.items() if not canary.connections]:
            del _canaries[file]
        if (file := identity(shm)) not in _canaries:
            _canaries[file] = Canary(shm)
        _canaries[file].connections.add(connection)
        return _canaries[file]


def forget(connection: apsw.Connection) -> None:
    """Stop watching for a connection, before it is closed."""
    with _mutex:
        for canary in _canaries.values():
            canary.connections.discard(connection)


def _descriptor_of(shm: str | Path) -> int | None:
    """SQLite's own descriptor of the file: one that is opened and closed here would drop the locks."""
    if not ofd.AVAILABLE or (wanted := identity(shm)) is None:
        return None
    with suppress(OSError):
        return next(
            (int(name) for name in os.listdir(_DESCRIPTORS) if identity(f"{_DESCRIPTORS}/{name}") == wanted), None
        )
    return None
