"""A copy of a database file as of one moment, made while others write to it."""

import os
from pathlib import Path

import apsw

from lakebed.errors import AlreadyExists
from lakebed.store.sqlite.checksums import checksummed_vfs
from lakebed.store.sqlite.failures import errors_translated
from lakebed.store.sqlite.file import DatabaseFile
from lakebed.store.sqlite.paths import create_file, sync_folder


def copy_database(file: DatabaseFile, path: Path) -> None:
    """Copy by SQLite's own backup: all pages in one step, which is one read transaction of the WAL."""
    if path.exists():
        raise AlreadyExists("there is a file already", subject=str(path))
    create_file(path)
    with file.borrowed_connection() as source, errors_translated(path):
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        target = apsw.Connection(str(path), flags=flags, vfs=checksummed_vfs())
        try:
            with target.backup("main", source, "main") as copying:
                copying.step(-1)
        finally:
            target.close()
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
