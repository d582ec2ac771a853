"""The database file of the SQLite store: opening and checking it, its connections, its errors."""

import ctypes
import errno
import logging
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import apsw

from lakebed.errors import Corrupt, Forbidden, Invalid, LakebedError, TimedOut, Unavailable
from lakebed.store.sqlite.deadlines import Deadlines
from lakebed.store.sqlite.fork_gate import GATE, ForkAware, watch_forks
from lakebed.store.sqlite.holders import READERS, holders, named
from lakebed.store.sqlite.mounts import refuse_network_folder
from lakebed.store.sqlite.permissions import permissions_beside
from lakebed.store.sqlite.write_lock import WriteLock
from lakebed.store.transaction import Stale

# Before 3.51.3, several processes that checkpoint at once can lose committed pages (SQLite's "WAL-reset" bug).
OLDEST_SQLITE = (3, 51, 3)
APPLICATION_ID = int.from_bytes(b"LKBD")
FORMAT_VERSION = 1

_SCHEMA = f"""
    PRAGMA application_id = {APPLICATION_ID};
    PRAGMA user_version = {FORMAT_VERSION};
    CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE log (version INTEGER PRIMARY KEY, time INTEGER NOT NULL, keys BLOB);
"""
_SETTINGS = """
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = 16000000;
"""
_IDLE_CONNECTIONS = 8
_WAL_BYTES = 24_000_000  # above the size that SQLite truncates the WAL to (`journal_size_limit`) when it restarts
_WAL_STEP = 4_000_000
_WAL_PATIENCE = 0.1

_log = logging.getLogger("lakebed.store")


class DatabaseFile(ForkAware):
    """One database file as this process sees it.

    `generation` changes when the process forks. SQLite does not allow a child to use or close an inherited connection,
    and a new one there would share the locks that the old one believes it holds. So all are closed before a fork.
    """

    def __init__(self, path: Path, lock_seconds: float) -> None:
        refuse_old_library(apsw.sqlite_lib_version())
        self.path = _checked_path(path)
        self.generation = 0
        self.calls = _Calls(self.path)
        self.deadlines = Deadlines()
        # Beside the real file, so that a link to it shares the lock.
        self.write_lock = WriteLock(beside(self.path, "-lock"), lock_seconds)
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
        with self.calls:
            for connection in idle:
                discard(connection)
        self.write_lock.close()

    def require_open(self) -> None:
        if self._closed:
            raise Invalid("the store is closed", subject=str(self.path), advice="Open it again.")

    def require_in_place(self) -> None:
        """Refuse a file that was deleted or replaced: writes to it would succeed, and be lost."""
        if identity(self.path) != self._identity:
            raise Unavailable(
                "the database file was deleted, moved or replaced while it was open; nothing was written",
                subject=str(self.path),
                advice="Put it back, or connect again.",
            )

    def require_unmoved(self, generation: int) -> None:
        """Refuse what was just read if the file may have changed under it; SQLite's own locks see to that here."""

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

    def _prepare(self) -> None:
        """Open the database, and create its tables if the file is new. A crash in between leaves an empty file."""
        _make_folder(self.path.parent)
        create_file(self.path)
        with GATE:
            connection = self._connect()
            self._in_use.add(connection)
        try:
            with GATE:
                ready = is_ready(self.path, connection)
            self.write_lock.open()
            if not ready:
                with self.write_lock, GATE:
                    _make_ready(self.path, connection)
        except BaseException:
            discard(connection)
            raise
        with GATE:
            self.release(connection)

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
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
        if isinstance(error, apsw.Error | OSError):
            raise error_for(self._path, error) from error


class _Loan:
    """A connection in `calls`. A class, because each of contextlib's generators costs a commit 5 µs."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def __enter__(self) -> apsw.Connection:
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


def _checked_path(path: Path) -> Path:
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid("the path of a database is not valid Unicode", subject=repr(text)) from None
    if "\x00" in text:
        raise Invalid("the path of a database has a null byte", subject=repr(text))
    with errors_translated(path):
        if path.exists() and not path.is_file():
            found = "a folder" if path.is_dir() else "something else"
            raise Invalid("the path of the database is not a file", subject=text, expected="a file", found=found)
    return path.absolute()


def _make_folder(folder: Path) -> None:
    """Create each missing folder, durably."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def create_file(path: Path) -> None:
    """Create an empty file, unless there is one, with no permission that its folder does not have.

    SQLite itself would let all users read it. Its journals get the permissions of the database.
    """
    with errors_translated(path):
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, permissions_beside(path)))


def identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def beside(path: Path, suffix: str) -> Path:
    """A file that belongs to a database: beside the real one, if its path is a link."""
    return Path(os.path.realpath(path) + suffix)


def size_of(path: Path) -> int:
    """The size of a file, 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def is_ready(path: Path, connection: apsw.Connection) -> bool:
    """Whether the database is ours and complete; `Invalid` if another program's or of a newer format."""
    # In one transaction: a database that another process is just creating would look like another program's.
    connection.execute("BEGIN")
    try:
        return _looks_ready(path, connection)
    finally:
        connection.execute("ROLLBACK")


def _looks_ready(path: Path, connection: apsw.Connection) -> bool:
    application = connection.pragma("application_id")
    if application == 0 and not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        return False
    if application != APPLICATION_ID:
        raise Invalid(
            "this SQLite database was not made by Lakebed",
            subject=str(path),
            expected=f"application id {APPLICATION_ID}",
            found=application,
            advice="Name a file that Lakebed made, or one that does not exist yet.",
        )
    _check_format(path, connection.pragma("user_version"))
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables >= {"kv", "log"}:
        raise Corrupt(
            "a table of the database is missing", subject=str(path), expected="kv and log", found=sorted(tables)
        )
    # A copy made by SQLite's own tools is in another journal mode, in which readers and writers block each other.
    return bool(connection.pragma("journal_mode") == "wal")


def _make_ready(path: Path, connection: apsw.Connection) -> None:
    if is_ready(path, connection):
        return
    if connection.pragma("application_id") == 0:
        connection.pragma("page_size", 4096)
    if connection.pragma("journal_mode", "wal") != "wal":
        raise Unavailable(
            "this disk can't hold a database that several processes share",
            subject=str(path),
            advice="Use another disk.",
        )
    if connection.pragma("application_id") == 0:
        with connection:
            connection.execute(_SCHEMA)
        sync_folder(path.parent)


def _check_format(path: Path, version: object) -> None:
    if version != FORMAT_VERSION:
        raise Invalid(
            "this Lakebed does not know the format of the database",
            subject=str(path),
            expected=f"format {FORMAT_VERSION}",
            found=f"format {version}",
            advice="Upgrade Lakebed.",
        )


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def errors_translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system into ours. Failures of a commit itself are handled where it commits."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise error_for(path, error) from error


def error_for(path: Path, error: apsw.Error | OSError) -> LakebedError:
    """Our error for one of SQLite or of the system."""
    subject, text = str(path), str(error)
    code = getattr(error, "errno", 0)
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return Corrupt(f"the database can't be read: {text}", subject=subject, advice="Restore it from a copy.")
    if isinstance(error, apsw.FullError) or code in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(
            "the disk is full; nothing was written", subject=subject, advice="Free some space and run again."
        )
    if _is_forbidden(path, error):
        return Forbidden(
            f"the database can't be written: {text}",
            subject=subject,
            advice="Ask for write access to its folder, or pass read_only=True.",
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return TimedOut(f"the database stayed locked: {text}", subject=subject, advice="Run again.")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return Invalid("a part of the path is a file instead of a folder", subject=subject)
    if code in (errno.ENAMETOOLONG, errno.ELOOP):
        return Invalid(f"this path can't be used: {text}", subject=subject)
    return Unavailable(
        f"the database can't be used: {text}",
        subject=subject,
        advice="Check the disk and the folder, then run again.",
    )


def _is_forbidden(path: Path, error: apsw.Error | OSError) -> bool:
    if isinstance(error, apsw.CantOpenError):
        return path.parent.is_dir() and not os.access(path.parent, os.W_OK)
    return isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | PermissionError) or (
        getattr(error, "errno", 0) == errno.EROFS
    )
