"""The check of a database file: its pages, the sum of its rows, its note."""

from contextlib import suppress
from typing import Any

from lakebed.errors import Corrupt
from lakebed.store.sqlite.file import DatabaseFile
from lakebed.store.sqlite.wholeness import note_problems, sum_problems
from lakebed.store.transaction import Stale

_ATTEMPTS = 3  # a fork ends the check's snapshot
_MOST = 20  # problems of pages that are listed


def check_file(file: DatabaseFile) -> list[str]:
    """Everything that is wrong with the file, one sentence each."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(Stale):
            return _listed(file)
    return _listed(file)


def _listed(file: DatabaseFile) -> list[str]:
    try:
        return [f"{file.path}: {problem}" for problem in _problems(file)]
    except Corrupt as error:
        return [str(error)]


def _problems(file: DatabaseFile) -> list[str]:
    noted = file.noted()
    generation = file.generation
    with file.calls:
        connection = file.connection()
        connection.execute("BEGIN")
    try:
        with file.calls:
            pages: list[Any] = connection.execute(f"PRAGMA integrity_check({_MOST})").fetchall()
        problems = [text for (text,) in pages if text != "ok"]
        if file.id and not problems:
            problems += sum_problems(connection, file.calls) + note_problems(connection, file.calls, file.id, noted)
        return problems
    finally:
        with file.calls:
            if generation != file.generation:
                raise Stale("the process forked, which ends its snapshots")
            file.release(connection)
