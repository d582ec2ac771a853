"""Copies of a store's file as of one moment, made while others write."""

import threading
from pathlib import Path

import pytest

from lakebed.errors import AlreadyExists, Invalid
from lakebed.store import KeyRange, MemoryStore, SQLiteStore, Store, Transaction


def entries(store: Store) -> list[tuple[bytes, bytes]]:
    return store.read(lambda transaction: transaction.snapshot.get_range(KeyRange(b"", b"\xff")).entries)


def put(store: Store, key: bytes, value: bytes) -> None:
    def work(transaction: Transaction) -> None:
        transaction.set(key, value)

    store.run(work)


def test_a_copy_has_the_same_rows_and_versions(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "own.db") as store:
        for number in range(5):
            put(store, b"k%d" % number, b"v" * 1000)
        store.copy_to(str(tmp_path / "copy.db"))
        put(store, b"later", b"")
        with SQLiteStore(tmp_path / "copy.db") as copy:
            assert entries(copy) == [(b"k%d" % number, b"v" * 1000) for number in range(5)]
            stamp = copy.read(lambda transaction: transaction.read_stamp)
            assert stamp < store.read(lambda transaction: transaction.read_stamp)
            put(copy, b"own", b"")
        assert b"own" not in dict(entries(store))


def test_a_copy_while_threads_write_is_one_version(tmp_path: Path) -> None:
    """Two keys are always written together."""
    with SQLiteStore(tmp_path / "own.db") as store:
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                value = b"%d" % number

                def both(transaction: Transaction, value: bytes = value) -> None:
                    transaction.set(b"a", value)
                    transaction.set(b"z" * 1000, value)

                store.run(both)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                store.copy_to(str(tmp_path / f"{number}.db"))
        finally:
            stop.set()
            writer.join()
    for number in range(5):
        with SQLiteStore(tmp_path / f"{number}.db") as copy:
            assert len({value for _, value in entries(copy)}) <= 1


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep me")
    with SQLiteStore(tmp_path / "own.db") as store, pytest.raises(AlreadyExists):
        store.copy_to(str(tmp_path / "mine"))
    assert (tmp_path / "mine").read_text() == "keep me"


def test_a_store_without_a_file_can_not_be_copied(tmp_path: Path) -> None:
    with MemoryStore() as store, pytest.raises(Invalid, match="can't be copied"):
        store.copy_to(str(tmp_path / "copy"))
