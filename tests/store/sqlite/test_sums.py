"""The sum of all rows, which each commit stores."""

import random
from pathlib import Path

import apsw
import pytest

from lakebed.store import KeyRange, SQLiteStore, Transaction
from lakebed.store.sqlite import sums
from lakebed.store.sqlite.checksums import checksummed_vfs

ROW, COMMIT = -7109217513093989487, 7786998020041394420


def test_golden_hashes() -> None:
    """Stored sums are made of them: they never change."""
    assert sums.row_hash(b"key", b"value") == ROW
    assert sums.row_hash(b"keyv", b"alue") != ROW
    assert sums.commit_hash(17, 1_700_000_000_000_000) == COMMIT
    assert [sums.signed(total) for total in (1 << 63, -1, (1 << 64) + 5)] == [-(1 << 63), -1, 5]


def test_the_sum_of_many_commits_is_that_of_a_scan(tmp_path: Path) -> None:
    choose = random.Random(5)

    def change(transaction: Transaction) -> None:
        key = b"%d" % choose.randrange(40)
        begin, end = sorted((key, b"%d" % choose.randrange(40)))
        choose.choice(
            [
                lambda: transaction.set(key, choose.randbytes(choose.randrange(5))),
                lambda: transaction.set(key, choose.randbytes(9000)),
                lambda: transaction.clear(key),
                lambda: transaction.clear_range(KeyRange(begin, end)),
                lambda: transaction.set_stamped_key(bytes(12), 2, b"stamped"),
            ]
        )()

    def work(transaction: Transaction) -> None:
        for _ in range(choose.randrange(6)):
            change(transaction)

    with SQLiteStore(tmp_path / "a.db") as store, SQLiteStore(tmp_path / "a.db") as other:
        for number in range(200):
            (store, other)[number % 2].run(work)
            if number % 20 == 0:
                assert store.check() == []
        assert other.check() == []


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM kv WHERE k = x'32'",
        "UPDATE kv SET v = x'00' WHERE k = x'32'",
        "UPDATE kv SET k = x'00' WHERE k = x'32'",
        "INSERT INTO kv VALUES (x'00', x'00')",
        "UPDATE log SET time = time + 1 WHERE version = 2",
        "DELETE FROM log WHERE version = 2",
    ],
)
def test_a_row_that_was_changed_behind_the_stores_back_is_found_by_its_check(tmp_path: Path, change: str) -> None:
    """What it did: such a row was as good as any other."""
    path = tmp_path / "a.db"
    with SQLiteStore(path) as store:
        for number in range(5):
            store.run(lambda transaction, n=number: transaction.set(b"%d" % n, b"value"))
        assert store.check() == []
    connection = apsw.Connection(str(path), vfs=checksummed_vfs())
    connection.execute(change)
    connection.close()
    with SQLiteStore(path) as store:
        assert any("instead of" in text or "not those of its newest version" in text for text in store.check())
