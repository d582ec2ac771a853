"""The database file of the SQLite store: opening it, its connections, and what is watched beside it."""

import ctypes
import logging
import os
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import apsw

from lakebed.errors import Invalid, OutcomeUnknown, Unavailable
from lakebed.store.sqlite import companions
from lakebed.store.sqlite.checksums import checksummed_vfs
from lakebed.store.sqlite.companions import Companions
from lakebed.store.sqlite.deadlines import Deadlines
from lakebed.store.sqlite.failures import error_for, errors_translated, is_open_for_reading
from lakebed.store.sqlite.fork_gate import GATE, ForkAware, close_connections, watch_forks
from lakebed.store.sqlite.format import Found, identity_of, look, make_ready, upgrade
from lakebed.store.sqlite.holders import READERS, holders, named
from lakebed.store.sqlite.mounts import refuse_network_folder
from lakebed.store.sqlite.note import Newest, Note, home_of, read_note
from lakebed.store.sqlite.paths import beside, checked_path, create_file, identity, make_folder, size_of
from lakebed.store.sqlite.wholeness import examine, newest_version, refuse_lost, went_back
from lakebed.store.sqlite.write_lock import WriteLock
from lakebed.store.transaction import Stale

# Before 3.51.3, several processes that checkpoint at once can lose committed pages (SQLite's "WAL-reset" bug).
OLDEST_SQLITE = (3, 51, 3)

_SETTINGS = """
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = 16000000;
    PRAGMA temp_store = MEMORY;
"""
_IDLE_CONNECTIONS = 8
_WAL_BYTES = 24_000_000  # above the size that SQLite truncates the WAL to (`journal_size_limit`) when it restarts
_WAL_STEP = 4_000_000
_WAL_PATIENCE = 0.1
_TICK = 3.0
_BLINK = 0.001

_log = logging.getLogger("lakebed.store")


class DatabaseFile(ForkAware):
    """One database file as this process sees it.

    `generation` changes when the process forks. SQLite does not allow a child to use or close an inherited connection,
    and a new one there would share the locks that the old one believes it holds. So all are closed before a fork.
    """

    def __init__(self, path: Path, lock_seconds: float) -> None:
        refuse_old_library(apsw.sqlite_lib_version())
        self.path = checked_path(path)
        self.generation = 0
        self.calls = _Calls(self.path)
        self.deadlines = Deadlines()
        # Beside the real file, so that a link to it shares the lock.
        self.write_lock = WriteLock(beside(self.path, "-lock"), lock_seconds)
        self.id = b""
        self.seen = 0  # the newest version that this process has seen
        self._note_path = beside(self.path, "-newest")
        self._note = Note(self._note_path, self.path)
        self._home = 0, 0
        self._looked = 0.0  # when all files were seen in place
        self._folder, self._is_link = str(self.path.parent), self.path.is_symlink()
        self._calm: tuple[int, int, int] | None = None  # the folder when all files were seen in place
        self._companions = Companions(self.path, self._note)
        self._wal = beside(self.path, "-wal")
        self._seconds = lock_seconds
        self._closed = False
        self._idle: list[apsw.Connection] = []
        self._in_use: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._mutex = threading.RLock()
        self._next_restart = _WAL_BYTES
        self._next_warning = 2 * _WAL_BYTES
        refuse_network_folder(self.path.parent)
        with errors_translated(self.path):
            watch_forks(self)
            self._prepare()
        self._identity = identity(self.path)

    def take_locks_again(self) -> None:
        """Open all connections again, outside of `calls`, if the process has lost SQLite's locks; else do nothing."""
        if self._companions.has_locks():
            return
        _log.warning(
            "%s: this process opened and closed the files of the database, or copied them, which drops SQLite's locks. "
            "It connects again. To copy a lake, call lake.backup",
            self.path,
        )
        close_connections(self.path)

    def has_read(self, connection: apsw.Connection) -> None:
        """Note that a connection has read, and so has taken its locks. Writers have done so since they opened it."""

    def require_locks(self) -> None:
        """Refuse a snapshot whose locks are lost: others may overwrite what it reads."""
        if not self._companions.has_locks():
            raise Stale("the process closed a file of the database, which drops SQLite's locks")

    def borrowed_connection(self) -> "_Loan":
        """A connection for one `with` block; it is reused unless the block fails."""
        return _Loan(self)

    def connection(self) -> apsw.Connection:
        """A connection that nobody else uses, inside `calls`; return it with `release`."""
        self.require_open()
        self.require_in_place()
        with self._mutex:
            connection = self._idle.pop() if self._idle else self._connect()
            self._in_use.add(connection)
        return connection

    def release(self, connection: apsw.Connection) -> None:
        """Take a connection back, inside `calls`, and roll back what it had begun."""
        with suppress(apsw.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            with self._mutex:
                self._in_use.discard(connection)
                if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                    self._idle.append(connection)
                    return
        discard(connection)

    def shrink_wal(self, connection: apsw.Connection) -> None:
        """Restart the WAL if it has grown, under the write lock.

        SQLite restarts it by itself only at a moment without readers. With four busy processes there was none, and it
        grew by 8 MB a second. This waits for the current readers, while new ones read the database alone.
        """
        size = size_of(self._wal)
        if size < self._next_restart:
            return
        restarted = False
        with suppress(apsw.Error):
            connection.set_busy_timeout(int(_WAL_PATIENCE * 1000))
            frames, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            restarted = frames == copied
            self._sync_note()
        with suppress(apsw.Error):
            connection.set_busy_timeout(int(self._seconds * 1000))
        self._next_restart = _WAL_BYTES if restarted else max(_WAL_BYTES, size + _WAL_STEP)
        self._warn_of_growth(0 if restarted else size)

    def _warn_of_growth(self, size: int) -> None:
        """Report who keeps the WAL from shrinking, each time that it has doubled."""
        if size < self._next_warning:
            if size == 0:
                self._next_warning = 2 * _WAL_BYTES
            return
        self._next_warning = 2 * size
        readers = [holder for holder in holders(beside(self.path, "-shm"), READERS) if holder.pid != os.getpid()]
        _log.warning(
            "%s has grown to %d MB, because %s reads an old state and does not go on. "
            "Continue it (kill -CONT) or end it: then the next commits shrink the file",
            self._wal,
            size // 1_000_000,
            named(readers, "a process"),
        )

    def close(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
            if self._closed:
                return
            self._closed = True
        self.deadlines.close()
        self._companions.presence.withdraw()
        with self.calls:
            for connection in idle:
                discard(connection)
        self.write_lock.close()
        self._sync_note()
        self._note.close()

    def require_open(self) -> None:
        if self._closed:
            raise Invalid("the store is closed", subject=str(self.path), advice="Open it again.")

    def require_in_place(self) -> None:
        """Refuse a file that was deleted or replaced: writes to it would succeed, and be lost."""
        looked = time.monotonic()
        if (folder := self._folder_state()) != self._calm or folder is None:
            self._require_each_in_place()
            self._calm = folder
        self._looked = looked

    def _require_each_in_place(self) -> None:
        if identity(self.path) != self._identity:
            raise Unavailable(
                "the database file was deleted, moved or replaced while it was open; nothing was written",
                subject=str(self.path),
                advice="Put it back, or connect again.",
            )
        self._companions.require_in_place()

    def _folder_state(self) -> tuple[int, int, int] | None:
        """What changes whenever a file is created, deleted or renamed in the folder; None if that can't be known.

        One look instead of three. A folder that has just changed may change again in the same tick of its file system's
        clock, which is 2 s on some. If the database is a link, its files are elsewhere.
        """
        try:
            found = os.stat(self._folder)
        except OSError:
            return None
        is_old = found.st_ctime + _TICK < time.time() and not self._is_link
        return (found.st_dev, found.st_ino, found.st_ctime_ns) if is_old else None

    def require_unmoved(self, generation: int) -> None:
        """Refuse what was just read if the files may have changed under it; SQLite's own locks see to the rest.

        Others would have to delete the files, open the database, commit, and overwrite the WAL: not within a blink.
        """
        if time.monotonic() > self._looked + _BLINK:
            self.require_in_place()
            self.require_locks()

    def require_kept(self) -> None:
        """After a COMMIT, under the write lock: whether it went into the files that others read."""
        try:
            self.require_in_place()
            self.require_locks()
        except Stale as error:
            raise OutcomeUnknown(
                "this process closed a file of the database during a commit, which drops SQLite's locks",
                subject=str(self.path),
                advice="To copy a lake, call lake.backup. Look the commit up by its event id.",
            ) from error
        except Unavailable as error:
            raise OutcomeUnknown(
                "the database file, or its -wal or -shm, was deleted or replaced during a commit",
                subject=str(self.path),
                advice="Close it in all processes, connect again, and look the commit up by its event id.",
            ) from error

    def require_not_behind(self, version: int) -> None:
        """Before a commit, under the write lock: refuse a database that is older than its note."""
        noted = self._note.read()
        if noted is not None and noted.id == self.id and noted.version > version:
            raise went_back(self.path, self._note_path, version, noted.version)

    def require_seen(self, version: int, seen: int) -> None:
        """Refuse a snapshot that is older than what this process saw before it was taken."""
        if version < seen:
            raise went_back(self.path, self._note_path, version, seen)
        self.seen = max(self.seen, version)

    def noted(self) -> Newest | None:
        """What the note says."""
        return read_note(self._note_path)

    def note(self, version: int) -> None:
        """Note a commit, before it is acknowledged. It is durable: if this fails, a later loss is found less well."""
        try:
            self._note.write(Newest(self.id, version, *self._home))
        except OSError as error:
            _log.warning("%s: version %d can't be noted: %s", self._note_path, version, error)

    def before_fork(self) -> None:
        self.deadlines.stop()

    def at_fork(self) -> None:
        self.generation += 1
        for connection in [*self._idle, *self._in_use]:
            discard(connection)
        self._idle = []
        self._in_use.clear()

    def after_fork_in_child(self) -> None:
        for connection in [*self._idle, *self._in_use]:
            # Some are left only if a thread did not leave the library before the fork.
            _leak(connection)
        self.generation += 1
        self._idle = []
        self._in_use = weakref.WeakSet()
        self._mutex = threading.RLock()
        self.deadlines = Deadlines()
        self.write_lock.forget()
        self._companions.presence.withdraw()

    def _prepare(self) -> None:
        """Open the database, and create its tables if the file is new. A crash in between leaves an empty file."""
        make_folder(self.path.parent)
        refuse_lost(self.path, self._note_path)
        create_file(self.path)
        with GATE:
            connection = self._opened()
            self._in_use.add(connection)
        try:
            connection = self._made_ready(connection)
            with GATE:
                self.id = identity_of(self.path, connection)
                self._companions.adopt(connection)
            self._home = home_of(self.path)
            if not examine(self.path, self._note_path, self.id, self._home, connection, GATE):
                self._renew_note(connection)
            self._note.open()
        except BaseException:
            discard(connection)
            raise
        with GATE:
            self.release(connection)

    def _made_ready(self, connection: apsw.Connection) -> apsw.Connection:
        with GATE:
            found = look(self.path, connection)
        self.write_lock.open()
        if found is Found.READY:
            return connection
        if found in (Found.OLD, Found.UNFINISHED):
            discard(connection)
            with self.write_lock, GATE:
                upgrade(self.path, self._seconds)
                connection = self._opened()
                self._in_use.add(connection)
        with self.write_lock, GATE:
            make_ready(self.path, connection)
        return connection

    def _renew_note(self, connection: apsw.Connection) -> None:
        """Write a note for this file, which has none of its own."""
        with self.write_lock:
            with GATE:
                version = newest_version(connection)
            self._note.replace(Newest(self.id, version, *self._home))

    def _sync_note(self) -> None:
        try:
            self._note.sync()
        except OSError as error:
            _log.warning("%s can't be synced: %s", self._note_path, error)

    def _connect(self) -> apsw.Connection:
        connection = self._opened()
        try:
            connection.pragma("user_version")  # the first read opens the files that are watched from here on
            self._companions.adopt(connection)
        except BaseException:
            discard(connection)
            raise
        return connection

    def _opened(self) -> apsw.Connection:
        self._companions.check_before_opening()
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        connection = apsw.Connection(str(self.path), flags=flags, vfs=checksummed_vfs())
        connection.set_busy_timeout(int(self._seconds * 1000))
        connection.execute(_SETTINGS).fetchall()  # each pragma returns a row, and the next one waits until it is read
        return connection


class _Calls:
    """Wraps every call into SQLite: no fork happens during it, and its errors become ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        GATE.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        GATE.__exit__(kind, error, trace)
        if is_open_for_reading(self._path, error):
            close_connections(self._path)
        if isinstance(error, apsw.Error | OSError):
            raise error_for(self._path, error) from error


class _Loan:
    """A connection in `calls`. A class, because each of contextlib's generators costs a commit 5 µs."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def __enter__(self) -> apsw.Connection:
        self._file.take_locks_again()
        self._file.calls.__enter__()
        try:
            self._connection = self._file.connection()
        except BaseException as error:
            self._file.calls.__exit__(type(error), error, error.__traceback__)
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None or isinstance(error, Stale):
                self._file.release(self._connection)
            else:
                discard(self._connection)
        finally:
            self._file.calls.__exit__(kind, error, trace)


def discard(connection: apsw.Connection) -> None:
    """Close without raising: the original failure is already reported."""
    companions.forget(connection)
    with suppress(apsw.Error):
        connection.close(force=True)


def _leak(connection: apsw.Connection) -> None:
    """Keep an inherited connection from ever being finalised: closing it in the child may delete the parent's WAL."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def refuse_old_library(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_SQLITE:
        raise Unavailable(
            "this SQLite library can lose committed data when several processes use one file",
            expected="SQLite " + ".".join(map(str, OLDEST_SQLITE)) + " or newer",
            found=version,
            advice="Install apsw from PyPI, which includes its own SQLite.",
        )
