"""A store in a SQLite file that is only read: by a user without the right to write, or on a read-only disk.

SQLite reads a database in WAL mode through its `-shm` file, which writers create and the last of them removes. While
there is one, readers use it, by SQLite's own locks. Without one nobody writes, and the file is read as immutable: then
SQLite neither locks nor creates anything. Every read looks whether a writer came meanwhile.
"""

import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

import apsw

from lakebed.errors import Corrupt, Forbidden, NotFound, Unavailable
from lakebed.store.conflicts import ReadSet, WriteSet
from lakebed.store.sqlite.checksums import checksummed_vfs
from lakebed.store.sqlite.file import DatabaseFile, discard
from lakebed.store.sqlite.fork_gate import GATE
from lakebed.store.sqlite.format import Found, identity_of, look
from lakebed.store.sqlite.note import home_of
from lakebed.store.sqlite.paths import beside, identity, size_of
from lakebed.store.sqlite.store import SQLiteStore
from lakebed.store.sqlite.wholeness import examine, refuse_lost
from lakebed.store.transaction import Committed, Stale

_ATTEMPTS = 5


class ReadOnlySQLiteStore(SQLiteStore):
    """The store in an existing file. It creates no file, and changes none; `Forbidden` for every write."""

    def settle(self) -> None:
        """Do nothing: a reader can't wait for the write lock. A commit that is being written now may appear later."""

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        raise _read_only(self._file.path)

    def set_times(self, times: Mapping[bytes, int]) -> None:
        raise _read_only(self._file.path)

    def _opened(self, path: Path, lock_seconds: float) -> DatabaseFile:
        return ReadOnlyFile(path, lock_seconds)


class ReadOnlyFile(DatabaseFile):
    """A database file whose connections only read. `_seen` is the file as the idle connections know it."""

    _seen: tuple[object, ...] = ()

    def connection(self) -> apsw.Connection:
        with self._mutex:
            if self._seen != self._state():
                stale, self._idle, self._seen = self._idle, [], self._state()
                self.generation += 1  # which ends the snapshots of other threads
                for connection in stale:
                    discard(connection)
        return super().connection()

    def require_unmoved(self, generation: int) -> None:
        if generation != self.generation or self._seen != self._state():
            raise Stale("somebody began or ended to write while the file was read as immutable")
        self.require_locks()

    def has_read(self, connection: apsw.Connection) -> None:
        if os.path.exists(self._shared):
            self._companions.watch_locks(connection)

    def _require_each_in_place(self) -> None:
        """Follow a file that was replaced by a newer state of the same store, as a renewed backup is."""
        found = identity(self.path)
        if found is None or not self.id or found == self._identity or not self._is_same_store():
            super()._require_each_in_place()
        self._identity = found

    def _is_same_store(self) -> bool:
        """Whether the file is one of this store and whole; inside `calls`."""
        connection = self._connect()
        try:
            if identity_of(self.path, connection) != self.id:
                return False
            examine(self.path, self._note_path, self.id, home_of(self.path), connection, nullcontext())
            return True
        finally:
            discard(connection)

    def _state(self) -> tuple[object, ...]:
        """What changes when the way to read the file changes: whether it has writers, and else the file itself."""
        if (shared := identity(self._shared)) is not None:
            return True, shared, identity(self._wal)
        found = os.stat(self.path)
        return False, found.st_mtime_ns, found.st_size, size_of(self._wal)

    @property
    def _shared(self) -> Path:
        return beside(self.path, "-shm")

    def _connect(self) -> apsw.Connection:
        way = "readonly_shm=1" if os.path.exists(self._shared) else "immutable=1"
        if way == "immutable=1" and size_of(self._wal):
            raise Unavailable(
                "the last writers left commits in a log that only a writer can bring into the database",
                subject=str(self._wal),
                advice="Connect to it once with the right to write, then again read-only; or copy its folder to where"
                " you may write, and connect to the copy.",
            )
        if way == "immutable=1":
            self._companions.presence.withdraw()  # it has no locks, and keeps no file from being deleted
        else:
            self._companions.presence.announce()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"file:{quote(str(self.path))}?{way}", flags=flags, vfs=checksummed_vfs())
        connection.set_busy_timeout(int(self._seconds * 1000))
        return connection

    def _prepare(self) -> None:
        refuse_lost(self.path, self._note_path)
        if not size_of(self.path):
            raise NotFound("there is no database", subject=str(self.path))
        for _ in range(_ATTEMPTS):
            with GATE:
                self._seen = self._state()
                connection = self._connect()
            try:
                self._examine(connection)
                return
            except (Corrupt, apsw.Error):
                if self._seen == self._state():
                    raise  # else somebody began or ended to write meanwhile
            finally:
                discard(connection)
        raise Unavailable("others begin and end to write all the time", subject=str(self.path), advice="Run again.")

    def _examine(self, connection: apsw.Connection) -> None:
        """Refuse a file of another program, of a newer format, or one that is not whole."""
        with GATE:
            found = look(self.path, connection)
            self.id = b"" if found in (Found.OLD, Found.UNFINISHED) else identity_of(self.path, connection)
        if found is Found.UNFINISHED:
            raise Unavailable(
                "the upgrade of an old format was interrupted",
                subject=str(self.path),
                advice="Connect to it once with the right to write, then again read-only.",
            )
        if self.id:
            examine(self.path, self._note_path, self.id, home_of(self.path), connection, GATE)


def _read_only(path: Path) -> Forbidden:
    return Forbidden("the store is open for reading only", subject=str(path), advice="Open it for writing.")
