"""The store in memory."""

from collections.abc import Iterator

import pytest

from lakebed.errors import TimedOut
from lakebed.store import KeyRange, MemoryStore, Store, Transaction, memory
from lakebed.store.store import _pause
from lakebed.testing.store import StoreSuite
from lakebed.testing.store.steps import (
    put,
    runs_again_when_its_snapshot_is_older_than_the_log,
    state,
)


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with MemoryStore() as store:
            yield store


def test_a_reader_older_than_the_log_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LOGGED_COMMITS", 8)
    runs_again_when_its_snapshot_is_older_than_the_log(MemoryStore())


def test_two_stores_in_memory_share_nothing() -> None:
    first, second = MemoryStore(), MemoryStore()
    put(first, a=b"1")
    assert state(second) == {}


def test_the_retry_loop_does_not_stumble_over_many_tries() -> None:
    # What it did: after about 1,030 losses the pause was 2 ** 1030 half milliseconds, and an OverflowError.
    assert 0 <= _pause(1) <= _pause(2) + 1 and all(0 <= _pause(tries) < 0.1 for tries in (2, 7, 100, 5000))


def test_an_error_that_is_passed_on_in_the_end_is_not_its_own_cause() -> None:
    def slow(transaction: Transaction) -> None:
        raise TimedOut("too slow")

    with pytest.raises(TimedOut) as caught:
        MemoryStore().run(slow, seconds=0.01)
    assert caught.value.__cause__ is None


def test_a_range_read_behind_a_large_cleared_range_asks_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    # What it did: it asked once for each cleared key.
    store = MemoryStore()
    store.run(lambda transaction: [transaction.set(b"%05d" % number, b"") for number in range(5000)])
    scans = []
    scan = memory._MemorySnapshot.scan
    monkeypatch.setattr(memory._MemorySnapshot, "scan", lambda *args: scans.append(args) or scan(*args))
    with store.begin() as transaction:
        transaction.clear_range(KeyRange(b"00000", b"04990"))
        assert transaction.get_range(KeyRange(b"", b"\xff"), limit=1).entries == [(b"04990", b"")]
    assert len(scans) < 15
