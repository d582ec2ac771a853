"""Bits that flip in a closed database file: an error or the right answer, never a wrong one."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import Corrupt, LakebedError
from lakebed.store import KeyRange, ReadOnlySQLiteStore, SQLiteStore, Transaction
from lakebed.testing.store.steps import EVERYTHING

FLIPS = [120, pytest.param(2500, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of some 60 pages: keys with a common prefix, as a lake has them, overwritten and deleted."""
    path, choose = tmp_path_factory.mktemp("rot") / "lake.db", random.Random(1)

    def work(transaction: Transaction) -> None:
        for _ in range(12):
            key = b"lake/%d/%06d" % (choose.randrange(4), choose.randrange(2000))
            transaction.set(key, choose.randbytes(choose.choice([5, 100, 400])))
        transaction.clear_range(KeyRange(b"lake/2/", b"lake/2/%06d" % choose.randrange(500)))

    with SQLiteStore(path) as store:
        for _ in range(80):
            store.run(work)
    assert not Path(f"{path}-wal").exists()
    return path


def answers(store: SQLiteStore, keys: list[bytes]) -> Any:
    def work(transaction: Transaction) -> Any:
        return (
            [transaction.snapshot.get(key) for key in keys],
            transaction.snapshot.get_range(KeyRange(b"lake/1/", b"lake/2/")).entries,
            transaction.snapshot.get_range(KeyRange(b"lake/3/", b"lake/4/"), limit=20, reverse=True).entries,
            transaction.read_stamp,
            transaction.times_of([bytes([0] * 9 + [version]) for version in range(1, 81, 9)]),
        )

    return store.read(work)


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("open_store", [SQLiteStore, ReadOnlySQLiteStore])
def test_a_flipped_bit_never_gives_a_wrong_answer(
    original: Path, tmp_path: Path, flips: int, open_store: type[SQLiteStore]
) -> None:
    """What it did: 13 of 1,319 flipped bits gave wrong answers without an error."""
    choose = random.Random(flips)
    with SQLiteStore(original) as store:
        whole = store.read(lambda transaction: transaction.get_range(EVERYTHING).entries)
        keys = [key for key, _ in choose.sample(whole, 60)] + [b"lake/1/%06d" % n for n in range(0, 2000, 50)]
        expected = answers(store, keys)
    path, data, found = tmp_path / "lake.db", original.read_bytes(), 0
    shutil.copyfile(f"{original}-newest", f"{path}-newest")
    path.write_bytes(data)
    open_store(path).close()
    SQLiteStore(path).close()  # which writes a note for this file, so that it is not scanned each time
    for _ in range(flips):
        at = choose.randrange(len(data) * 8)
        rotten = bytearray(data)
        rotten[at // 8] ^= 1 << at % 8
        with open(path, "r+b") as file:  # the same file
            file.write(rotten)
        found += _ends_well(path, open_store, keys, expected, at)
        with open(path, "r+b") as file:
            file.write(data)
            file.truncate()
        for left in ("-wal", "-shm", "-journal"):
            Path(f"{path}{left}").unlink(missing_ok=True)
    assert found > flips // 3


def _ends_well(path: Path, open_store: type[SQLiteStore], keys: list[bytes], expected: Any, at: int) -> bool:
    """Whether the damage was reported; the answers are right if not."""
    try:
        with open_store(path) as store:
            assert answers(store, keys) == expected, f"bit {at % 8} of byte {at // 8}"
    except LakebedError as error:
        assert isinstance(error, Corrupt) or at < 100 * 8, (at, error)  # of the header, other errors are fine
        return True
    return False


def test_damage_is_listed_by_the_check(original: Path, tmp_path: Path) -> None:
    path = tmp_path / "lake.db"
    shutil.copyfile(original, path)
    shutil.copyfile(f"{original}-newest", f"{path}-newest")
    with SQLiteStore(path) as store:
        assert store.check() == []
        for page in range(5, path.stat().st_size // 4096, 7):
            descriptor = os.open(path, os.O_RDWR)
            os.pwrite(descriptor, b"rot", page * 4096 + 2000)
            os.close(descriptor)
            break
    with SQLiteStore(path) as store:
        assert any(str(path) in text for text in store.check())
