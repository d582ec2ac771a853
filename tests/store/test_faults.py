"""The stores that lose answers and that record conflict sets."""

from collections.abc import Iterator

import pytest

from lakebed.errors import OutcomeUnknown
from lakebed.store import KeyRange, MemoryStore, Stale, Store, Transaction
from lakebed.testing.store import StoreSuite
from lakebed.testing.store.steps import STAMP, put, state
from tests.support.faults import Fault, FaultyStore, RecordingStore


class TestFaultyStore(StoreSuite):
    """With no fault armed, it is the store under it."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with FaultyStore(MemoryStore()) as store:
            yield store


class TestRecordingStore(StoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with RecordingStore(MemoryStore()) as store:
            yield store


@pytest.fixture
def faulty() -> FaultyStore:
    return FaultyStore(MemoryStore())


@pytest.mark.parametrize(("fault", "after"), [(Fault.BEFORE_COMMIT, {}), (Fault.AFTER_COMMIT, {b"a": b"1"})])
def test_the_outcome_is_unknown_and_run_says_so(faulty: FaultyStore, fault: Fault, after: dict[bytes, bytes]) -> None:
    faulty.arm(fault)
    with pytest.raises(OutcomeUnknown):
        faulty.run(lambda transaction: transaction.set(b"a", b"1"))
    assert state(faulty) == after
    assert faulty.armed == ()


@pytest.mark.parametrize("faults", [[Fault.BEFORE_COMMIT], [Fault.AFTER_COMMIT], list(Fault) * 2])
def test_work_that_finds_its_earlier_try_runs_again_and_takes_effect_once(
    faulty: FaultyStore, faults: list[Fault]
) -> None:
    def work(transaction: Transaction) -> None:
        if transaction.get(b"event") is None:
            transaction.set(b"event", b"mine")
            transaction.set(b"counter", b"%d" % (int(transaction.get(b"counter") or b"0") + 1))

    faulty.arm(*faults)
    faulty.run_idempotent(work)
    assert state(faulty) == {b"event": b"mine", b"counter": b"1"}


def test_an_outcome_that_stays_unknown_is_passed_on_in_the_end(faulty: FaultyStore) -> None:
    faulty.arm(*[Fault.BEFORE_COMMIT] * 1000)
    with pytest.raises(OutcomeUnknown):
        faulty.run_idempotent(lambda transaction: transaction.set(b"a", b"1"), seconds=0.02)


def test_reading_meets_no_fault(faulty: FaultyStore) -> None:
    faulty.arm(Fault.AFTER_COMMIT)
    assert faulty.run(lambda transaction: transaction.get(b"a")).value is None
    assert faulty.armed == (Fault.AFTER_COMMIT,)


def test_a_lost_transaction_has_ended(faulty: FaultyStore) -> None:
    faulty.arm(Fault.BEFORE_COMMIT)
    with faulty.begin() as transaction:
        transaction.set(b"a", b"1")
        with pytest.raises(OutcomeUnknown):
            transaction.commit()
    assert put(faulty, b=b"2") is not None
    assert state(faulty) == {b"b": b"2"}


@pytest.fixture
def recording() -> RecordingStore:
    return RecordingStore(MemoryStore())


def test_each_commit_is_recorded_with_what_it_read_and_wrote(recording: RecordingStore) -> None:
    put(recording, a=b"1", c=b"3", e=b"5")
    with recording.begin() as transaction:
        transaction.get(b"a")
        transaction.snapshot.get(b"unrecorded")
        transaction.get_range(KeyRange(b"b", b"z"), limit=1)
        transaction.get_range(KeyRange(b"x", b"z"))
        transaction.add_read_conflict_key(b"k")
        transaction.add_read_conflict_range(KeyRange(b"l", b"m"))
        transaction.set(b"a", b"2")
        transaction.clear(b"c")
        transaction.set_stamped_key(b"s" + STAMP, 1, b"")
        transaction.set_stamped_value(b"t", STAMP, 0)
        transaction.clear_range(KeyRange(b"u", b"v"))
        committed = transaction.commit()
    assert committed is not None
    last = recording.commits[-1]
    assert last.committed == committed
    assert last.reads.keys == {b"a", b"k"}
    assert list(last.reads.ranges) == [KeyRange(b"b", b"c\x00"), KeyRange(b"x", b"z"), KeyRange(b"l", b"m")]
    assert set(last.written.keys) == {b"a", b"c", b"s" + committed.stamp, b"t"}
    assert last.written.ranges == (KeyRange(b"u", b"v"),)


def test_what_did_not_commit_is_not_recorded(recording: RecordingStore) -> None:
    recording.run(lambda transaction: transaction.get(b"a"))
    with recording.begin() as transaction:
        transaction.set(b"a", b"1")
    with recording.begin() as transaction:
        transaction.get(b"b")
        transaction.set(b"a", b"1")
        recording.store.run(lambda rival: rival.set(b"b", b"2"))
        with pytest.raises(Stale):
            transaction.commit()
    assert recording.commits == []


def test_commits_meet_when_they_share_a_key_that_one_of_them_writes(recording: RecordingStore) -> None:
    def commit(read: bytes, write: bytes) -> None:
        with recording.begin() as transaction:
            transaction.get(read)
            transaction.set(write, b"")
            transaction.commit()

    for read, write in ((b"r", b"a"), (b"r", b"b"), (b"a", b"c"), (b"x", b"b")):
        commit(read, write)
    recording.run(lambda transaction: transaction.clear_range(KeyRange(b"b", b"c")))
    first, second, reads_first, writes_second, clears_second = recording.commits
    assert not first.meets(second)
    assert first.meets(reads_first) and reads_first.meets(first)
    assert second.meets(writes_second)
    assert clears_second.meets(second) and second.meets(clears_second)
    assert not clears_second.meets(first)
