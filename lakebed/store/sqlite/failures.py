"""Errors of SQLite and of the system as ours."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from lakebed.errors import Corrupt, Forbidden, Invalid, LakebedError, TimedOut, Unavailable

RESTORE = "Restore a backup: a folder that lake.backup made can be used in its place."


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
        return Corrupt(f"the database can't be read: {text}", subject=subject, advice=RESTORE)
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
        return Corrupt(
            "a page of the database is not what was written: its checksum differs", subject=subject, advice=RESTORE
        )
    if isinstance(error, apsw.FullError) or code in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(
            "the disk is full; nothing was written", subject=subject, advice="Free some space and run again."
        )
    if is_open_for_reading(path, error):
        return Unavailable(
            f"the system would open the database for reading only, though it may be written: {text}",
            subject=subject,
            advice="Check the disk, then run again: the database is opened again.",
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


def is_open_for_reading(path: Path, error: object) -> bool:
    """Whether SQLite can't write what the process may write: opening it for writing failed, and for reading did not.

    SQLite then goes on reading, in the -shm for all connections of the process until the last of them is closed.
    """
    if not isinstance(error, apsw.ReadOnlyError):
        return False
    real = os.path.realpath(path)  # the others lie beside it
    files = [file for file in (real, f"{real}-wal", f"{real}-shm") if os.path.exists(file)]
    return all(os.access(file, os.W_OK) for file in (os.path.dirname(real), *files))


def _is_forbidden(path: Path, error: apsw.Error | OSError) -> bool:
    if isinstance(error, apsw.CantOpenError):
        return path.parent.is_dir() and not os.access(path.parent, os.W_OK)
    return isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | PermissionError) or (
        getattr(error, "errno", 0) == errno.EROFS
    )
