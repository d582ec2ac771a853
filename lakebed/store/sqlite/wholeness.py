"""Whether a database has all that was committed: compared with its note, and by the sum of its rows."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import apsw

from lakebed.errors import Corrupt
from lakebed.store.sqlite.failures import RESTORE
from lakebed.store.sqlite.note import Newest, read_note
from lakebed.store.sqlite.paths import beside, size_of
from lakebed.store.sqlite.sums import full_sum

Calls = AbstractContextManager[Any]


def refuse_lost(path: Path, note: Path) -> None:
    """Refuse to create a database where one was: its note or its log is there, and it is missing or empty."""
    # In this order: whoever creates a database writes these after it.
    left = [file for file in (note, beside(path, "-wal")) if size_of(file)]
    if left and not size_of(path):
        raise Corrupt(
            "the database is missing or empty, but files that belong to it are there",
            subject=str(path),
            found=", ".join(file.name for file in left),
            advice=f"{RESTORE} To begin a new one, delete these files.",
        )


def examine(
    path: Path, note: Path, id: bytes, home: tuple[int, int], connection: apsw.Connection, calls: Calls
) -> bool:
    """Refuse a database that is not whole; False if it has no note of its own yet.

    Without one it may be a copy, made while others wrote: then all of its rows are compared with the sum.
    """
    noted = read_note(note)  # before the newest version is read, which only grows
    if noted is not None and noted.id != id:
        raise Corrupt(
            "the database is another one than its note says: it was replaced",
            subject=str(path),
            expected=f"the database with the id {noted.id.hex()}",
            found=id.hex(),
            advice=f"Put the right one back. If this is the right one, delete {note}, and connect again.",
        )
    with calls:
        connection.execute("BEGIN")
    try:
        with calls:
            version = newest_version(connection)
        if noted is not None and noted.version > version:
            raise went_back(path, note, version, noted.version)
        is_at_home = noted is not None and (noted.filesystem, noted.inode) == home
        # A log that was left, or is in use, may be of a newer database than the file that it lies beside.
        if is_at_home and (not size_of(beside(path, "-wal")) or counted_commits(connection, calls) == version):
            return True
        problems = sum_problems(connection, calls)
        if problems:
            raise Corrupt(
                f"{problems[0]}: it is damaged, or a copy that was made while others wrote",
                subject=str(path),
                advice=f"{RESTORE} To copy a lake that is in use, call lake.backup.",
            )
        return False
    finally:
        with calls:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def newest_version(connection: apsw.Connection) -> int:
    """The version of the newest commit, 0 before the first."""
    found: int | None = connection.execute("SELECT max(version) FROM log").get
    return found or 0


def counted_commits(connection: apsw.Connection, calls: Calls) -> int:
    with calls:
        counted: int = connection.execute("SELECT count(*) FROM log").get
    return counted


def sum_problems(connection: apsw.Connection, calls: Calls) -> list[str]:
    """What is wrong with the rows that a connection sees in its open read transaction."""
    with calls:
        row: Any = connection.execute("SELECT version, sum FROM log ORDER BY version DESC LIMIT 1").fetchone()
        version, expected = row or (0, 0)
    counted = counted_commits(connection, calls)
    problems = []
    if counted != version:
        problems.append(f"the database has {counted:,} commits instead of {version:,}")
    if full_sum(connection, calls) != expected:
        problems.append(f"the rows of the database are not those of its newest version, {version}")
    return problems


def note_problems(connection: apsw.Connection, calls: Calls, id: bytes, noted: Newest | None) -> list[str]:
    """What a note, read before the transaction began, says that the database does not."""
    with calls:
        version = newest_version(connection)
    if noted is None:
        return []
    if noted.id != id:
        return [f"its note is of another database, with the id {noted.id.hex()}"]
    return [_lost(version, noted.version)] if noted.version > version else []


def _lost(version: int, noted: int) -> str:
    lost = f"version {noted}, which was" if noted == version + 1 else f"versions {version + 1} to {noted}, which were"
    return f"the database has lost {lost} committed"


def went_back(path: Path, note: Path, version: int, noted: int) -> Corrupt:
    """The error of a database that has lost commits."""
    return Corrupt(
        _lost(version, noted),
        subject=str(path),
        expected=f"version {noted}",
        found=f"version {version}",
        advice=f"Restore a newer copy. To go on without these versions, delete {note}, and connect again.",
    )
