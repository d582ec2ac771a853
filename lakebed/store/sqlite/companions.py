"""The `-wal` and `-shm` files of a database, as this process has them open.

If one is deleted while it is open, it lives on without a name, and whoever opens the database next makes another one:
two groups of processes would overwrite each other. SQLite shares what it has open of one database among all connections
of a process; so all stores of a process share what it knows, for as long as it has a connection.

The last connection of all processes copies the WAL into the database and deletes it. If its `-shm` was deleted, it does
not know what others wrote since: so it leaves the WAL alone. If its WAL was deleted, copying it is what saves it.
"""

import atexit
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import apsw

from lakebed import forks
from lakebed.errors import Unavailable
from lakebed.store.sqlite import canary, presence
from lakebed.store.sqlite.canary import Canary
from lakebed.store.sqlite.holders import is_locked
from lakebed.store.sqlite.note import Note
from lakebed.store.sqlite.paths import beside, identity
from lakebed.store.sqlite.presence import Presence

_HOLDERS_BYTE = 128  # of `-shm`: each process that has it open keeps a read lock there (UNIX_SHM_DMS)
_PATIENCE = 0.25  # seconds; a process that lost its locks takes new ones when it uses the database next


class _Known:
    """The identities of both files when the first of the connections was opened."""

    def __init__(self) -> None:
        self.files: tuple[object, object] = None, None
        self.connections: WeakSet[apsw.Connection] = WeakSet()


_databases: "WeakValueDictionary[object, _Known]" = WeakValueDictionary()
_owners: "WeakKeyDictionary[apsw.Connection, Companions]" = WeakKeyDictionary()
_mutex = forks.lock()


class Companions:
    """Watches the two files."""

    def __init__(self, database: Path, note: Note) -> None:
        self._database = database
        self._note = note
        self._wal, self._shm = str(beside(database, "-wal")), str(beside(database, "-shm"))
        self._known = _Known()
        self._canary: Canary | None = None
        self.presence = Presence(beside(database, "-lock"))

    def check_before_opening(self) -> None:
        """Refuse to open a connection that would not share the files of others."""
        self._known = _databases.get(identity(self._database), self._known)
        self.require_in_place()
        if not self._known.connections:
            if self._wal_was_removed():
                self._require(not _is_held(self._shm))
            self._wait_for_locks()
        self.presence.announce()

    def has_locks(self) -> bool:
        """Whether the process still has the locks that SQLite took: a program that copies its open files loses them."""
        return self._canary is None or self._canary.is_alive()

    def watch_locks(self, connection: apsw.Connection) -> None:
        """Watch the locks of a connection that has read."""
        self._canary = canary.watch(connection, self._shm)

    def adopt(self, connection: apsw.Connection) -> None:
        """Watch the files for this connection, which has read: so both are there, and stay as long as it is open."""
        with _mutex:
            self._known = _databases.setdefault(identity(self._database), self._known)
            found = self._found()
            if not self._known.connections:
                self._known.files = found
            self._known.connections.add(connection)
            _owners[connection] = self
        self.watch_locks(connection)
        self.presence.announce()  # the lock file of a new database is there only now
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._require(None not in found and found == self._known.files)

    def in_place(self) -> bool:
        """Whether the files are those that the process has open, if it has."""
        known = self._known
        while True:
            files = known.files
            if not known.connections or files == self._found():
                return True
            if known.connections and known.files is files:  # else another thread closed the last connection meanwhile
                return False

    def require_in_place(self) -> None:
        self._require(self.in_place())

    def leave(self, connection: apsw.Connection) -> None:
        """Stop watching for a connection that is about to be closed, and let it copy the WAL unless that does harm."""
        found = self._found()
        in_place = found == self._known.files and not self.presence.others()
        if in_place or (found[0] is None and self._note.is_in_place()):
            with suppress(apsw.Error):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        self._known.connections.discard(connection)

    def _found(self) -> tuple[object, object]:
        return identity(self._wal), identity(self._shm)

    def _wait_for_locks(self) -> None:
        """Give others time to take their locks again: SQLite would cut off a `-shm` that nobody has locked."""
        until = time.monotonic() + _PATIENCE
        while os.path.exists(self._shm) and self.presence.others() and not is_locked(self._shm, _HOLDERS_BYTE):
            if time.monotonic() > until:
                return
            time.sleep(0.002)

    def _wal_was_removed(self) -> bool:
        """Whether there is a `-shm` without a `-wal`. SQLite creates it later, and deletes it earlier."""
        before = identity(self._shm)
        return before is not None and not os.path.exists(self._wal) and identity(self._shm) == before

    def _require(self, fine: bool) -> None:
        if not fine:
            raise Unavailable(
                "the -wal or -shm file of the database was deleted, moved or replaced while it was open",
                subject=str(self._database),
                advice="Close it in all processes, which saves what was committed, then connect again.",
            )


def forget(connection: apsw.Connection) -> None:
    """Stop watching for a connection, before it is closed: the last one to close deletes the files."""
    canary.forget(connection)
    owner = _owners.pop(connection, None)
    if owner is not None:
        owner.leave(connection)


@atexit.register
def _forget_all() -> None:
    """Stores that nobody closed: their connections are closed after this."""
    presence.withdraw_all()
    for connection in list(_owners):
        forget(connection)


def _is_held(shm: str) -> bool:
    """Whether another process has a `-shm` file open. This process has no connection, and so no locks to lose."""
    try:
        descriptor = os.open(shm, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _HOLDERS_BYTE)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
