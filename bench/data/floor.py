"""The floor under a commit: the same keys and values in a bare apsw transaction, or in one of the store."""

from pathlib import Path

import apsw

from lakebed.metastore import new_id
from lakebed.records import layout
from lakebed.records.layout import Space
from lakebed.store import Committed, SQLiteStore, Transaction
from lakebed.store.conflicts import Batch, ReadSet, WriteSet

_SETUP = """
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = 16000000;
    CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE log (version INTEGER PRIMARY KEY, time INTEGER NOT NULL, keys BLOB);
"""


class RecordingStore(SQLiteStore):
    """A store that remembers the writes of its last commit."""

    last: tuple[WriteSet, Committed]

    def apply(self, reads: ReadSet, writes: WriteSet, since: bytes | None) -> Committed:
        committed = super().apply(reads, writes, since)
        self.last = writes, committed
        return committed

    def last_rows(self) -> "Rows":
        writes, committed = self.last
        return Rows(writes.batch(committed.stamp), committed)


class Rows:
    """A commit as rows, for the bare transaction to write again."""

    def __init__(self, batch: Batch, committed: Committed) -> None:
        assert not batch.cleared and not batch.cleared_ranges, "a bare transaction only sets"
        self.entries = list(batch.entries.items())
        self.log = int.from_bytes(committed.stamp), committed.time, batch.written.encode()


class FloorDatabase:
    """SQLite with the store's tables and settings, without the store's code."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute(_SETUP).fetchall()

    def write(self, rows: Rows) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR REPLACE INTO kv VALUES (?, ?)", rows.entries)
        connection.execute("INSERT INTO log VALUES (?, ?, ?)", rows.log)
        connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def write_again(transaction: Transaction, writes: WriteSet) -> None:
    """Write what a metastore's commit wrote, as another commit: at a new version, with an event id of its own."""
    for key, value in writes.values.items():
        assert value is not None, "a bare transaction only sets"
        transaction.set(key, value)
    for (key, offset), value in writes.stamped_keys.items():
        transaction.set_stamped_key(key, offset, value)
    for key, (value, offset) in writes.stamped_values.items():
        is_event = key.startswith(layout.PREFIX[Space.COMMIT])
        transaction.set_stamped_value(layout.commit_key(new_id()) if is_event else key, value, offset)
