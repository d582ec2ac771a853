"""The sum of all rows, which each commit stores: whatever happens to the file, a scan says whether all are there.

    sum = Σ hash(k + v, seed = length of k) + Σ hash(version:8 time:8)        modulo 2^64, signed

SQLite itself says which rows a commit replaces or deletes, by triggers: reading them before would cost twice as much.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import apsw
import mmh3

from lakebed.store.store import check_order

_COMMIT = struct.Struct(">QQ")
_TRIGGERS = """
    CREATE TEMP TRIGGER replaced AFTER UPDATE ON main.kv BEGIN SELECT row_went(old.k, old.v); END;
    CREATE TEMP TRIGGER deleted AFTER DELETE ON main.kv BEGIN SELECT row_went(old.k, old.v); END;
"""
_PAGE = 2_000

_tallies: "WeakKeyDictionary[apsw.Connection, Tally]" = WeakKeyDictionary()


class Tally:
    """Adds up, with a minus, the rows that a connection replaces or deletes."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.total = 0
        connection.create_scalar_function("row_went", self._went, 2)
        connection.execute(_TRIGGERS)

    def _went(self, *row: Any) -> None:
        self.total -= row_hash(*row)


def tally_of(connection: apsw.Connection) -> Tally:
    """The tally of a connection, which is outside a transaction."""
    found = _tallies.get(connection)
    if found is None:
        found = _tallies[connection] = Tally(connection)
    return found


def row_hash(key: bytes, value: bytes) -> int:
    return mmh3.hash64(key + value, len(key))[0]


def rows_sum(rows: Iterable[tuple[bytes, bytes]]) -> int:
    return sum(row_hash(key, value) for key, value in rows)


def commit_hash(version: int, time: int) -> int:
    return mmh3.hash64(_COMMIT.pack(version, time))[0]


def signed(total: int) -> int:
    """A total modulo 2^64, as SQLite stores integers."""
    return (total + (1 << 63)) % (1 << 64) - (1 << 63)


def full_sum(connection: apsw.Connection, calls: AbstractContextManager[None] | None = None) -> int:
    """The sum of all rows that a connection sees, in its open transaction; each page is read inside `calls`."""
    total = 0
    for page in _pages(connection, "SELECT k, v FROM kv", calls):
        total += rows_sum(page)
    for page in _pages(connection, "SELECT version, time FROM log", calls):
        total += sum(commit_hash(version, time) for version, time in page)
    return signed(total)


def _pages(connection: apsw.Connection, query: str, calls: AbstractContextManager[None] | None) -> Iterator[list[Any]]:
    inside = calls or nullcontext()
    with inside:
        cursor = connection.execute(query)
    while True:
        with inside:
            page = list(islice(cursor, _PAGE))
        if not page:
            return
        yield page


def rewrite_times(connection: apsw.Connection, times: Mapping[int, int]) -> None:
    """Write the times of these versions, inside a transaction; `Invalid` if times would decrease.

    The sum of every commit since the first of them has the old times in it, so it changes, too.
    """
    since = "SELECT version, time, sum FROM log WHERE version >= ? ORDER BY version"
    rows: Any = connection.execute(since, (min(times) - 1,)).fetchall()
    check_order([times.get(version, time) for version, time, _ in rows])
    changed, more = [], 0
    for version, time, total in rows:
        new = times.get(version, time)
        more += commit_hash(version, new) - commit_hash(version, time)
        changed.append((new, None if total is None else signed(total + more), version))
    connection.executemany("UPDATE log SET time = ?, sum = ? WHERE version = ?", changed)
