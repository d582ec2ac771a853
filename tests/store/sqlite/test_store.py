"""The embedded store, in one process."""

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from lakebed.errors import Corrupt, Invalid, TimedOut, Unavailable
from lakebed.store import SQLiteStore, Stale, Store, limits
from lakebed.store.sqlite import file
from lakebed.store.sqlite import store as sqlite
from lakebed.testing.store import StoreSuite
from lakebed.testing.store.steps import (
    put,
    runs_again_when_its_snapshot_is_older_than_the_log,
    state,
)


class TestSQLiteStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with SQLiteStore(tmp_path / "lake.db") as store:
            yield store

    @pytest.fixture
    def other(self, store: Store, tmp_path: Path) -> Iterator[Store]:
        with SQLiteStore(tmp_path / "lake.db") as other:
            yield other


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path) as store:
        yield store


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    # Through apsw: two SQLite libraries in one process would free each other's locks.
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_what_was_committed_is_there_after_reopening(path: Path) -> None:
    with SQLiteStore(path) as store:
        first = put(store, a=b"1")
    with SQLiteStore(path) as store:
        assert state(store) == {b"a": b"1"}
        assert put(store, a=b"2").stamp > first.stamp
        assert store.read(lambda transaction: transaction.times_of([first.stamp])) == [first.time]


def test_times_do_not_go_back_with_the_clock(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = put(store, a=b"1")
    monkeypatch.setattr(sqlite.time, "time_ns", lambda: 0)
    assert put(store, a=b"2").time == first.time


# The log


def test_a_reader_older_than_the_log_runs_again(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOGGED_COMMITS", 8)
    monkeypatch.setattr(sqlite, "TRIM_EVERY", 4)
    runs_again_when_its_snapshot_is_older_than_the_log(store)


def test_the_log_stays_bounded_and_keeps_all_times(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "_SETTINGS", file._SETTINGS.replace("FULL", "OFF"))  # for the sake of time
    store = SQLiteStore(path)
    monkeypatch.setattr(sqlite, "LOGGED_COMMITS", 100)
    monkeypatch.setattr(sqlite, "TRIM_EVERY", 20)
    commits = [put(store, a=b"%d" % number) for number in range(2500)]
    assert query(path, "SELECT count(*), count(keys), min(version) FROM log")[0][0] == 2500
    kept = query(path, "SELECT version FROM log WHERE keys IS NOT NULL ORDER BY version")
    assert 100 <= len(kept) < 120
    assert kept[-1] == (2500,)
    with store.begin() as transaction:
        assert transaction.times_of([commit.stamp for commit in commits]) == [commit.time for commit in commits]


def test_the_log_is_bounded_in_bytes_too(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOGGED_BYTES", 50_000)
    monkeypatch.setattr(sqlite, "TRIM_BYTES", 5_000)
    for number in range(30):
        store.run(
            lambda transaction, n=number: [transaction.set(b"%d/%d" % (n, key), bytes(10)) for key in range(1000)]
        )
    assert query(path, "SELECT sum(length(keys)) < 60000, count(keys) > 1 FROM log") == [(1, 1)]


def test_the_newest_commit_stays_in_the_log_however_large(
    store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOGGED_BYTES", 10)
    monkeypatch.setattr(sqlite, "TRIM_BYTES", 1)
    with store.begin() as transaction:
        transaction.get(b"a")
        transaction.set(b"b", b"1")
        put(store, c=b"1")
        transaction.commit()
    assert query(path, "SELECT version FROM log WHERE keys IS NOT NULL") == [(2,)]


def test_a_damaged_log_is_corrupt(store: SQLiteStore, path: Path) -> None:
    with store.begin() as transaction:
        transaction.get(b"a")
        transaction.set(b"b", b"1")
        put(store, c=b"1")
        query(path, "UPDATE log SET keys = x'00000001ff'")
        with pytest.raises(Corrupt):
            transaction.commit()


# Snapshots and connections


def test_a_snapshot_ends_when_its_time_is_over(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, a=b"1")
    monkeypatch.setattr(limits, "TRANSACTION_SECONDS", 0.05)
    snapshot = store.open_snapshot()
    store._file.deadlines._thread.join(10)
    with pytest.raises(TimedOut):
        snapshot.get_many([b"a"])
    assert not store._file.deadlines._listed()


def test_nothing_runs_in_the_background_when_nothing_is_open(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TRANSACTION_SECONDS", 0.01)
    snapshot = store.open_snapshot()
    thread = store._file.deadlines._thread
    snapshot.close()
    thread.join(10)
    assert not thread.is_alive()
    assert state(store) == {}


def test_a_transaction_that_is_forgotten_frees_its_snapshot(store: SQLiteStore) -> None:
    transaction = store.begin()
    transaction.get(b"a")
    del transaction
    gc.collect()
    assert not list(store._file._in_use)
    assert not store._file.deadlines._listed()


def test_a_store_that_is_forgotten_frees_its_files(path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    put(SQLiteStore(path), a=b"1")
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) <= before


def test_a_closed_store_frees_its_files_also_with_transactions_open(path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    store = SQLiteStore(path)
    transactions = [store.begin() for _ in range(12)]
    for transaction in transactions:
        transaction.get(b"a")
    store.close()
    assert set(os.listdir("/proc/self/fd")) <= before
    for transaction in transactions:
        transaction.close()


def test_a_lost_commit_keeps_its_connection_for_the_next(store: SQLiteStore) -> None:
    put(store, a=b"0")
    for _ in range(20):
        with store.begin() as transaction:
            transaction.get(b"a")
            transaction.set(b"b", b"1")
            put(store, a=b"1")
            with pytest.raises(Stale):
                transaction.commit()
    assert 1 <= len(store._file._idle) <= 3
    assert not list(store._file._in_use)
    assert not any(connection.in_transaction for connection in store._file._idle)


def test_every_connection_has_its_settings(store: SQLiteStore) -> None:
    # What it did: SQLite's answer to one setting kept the ones after it from being made.
    with store.begin() as first, store.begin() as second:
        first.get(b"a")
        second.get(b"a")
    for connection in store._file._idle:
        settings = [connection.pragma(name) for name in ("synchronous", "wal_autocheckpoint", "journal_size_limit")]
        assert settings == [2, 1000, 16_000_000]
        assert connection.pragma("journal_mode") == "wal"


def test_transactions_may_begin_in_many_threads_at_once(store: SQLiteStore) -> None:
    # What it did: now and then one failed with "Set changed size during iteration".
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                with store.begin() as transaction:
                    transaction.get(b"a")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_store_closed_in_the_middle_of_commits_acknowledges_what_it_wrote(path: Path) -> None:
    # What it did: a commit that was written ended in "nothing was written", since its lock file was closed under it.
    for _ in range(20):
        store, acknowledged, refused = SQLiteStore(path), [], []

        def work(number: int, store: Store = store, said: list[int] = acknowledged, no: list[int] = refused) -> None:
            for step in range(1000):
                key = number * 1000 + step
                try:
                    store.run(lambda transaction, k=key: transaction.set(b"%d" % k, b""))
                    said.append(key)
                except Invalid:
                    no.append(key)
                    return

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        while not acknowledged:
            pass
        store.close()
        for thread in threads:
            thread.join()
        with SQLiteStore(path) as again:
            assert set(state(again)) == {b"%d" % key for key in acknowledged}
            again.run(lambda transaction: [transaction.clear(key) for key in state(again)])


# A file that goes away


def test_a_deleted_database_is_noticed(store: SQLiteStore, path: Path) -> None:
    put(store, a=b"1")
    writer = store.begin()
    writer.set(b"a", b"2")
    path.unlink()
    for call in (writer.commit, lambda: state(store), lambda: put(store, a=b"2")):
        with pytest.raises(Unavailable, match="deleted"):
            call()


def test_a_replaced_database_is_noticed(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    put(store, a=b"1")
    with SQLiteStore(tmp_path / "another.db") as another:
        put(another, b=b"2")
    os.replace(tmp_path / "another.db", path)
    with pytest.raises(Unavailable, match="replaced"):
        put(store, a=b"2")


def test_a_folder_that_cannot_be_entered_any_more_is_noticed(store: SQLiteStore, path: Path, tmp_path: Path) -> None:
    # What it did: a NotADirectoryError of the system came through.
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    os.rename(tmp_path, moved)
    tmp_path.write_text("a file now")
    with pytest.raises(Unavailable):
        put(store, a=b"1")
    tmp_path.unlink()
    os.rename(moved, tmp_path)
    put(store, a=b"1")


def test_a_lock_file_that_was_removed_is_made_anew(store: SQLiteStore, path: Path) -> None:
    # What it did: those who had it open and those who came later took different locks.
    lock = Path(f"{path}-lock")
    put(store, a=b"1")
    lock.unlink()
    put(store, a=b"2")
    assert lock.exists()
    with SQLiteStore(path, lock_seconds=0.1) as other, store._file.write_lock, pytest.raises(TimedOut):
        put(other, a=b"3")


def test_a_database_that_another_program_locked_times_out(path: Path) -> None:
    with SQLiteStore(path, lock_seconds=0.2) as store:
        outsider = apsw.Connection(str(path))
        outsider.execute("BEGIN IMMEDIATE")
        with pytest.raises(TimedOut):
            put(store, a=b"1")
        outsider.execute("ROLLBACK")
        put(store, a=b"1")
        outsider.close()


def test_a_full_database_takes_nothing_and_is_usable_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, SQLiteStore(path) as store:
        put(store, a=b"1")
        store.close()
        patch.setattr(file, "_SETTINGS", file._SETTINGS + "PRAGMA max_page_count = 20;")
        with SQLiteStore(path) as full:
            with pytest.raises(Unavailable, match="full"):
                full.run(lambda transaction: [transaction.set(b"%d" % n, bytes(90_000)) for n in range(3)])
            assert state(full) == {b"a": b"1"}
            put(full, b=b"2")
    with SQLiteStore(path) as store:
        assert state(store) == {b"a": b"1", b"b": b"2"}


def test_threads_wait_for_each_other_no_longer_than_asked(path: Path) -> None:
    with SQLiteStore(path, lock_seconds=0.1) as store, store._file.write_lock:
        problems: list[BaseException] = []

        def work() -> None:
            try:
                put(store, a=b"1")
            except TimedOut as error:
                problems.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert len(problems) == 1
