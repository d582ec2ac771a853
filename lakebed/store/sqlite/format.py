"""The format of the database: what is found in a file, and making a new or old one ready."""

import os
import secrets
from enum import Enum
from pathlib import Path
from typing import Any

import apsw

from lakebed.errors import Corrupt, Invalid, Unavailable
from lakebed.store.sqlite.checksums import RESERVED_BYTES, checksummed_vfs
from lakebed.store.sqlite.paths import beside, create_file, sync_folder
from lakebed.store.sqlite.sums import full_sum

APPLICATION_ID = int.from_bytes(b"LKBD")
FORMAT_VERSION = 2
OLD_FORMAT = 1
BEING_UPGRADED = 1 << 16 | FORMAT_VERSION
"""The format of a file whose content is about to be replaced by its upgrade: every Lakebed but this refuses it."""

_ID_BYTES = 16
_TABLES = {"kv", "log", "identity"}
_SCHEMA = f"""
    PRAGMA application_id = {APPLICATION_ID};
    PRAGMA user_version = {FORMAT_VERSION};
    CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE log (version INTEGER PRIMARY KEY, time INTEGER NOT NULL, keys BLOB, sum INTEGER);
    CREATE TABLE identity (id BLOB NOT NULL);
"""


class Found(Enum):
    """What a file is."""

    EMPTY = "nothing yet"
    OLD = "in a format that has to be upgraded"
    UNFINISHED = "in the middle of an upgrade"
    COPIED = "in another journal mode, as SQLite's own tools leave a copy: readers and writers would block each other"
    READY = "ready"


def look(path: Path, connection: apsw.Connection) -> Found:
    """What a file is; `Invalid` if another program's or of a newer format."""
    # In one transaction: a database that another process is just creating would look like another program's.
    connection.execute("BEGIN")
    try:
        return _look(path, connection)
    finally:
        if connection.in_transaction:  # not if a page could not be read
            connection.execute("ROLLBACK")


def _look(path: Path, connection: apsw.Connection) -> Found:
    application = connection.pragma("application_id")
    if application == 0 and not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        return Found.EMPTY
    if application != APPLICATION_ID:
        raise Invalid(
            "this SQLite database was not made by Lakebed",
            subject=str(path),
            expected=f"application id {APPLICATION_ID}",
            found=application,
            advice="Name a file that Lakebed made, or one that does not exist yet.",
        )
    version = connection.pragma("user_version")
    _check_tables(path, connection, _TABLES if version == FORMAT_VERSION else {"kv", "log"})
    if version == OLD_FORMAT:
        return Found.OLD
    if version == BEING_UPGRADED:
        return Found.UNFINISHED
    _check_format(path, version)
    if connection.reserve_bytes() != RESERVED_BYTES:
        raise Corrupt("the pages of the database have no checksums", subject=str(path), advice="Restore a backup.")
    return Found.READY if connection.pragma("journal_mode") == "wal" else Found.COPIED


def _check_tables(path: Path, connection: apsw.Connection, expected: set[str]) -> None:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables >= expected:
        raise Corrupt(
            "a table of the database is missing",
            subject=str(path),
            expected=", ".join(sorted(expected)),
            found=", ".join(sorted(tables)),
            advice="Restore a backup.",
        )


def _check_format(path: Path, version: object) -> None:
    if version != FORMAT_VERSION:
        raise Invalid(
            "this Lakebed does not know the format of the database",
            subject=str(path),
            expected=f"format {FORMAT_VERSION}",
            found=f"format {version}",
            advice="Upgrade Lakebed.",
        )


def make_ready(path: Path, connection: apsw.Connection) -> None:
    """Create the tables of a new file, and change to WAL mode; under the write lock."""
    found = look(path, connection)
    if found is Found.READY:
        return
    if found is Found.EMPTY:
        connection.reserve_bytes(None, RESERVED_BYTES)
        connection.pragma("page_size", 4096)
    if connection.pragma("journal_mode", "wal") != "wal":
        raise Unavailable(
            "this disk can't hold a database that several processes share",
            subject=str(path),
            advice="Use another disk.",
        )
    if found is Found.EMPTY:
        with connection:
            connection.execute(_SCHEMA)
            connection.execute("INSERT INTO identity VALUES (?)", (secrets.token_bytes(_ID_BYTES),))
        sync_folder(path.parent)


def identity_of(path: Path, connection: apsw.Connection) -> bytes:
    """The 16 bytes that a store shares with its copies only."""
    found: Any = connection.execute("SELECT id FROM identity").get
    if not isinstance(found, bytes) or len(found) != _ID_BYTES:
        raise Corrupt("the identity of the database is missing", subject=str(path), advice="Restore a backup.")
    return found


def upgrade(path: Path, seconds: float) -> None:
    """Replace a file of an old format by its upgrade, under the write lock and while nobody else has it open.

    Not in place: the extension for checksums would spoil pages if SQLite had to roll back to those without them.
    """
    connection = apsw.Connection(str(path), vfs=checksummed_vfs(), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(int(seconds * 1000))
        if look(path, connection) in (Found.OLD, Found.UNFINISHED):
            _leave_wal_mode(path, connection)
            _replace(path, connection)
    finally:
        connection.close(force=True)


def _leave_wal_mode(path: Path, connection: apsw.Connection) -> None:
    """Which locks all others out, for as long as the connection is open."""
    try:
        connection.pragma("locking_mode", "exclusive")
        connection.pragma("journal_mode", "delete")
        connection.execute("BEGIN EXCLUSIVE; COMMIT")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Unavailable(
            "the lake has an old format, and can't be upgraded while another process has it open",
            subject=str(path),
            advice="Close it everywhere, then connect again. With read_only=True it is read as it is.",
        ) from error


def _replace(path: Path, connection: apsw.Connection) -> None:
    new, real = beside(path, "-upgrade"), Path(os.path.realpath(path))
    new.unlink(missing_ok=True)
    create_file(new)
    connection.reserve_bytes(None, RESERVED_BYTES)
    connection.execute("VACUUM INTO ?", (str(new),))
    _complete(new)
    os.chmod(new, os.stat(real).st_mode & 0o777)
    connection.pragma("user_version", BEING_UPGRADED)  # for those who have opened the old file, and wait
    os.replace(new, real)
    sync_folder(real.parent)


def _complete(path: Path) -> None:
    """Add what format 2 has to a copy of a database of format 1."""
    connection = apsw.Connection(str(path), vfs=checksummed_vfs(), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA synchronous = FULL").fetchall()
        with connection:
            connection.execute("CREATE TABLE identity (id BLOB NOT NULL)")
            connection.execute("INSERT INTO identity VALUES (?)", (secrets.token_bytes(_ID_BYTES),))
            connection.execute("ALTER TABLE log ADD COLUMN sum INTEGER")
            total = full_sum(connection)
            connection.execute("UPDATE log SET sum = ? WHERE version = (SELECT max(version) FROM log)", (total,))
            connection.pragma("user_version", FORMAT_VERSION)
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
