"""The suite that every store passes. An outside backend subclasses it and gives it a `store`.

class TestMyStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with MyStore(tmp_path) as store:
            yield store

    @pytest.fixture
    def other(self, store, tmp_path):        # a second handle on the same data, where the backend has one
        with MyStore(tmp_path) as other:
            yield other
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lakebed.errors import Invalid, LakebedError, TimedOut, TooLarge, Unavailable
from lakebed.store import Committed, KeyRange, RangeRead, Stale, Store, Transaction, limits
from lakebed.store.transaction import STAMP_BYTES

EVERYTHING = KeyRange(b"", b"\xff")
STAMP = bytes(STAMP_BYTES)

Entries = list[tuple[bytes, bytes]]
Write = Callable[[Transaction], object]


def put(store: Store, **values: bytes | None) -> Committed:
    """Set the keys that the names mean; clear those whose value is None."""
    with store.begin() as transaction:
        for name, value in values.items():
            if value is None:
                transaction.clear(name.encode())
            else:
                transaction.set(name.encode(), value)
        return committed(transaction)


def committed(transaction: Transaction) -> Committed:
    answer = transaction.commit()
    assert answer is not None
    return answer


def state(store: Store) -> dict[bytes, bytes]:
    return store.read(lambda transaction: dict(transaction.get_range(EVERYTHING).entries))


def contents(transaction: Transaction) -> Entries:
    return transaction.get_range(EVERYTHING).entries


def getting(key: bytes) -> Write:
    return lambda transaction: transaction.get(key)


def setting(key: bytes, value: bytes = b"another") -> Write:
    return lambda transaction: transaction.set(key, value)


def ranging(range: KeyRange, **options: Any) -> Write:
    return lambda transaction: transaction.get_range(range, **options)


def runs_again_when_its_snapshot_is_older_than_the_log(store: Store) -> None:
    """For stores with a log of commits, of at most 8 here: what is older can't be checked, so it runs again."""
    tries = 0

    def work(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        transaction.get(b"a")
        if tries == 1:
            for _ in range(40):
                put(store, unrelated=b"1")
        transaction.set(b"b", b"1")

    store.run(work)
    assert tries == 2
    assert state(store) == {b"b": b"1", b"unrelated": b"1"}


class StoreSuite:
    """What a store promises, whatever is under it. `store` is empty; `other` sees the same data."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("the subclass says how to open an empty store")

    @pytest.fixture
    def other(self, store: Store) -> Iterator[Store]:
        yield store

    # Reading and writing

    def test_a_key_that_was_never_set_is_absent(self, store: Store) -> None:
        with store.begin() as transaction:
            assert transaction.get(b"a") is None

    def test_what_is_committed_is_read_by_all(self, store: Store, other: Store) -> None:
        put(store, a=b"1", b=b"2")
        assert state(store) == state(other) == {b"a": b"1", b"b": b"2"}

    def test_a_later_value_replaces_an_earlier_one(self, store: Store) -> None:
        put(store, a=b"1")
        put(store, a=b"2")
        assert state(store) == {b"a": b"2"}

    def test_the_empty_key_and_the_empty_value_are_like_all_others(self, store: Store) -> None:
        store.run(lambda transaction: transaction.set(b"", b""))
        with store.begin() as transaction:
            assert transaction.get(b"") == b""
            assert contents(transaction) == [(b"", b"")]

    def test_keys_and_values_of_any_bytes_come_back_as_they_were(self, store: Store) -> None:
        keys = [b"\x00", b"\x00\x00", b"\x00\xff", b"a", b"a\x00", b"a\xff", b"\x80", b"\xfe\xff"]
        store.run(lambda transaction: [transaction.set(key, key[::-1]) for key in keys])
        assert list(state(store).items()) == [(key, key[::-1]) for key in sorted(keys)]

    def test_a_cleared_key_is_absent(self, store: Store) -> None:
        put(store, a=b"1", b=b"2")
        put(store, a=None)
        assert state(store) == {b"b": b"2"}

    def test_clearing_what_is_not_there_is_a_commit_like_another(self, store: Store) -> None:
        before = put(store, a=b"1")
        assert put(store, nothing=None).stamp > before.stamp
        assert state(store) == {b"a": b"1"}

    def test_a_cleared_range_is_empty_from_begin_to_before_end(self, store: Store) -> None:
        put(store, a=b"1", b=b"2", c=b"3", d=b"4")
        store.run(lambda transaction: transaction.clear_range(KeyRange(b"b", b"d")))
        assert state(store) == {b"a": b"1", b"d": b"4"}

    def test_a_range_whose_end_is_not_after_its_begin_is_empty(self, store: Store) -> None:
        put(store, a=b"1", b=b"2")
        with store.begin() as transaction:
            assert transaction.get_range(KeyRange(b"b", b"a")).entries == []
            assert transaction.get_range(KeyRange(b"a", b"a")).entries == []
            transaction.clear_range(KeyRange(b"c", b"a"))
            transaction.clear_range(KeyRange(b"b", b"b"))
            assert contents(transaction) == [(b"a", b"1"), (b"b", b"2")]

    def test_many_keys_in_one_call_are_answered_in_the_order_asked(self, store: Store) -> None:
        put(store, a=b"1", b=b"2")
        with store.begin() as transaction:
            assert transaction.get_many([b"b", b"x", b"a", b"b"]) == [b"2", None, b"1", b"2"]
            assert transaction.get_many([]) == []

    def test_many_ranges_in_one_call_are_answered_in_the_order_asked(self, store: Store) -> None:
        put(store, a=b"1", b=b"2", c=b"3")
        with store.begin() as transaction:
            pages = transaction.get_ranges(
                [
                    RangeRead(KeyRange(b"b", b"z")),
                    RangeRead(KeyRange(b"x", b"z")),
                    RangeRead(EVERYTHING, limit=1, reverse=True),
                ]
            )
            assert [page.entries for page in pages] == [[(b"b", b"2"), (b"c", b"3")], [], [(b"c", b"3")]]
            assert transaction.get_ranges([]) == []

    # Ranges

    def test_a_range_is_in_order_of_the_bytes_of_its_keys(self, store: Store) -> None:
        store.run(lambda transaction: [transaction.set(key, b"") for key in (b"b", b"a\xff", b"B", b"a", b"\xf0")])
        with store.begin() as transaction:
            assert [key for key, _ in contents(transaction)] == [b"B", b"a", b"a\xff", b"b", b"\xf0"]
            backwards = transaction.get_range(EVERYTHING, reverse=True).entries
            assert backwards == contents(transaction)[::-1]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_limited_range_goes_on_where_it_stopped(self, store: Store, reverse: bool) -> None:
        store.run(lambda transaction: [transaction.set(b"%03d" % number, b"") for number in range(100)])
        with store.begin() as transaction:
            whole = transaction.get_range(EVERYTHING, reverse=reverse)
            assert whole.rest is None
            assert self._pages(transaction, 7, reverse) == whole.entries

    def test_a_page_that_ends_with_the_range_may_leave_an_empty_rest(self, store: Store) -> None:
        put(store, a=b"1", b=b"2")
        with store.begin() as transaction:
            page = transaction.get_range(EVERYTHING, limit=2)
            assert page.entries == [(b"a", b"1"), (b"b", b"2")]
            assert page.rest is None or transaction.get_range(page.rest).entries == []

    def test_a_limit_above_what_is_there_leaves_no_rest(self, store: Store) -> None:
        put(store, a=b"1")
        with store.begin() as transaction:
            assert transaction.get_range(EVERYTHING, limit=2).rest is None

    def test_a_limit_below_one_is_refused(self, store: Store) -> None:
        with store.begin() as transaction, pytest.raises(Invalid):
            transaction.get_range(EVERYTHING, limit=0)

    @staticmethod
    def _pages(transaction: Transaction, limit: int, reverse: bool) -> Entries:
        entries: Entries = []
        rest: KeyRange | None = EVERYTHING
        while rest is not None:
            page = transaction.get_range(rest, limit=limit, reverse=reverse)
            assert len(page.entries) <= limit
            entries += page.entries
            rest = page.rest
        return entries

    # Own writes

    def test_a_transaction_reads_its_own_writes(self, store: Store) -> None:
        put(store, a=b"1", b=b"2", c=b"3")
        with store.begin() as transaction:
            transaction.set(b"a", b"new")
            transaction.clear(b"b")
            transaction.set(b"d", b"4")
            assert transaction.get_many([b"a", b"b", b"c", b"d"]) == [b"new", None, b"3", b"4"]
            assert transaction.snapshot.get(b"a") == b"new"
            assert contents(transaction) == [(b"a", b"new"), (b"c", b"3"), (b"d", b"4")]
        assert state(store) == {b"a": b"1", b"b": b"2", b"c": b"3"}

    def test_a_transaction_that_reads_nothing_stored_reads_its_own_writes(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"a", b"1")
            assert transaction.get(b"a") == b"1"
            assert contents(transaction) == [(b"a", b"1")]

    def test_what_is_set_after_a_cleared_range_stays(self, store: Store) -> None:
        put(store, a=b"1", b=b"2", c=b"3")
        with store.begin() as transaction:
            transaction.set(b"b", b"gone")
            transaction.clear_range(KeyRange(b"a", b"c"))
            assert transaction.get_many([b"a", b"b", b"c"]) == [None, None, b"3"]
            transaction.set(b"b", b"new")
            assert contents(transaction) == [(b"b", b"new"), (b"c", b"3")]
            transaction.commit()
        assert state(store) == {b"b": b"new", b"c": b"3"}

    def test_a_range_cleared_twice_with_a_write_between_is_empty(self, store: Store) -> None:
        put(store, a=b"1")
        with store.begin() as transaction:
            transaction.clear_range(EVERYTHING)
            transaction.set(b"b", b"2")
            transaction.clear_range(KeyRange(b"b", b"c"))
            assert contents(transaction) == []
            transaction.commit()
        assert state(store) == {}

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 50])
    def test_a_limited_range_counts_own_writes_and_skips_own_clears(
        self, store: Store, limit: int, reverse: bool
    ) -> None:
        store.run(lambda transaction: [transaction.set(b"%02d" % number, b"old") for number in range(0, 60, 2)])
        with store.begin() as transaction:
            transaction.clear_range(KeyRange(b"04", b"40"))
            transaction.clear(b"42")
            for number in (1, 17, 18, 51, 61):
                transaction.set(b"%02d" % number, b"new")
            expected = [
                b"00",
                b"01",
                b"02",
                b"17",
                b"18",
                *[b"%02d" % n for n in (40, 44, 46, 48, 50, 51, 52, 54, 56, 58)],
            ]
            expected.append(b"61")
            found = [key for key, _ in self._pages(transaction, limit, reverse)]
            assert found == (expected[::-1] if reverse else expected)

    # Isolation and conflicts

    def test_a_transaction_goes_on_reading_the_state_that_it_began_to_read(self, store: Store, other: Store) -> None:
        put(store, a=b"1", b=b"1")
        with store.begin() as transaction:
            assert transaction.get(b"a") == b"1"
            put(other, a=b"2", b=b"2", c=b"2")
            assert transaction.get_many([b"a", b"b", b"c"]) == [b"1", b"1", None]
            assert contents(transaction) == [(b"a", b"1"), (b"b", b"1")]
            assert transaction.commit() is None

    def test_nothing_is_seen_before_its_commit(self, store: Store, other: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"a", b"1")
            assert state(other) == {}
            transaction.commit()
        assert state(other) == {b"a": b"1"}

    def test_a_transaction_that_is_closed_leaves_nothing(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"a", b"1")
        assert state(store) == {}

    def _collide(self, store: Store, other: Store, work: Write, meanwhile: Write) -> bool:
        """Whether `work` loses to a commit of `meanwhile` between its reads and its commit."""
        with store.begin() as transaction:
            work(transaction)
            assert transaction.read_stamp is not None
            transaction.set(b"result", b"")
            other.run(meanwhile)
            try:
                transaction.commit()
            except Stale:
                assert b"result" not in state(store)
                return True
            assert b"result" in state(store)
            return False

    def test_a_key_that_was_read_and_then_changed_is_a_conflict(self, store: Store, other: Store) -> None:
        put(store, a=b"1", b=b"1")
        read = getting(b"a")
        assert self._collide(store, other, read, setting(b"a"))
        assert self._collide(store, other, read, lambda transaction: transaction.clear(b"a"))
        assert self._collide(store, other, read, lambda transaction: transaction.clear_range(EVERYTHING))
        assert not self._collide(store, other, read, setting(b"b"))

    def test_a_key_that_was_read_as_absent_and_then_set_is_a_conflict(self, store: Store, other: Store) -> None:
        read = getting(b"a")
        assert self._collide(store, other, read, setting(b"a"))

    def test_a_key_that_is_set_to_the_same_value_is_a_conflict(self, store: Store, other: Store) -> None:
        put(store, a=b"1")
        read = getting(b"a")
        assert self._collide(store, other, read, setting(b"a", b"1"))

    def test_a_range_that_was_read_and_then_changed_is_a_conflict(self, store: Store, other: Store) -> None:
        put(store, a=b"1", b=b"1", c=b"1")
        read = ranging(KeyRange(b"a", b"c"))
        assert self._collide(store, other, read, setting(b"b"))
        assert self._collide(store, other, read, lambda transaction: transaction.clear(b"a"))
        assert self._collide(store, other, read, lambda transaction: transaction.clear_range(KeyRange(b"b", b"z")))
        assert not self._collide(store, other, read, setting(b"c"))
        assert not self._collide(store, other, read, lambda transaction: transaction.clear_range(KeyRange(b"c", b"z")))

    def test_a_key_that_appears_in_a_range_that_was_read_is_a_conflict(self, store: Store, other: Store) -> None:
        put(store, a=b"1", c=b"1")
        read = ranging(KeyRange(b"a", b"d"))
        assert self._collide(store, other, read, setting(b"b"))
        empty = ranging(KeyRange(b"x", b"z"))
        assert self._collide(store, other, empty, setting(b"y"))

    def test_a_stamped_key_that_appears_in_a_range_that_was_read_is_a_conflict(
        self, store: Store, other: Store
    ) -> None:
        read = ranging(KeyRange(b"s", b"t"))
        assert self._collide(store, other, read, lambda transaction: transaction.set_stamped_key(b"s" + STAMP, 1, b""))

    def test_a_limited_range_conflicts_only_with_what_was_read(self, store: Store, other: Store) -> None:
        put(store, a=b"1", c=b"1", e=b"1", g=b"1")
        first = ranging(EVERYTHING, limit=2)
        assert self._collide(store, other, first, setting(b"b"))
        put(store, b=None)
        assert self._collide(store, other, first, setting(b"c"))
        assert not self._collide(store, other, first, setting(b"d"))
        put(store, d=None, result=None)
        last = ranging(EVERYTHING, limit=2, reverse=True)
        assert self._collide(store, other, last, setting(b"f"))
        put(store, f=None)
        assert not self._collide(store, other, last, setting(b"d"))

    def test_a_read_of_the_snapshot_is_no_conflict(self, store: Store, other: Store) -> None:
        put(store, a=b"1")

        def read(transaction: Transaction) -> None:
            assert transaction.snapshot.get(b"a") == b"1"
            assert transaction.snapshot.get_range(EVERYTHING, limit=1).entries == [(b"a", b"1")]

        assert not self._collide(store, other, read, setting(b"a"))

    def test_a_key_can_be_made_a_conflict_without_reading_it(self, store: Store, other: Store) -> None:
        def read(transaction: Transaction) -> None:
            transaction.add_read_conflict_key(b"a")

        assert self._collide(store, other, read, setting(b"a"))
        assert not self._collide(store, other, read, setting(b"b"))

    def test_a_range_can_be_made_a_conflict_without_reading_it(self, store: Store, other: Store) -> None:
        def read(transaction: Transaction) -> None:
            transaction.add_read_conflict_range(KeyRange(b"b", b"d"))

        assert self._collide(store, other, read, setting(b"c"))
        assert not self._collide(store, other, read, setting(b"d"))

    def test_writes_that_read_nothing_never_conflict(self, store: Store, other: Store) -> None:
        with store.begin() as first, other.begin() as second:
            for transaction, value in ((first, b"1"), (second, b"2")):
                transaction.set(b"a", value)
                transaction.clear(b"b")
                transaction.clear_range(KeyRange(b"c", b"e"))
            second.commit()
            first.commit()
        assert state(store) == {b"a": b"1"}

    def test_two_transactions_that_read_what_the_other_writes_do_not_both_commit(
        self, store: Store, other: Store
    ) -> None:
        put(store, a=b"on", b=b"on")
        with store.begin() as first, other.begin() as second:
            assert first.get_many([b"a", b"b"]) == second.get_many([b"a", b"b"]) == [b"on", b"on"]
            first.set(b"a", b"off")
            second.set(b"b", b"off")
            first.commit()
            with pytest.raises(Stale):
                second.commit()
        assert state(store) == {b"a": b"off", b"b": b"on"}

    def test_a_transaction_that_only_reads_always_commits_and_answers_none(self, store: Store, other: Store) -> None:
        put(store, a=b"1")
        with store.begin() as transaction:
            transaction.get(b"a")
            put(other, a=b"2")
            assert transaction.commit() is None
        with store.begin() as transaction:
            assert transaction.commit() is None

    # Stamps and times

    def test_stamps_grow_with_each_commit_and_times_never_decrease(self, store: Store, other: Store) -> None:
        commits = [put(handle, a=b"1") for handle in (store, other) * 10]
        stamps = [commit.stamp for commit in commits]
        assert stamps == sorted(set(stamps))
        assert {len(stamp) for stamp in stamps} == {STAMP_BYTES}
        times = [commit.time for commit in commits]
        assert times == sorted(times)

    def test_a_transaction_knows_the_newest_commit_that_it_sees(self, store: Store, other: Store) -> None:
        first = put(store, a=b"1")
        with store.begin() as transaction:
            assert transaction.read_stamp == first.stamp
            second = put(other, a=b"2")
            assert transaction.read_stamp == first.stamp
        assert store.read(lambda transaction: transaction.read_stamp) == second.stamp

    def test_stamped_keys_are_in_the_order_of_their_commits(self, store: Store, other: Store) -> None:
        expected = []
        for number, handle in enumerate((store, other) * 5):
            with handle.begin() as transaction:
                transaction.set_stamped_key(b"k" + STAMP + b"!", 1, b"%d" % number)
                expected.append((b"k" + committed(transaction).stamp + b"!", b"%d" % number))
        assert list(state(store).items()) == expected

    def test_a_stamped_value_holds_the_stamp_of_its_commit(self, store: Store) -> None:
        ran = store.run(lambda transaction: transaction.set_stamped_value(b"a", b"<" + STAMP + b">", 1))
        assert ran.committed is not None
        assert state(store) == {b"a": b"<" + ran.committed.stamp + b">"}

    def test_what_stands_where_the_stamp_goes_does_not_matter(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set_stamped_key(b"k" + b"\x00" * STAMP_BYTES, 1, b"first")
            transaction.set_stamped_key(b"k" + b"\xff" * STAMP_BYTES, 1, b"second")
            transaction.set_stamped_key(b"k" + b"\x00" * STAMP_BYTES, 1, b"third")
            stamp = committed(transaction).stamp
        assert state(store) == {b"k" + stamp: b"third"}

    def test_the_last_write_to_a_key_wins_stamped_or_not(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"a", b"plain")
            transaction.set_stamped_value(b"a", STAMP, 0)
            transaction.set_stamped_value(b"b", STAMP, 0)
            transaction.set(b"b", b"plain")
            transaction.set_stamped_value(b"c", STAMP, 0)
            transaction.clear(b"c")
            transaction.set_stamped_value(b"d", STAMP, 0)
            transaction.clear_range(KeyRange(b"d", b"e"))
            transaction.clear(b"e")
            transaction.set_stamped_value(b"e", STAMP, 0)
            assert transaction.get_many([b"b", b"c", b"d"]) == [b"plain", None, None]
            stamp = committed(transaction).stamp
        assert state(store) == {b"a": stamp, b"b": b"plain", b"e": stamp}

    def test_a_stamped_key_inside_a_range_cleared_before_stays(self, store: Store) -> None:
        put(store, a=b"1")
        with store.begin() as transaction:
            transaction.clear_range(EVERYTHING)
            transaction.set_stamped_key(b"a" + STAMP, 1, b"new")
            stamp = committed(transaction).stamp
        assert state(store) == {b"a" + stamp: b"new"}

    def test_a_pending_stamped_value_cannot_be_read(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set_stamped_value(b"b", STAMP, 0)
            self._refused(lambda: transaction.get(b"b"))
            self._refused(lambda: transaction.snapshot.get(b"b"))
            self._refused(lambda: transaction.get_many([b"a", b"b"]))
            self._refused(lambda: transaction.get_range(KeyRange(b"a", b"c")))
            assert transaction.get(b"a") is None
            assert transaction.get_range(KeyRange(b"b\x00", b"c")).entries == []
            assert transaction.get_range(KeyRange(b"a", b"b")).entries == []

    def test_a_pending_stamped_key_cannot_be_read_nor_cleared_by_range(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"k", b"1")
            transaction.set_stamped_value(b"v", STAMP, 0)
            transaction.set_stamped_key(b"k" + STAMP, 1, b"")
            self._refused(lambda: transaction.get(b"k" + b"\x07" * STAMP_BYTES))
            self._refused(lambda: transaction.get_range(KeyRange(b"k", b"l")))
            self._refused(lambda: transaction.get_range(KeyRange(b"k\x80", b"k\x81"), limit=1))
            self._refused(lambda: transaction.clear_range(EVERYTHING))
            assert transaction.get_range(KeyRange(b"a", b"k\x00")).entries == [(b"k", b"1")]
            stamp = committed(transaction).stamp
        # The refused clear left everything as it was, the pending value too.
        assert state(store) == {b"k": b"1", b"k" + stamp: b"", b"v": stamp}

    def test_a_stamp_that_does_not_fit_is_refused(self, store: Store) -> None:
        with store.begin() as transaction:
            for offset in (-1, 2, 100):
                with pytest.raises(Invalid):
                    transaction.set_stamped_key(b"k" + STAMP, offset, b"")
                with pytest.raises(Invalid):
                    transaction.set_stamped_value(b"k", b"v" + STAMP, offset)
            self._refused(lambda: transaction.set_stamped_value(b"k", b"short", 0))
            assert transaction.commit() is None

    def test_the_time_of_a_commit_is_found_by_its_stamp(self, store: Store) -> None:
        commits = [put(store, a=b"1") for _ in range(5)]
        with store.begin() as transaction:
            stamps = [commit.stamp for commit in commits]
            assert transaction.times_of(stamps) == [commit.time for commit in commits]
            assert transaction.times_of(stamps[::-1]) == [commit.time for commit in commits[::-1]]
            assert transaction.times_of([]) == []

    def test_a_stamp_that_no_commit_has_takes_the_time_of_the_one_before(self, store: Store) -> None:
        assert store.read(lambda transaction: transaction.times_of([bytes(STAMP_BYTES), b"\xff" * STAMP_BYTES])) == [
            0,
            0,
        ]
        commits = [put(store, a=b"1") for _ in range(3)]
        with store.begin() as transaction:
            assert transaction.times_of([b"\xff" * STAMP_BYTES, bytes(STAMP_BYTES)]) == [commits[-1].time, 0]

    def test_a_commit_after_the_snapshot_has_no_time_yet(self, store: Store, other: Store) -> None:
        seen = put(store, a=b"1")
        with store.begin() as transaction:
            assert transaction.read_stamp == seen.stamp
            later = put(other, a=b"2")
            assert transaction.times_of([later.stamp]) == [seen.time]
            assert transaction.stamp_at(later.time + 1_000_000) == seen.stamp

    def test_the_last_commit_at_a_time_is_found(self, store: Store) -> None:
        assert store.read(lambda transaction: transaction.stamp_at(2**62)) is None
        commits = [put(store, a=b"1") for _ in range(9)]
        with store.begin() as transaction:
            for commit in commits:
                # Commits in one microsecond share a time: then it is the last of them.
                last = max(other.stamp for other in commits if other.time <= commit.time)
                assert transaction.stamp_at(commit.time) == last
            assert transaction.stamp_at(commits[0].time - 1) is None
            assert transaction.stamp_at(-1) is None
            assert transaction.stamp_at(commits[-1].time + 10**9) == commits[-1].stamp

    # Limits

    def test_a_key_has_at_most_10_kb(self, store: Store) -> None:
        longest = b"k" * limits.KEY_BYTES
        store.run(lambda transaction: transaction.set(longest, b"1"))
        too_long = longest + b"k"
        with store.begin() as transaction:
            for call in (
                lambda: transaction.set(too_long, b""),
                lambda: transaction.clear(too_long),
                lambda: transaction.get(too_long),
                lambda: transaction.set_stamped_key(too_long, 0, b""),
                lambda: transaction.set_stamped_value(too_long, STAMP, 0),
                lambda: transaction.clear_range(KeyRange(b"", too_long + b"k")),
                lambda: transaction.add_read_conflict_key(too_long),
            ):
                self._refused(call, TooLarge)
            assert transaction.commit() is None
        assert state(store) == {longest: b"1"}

    def test_what_follows_the_longest_key_can_be_read_and_cleared(self, store: Store) -> None:
        longest = b"k" * limits.KEY_BYTES
        store.run(lambda transaction: [transaction.set(key, b"1") for key in (longest, b"l", b"m")])
        with store.begin() as transaction:
            page = transaction.get_range(EVERYTHING, limit=1)
            assert page.entries == [(longest, b"1")] and page.rest is not None
            transaction.clear_range(page.rest)
            transaction.commit()
        assert state(store) == {longest: b"1"}

    def test_a_value_has_at_most_100_kb(self, store: Store) -> None:
        largest = b"v" * limits.VALUE_BYTES
        store.run(lambda transaction: transaction.set(b"a", largest))
        with store.begin() as transaction:
            self._refused(lambda: transaction.set(b"a", largest + b"v"), TooLarge)
            self._refused(lambda: transaction.set_stamped_value(b"a", largest + b"v", 0), TooLarge)
            self._refused(lambda: transaction.set_stamped_key(STAMP, 0, largest + b"v"), TooLarge)
            assert transaction.commit() is None
        assert state(store) == {b"a": largest}

    def test_a_transaction_has_at_most_10_mb(self, store: Store) -> None:
        value = b"v" * limits.VALUE_BYTES
        with store.begin() as transaction:
            with pytest.raises(TooLarge):
                for number in range(101):
                    transaction.set(b"%03d" % number, value)
            transaction.close()
        assert state(store) == {}
        store.run(lambda transaction: [transaction.set(b"%03d" % number, value) for number in range(99)])
        assert len(state(store)) == 99

    def test_what_was_read_counts_towards_the_size_of_a_transaction(self, store: Store) -> None:
        with store.begin() as transaction, pytest.raises(TooLarge):
            for number in range(2000):
                transaction.get(b"%05d" % number + b"k" * (limits.KEY_BYTES - 5))

    def test_a_transaction_lasts_at_most_5_seconds(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        assert limits.TRANSACTION_SECONDS == 5.0
        put(store, a=b"1")
        with store.begin() as reader, store.begin() as writer:
            assert reader.get(b"a") == b"1"
            writer.set(b"b", b"2")
            monkeypatch.setattr(limits, "TRANSACTION_SECONDS", -1.0)
            with pytest.raises(TimedOut):
                reader.get(b"a")
            with pytest.raises(TimedOut):
                writer.commit()
            monkeypatch.undo()
            self._refused(lambda: reader.get(b"a"))
            self._refused(writer.commit)
        assert state(store) == {b"a": b"1"}

    @pytest.mark.parametrize("wrong", ["text", bytearray(b"a"), None, 1])
    def test_keys_and_values_are_bytes_and_nothing_else(self, store: Store, wrong: Any) -> None:
        with store.begin() as transaction:
            self._refused(lambda: transaction.set(wrong, b""))
            self._refused(lambda: transaction.set(b"a", wrong))
            self._refused(lambda: transaction.clear(wrong))
            self._refused(lambda: transaction.clear_range(KeyRange(b"", wrong)))
            assert transaction.commit() is None

    # The end

    def test_a_transaction_that_has_ended_is_refused(self, store: Store) -> None:
        for end in ("commit", "close"):
            transaction = store.begin()
            transaction.set(b"a", b"1")
            getattr(transaction, end)()
            for call in (
                lambda t=transaction: t.get(b"a"),
                lambda t=transaction: t.get_range(EVERYTHING),
                lambda t=transaction: t.snapshot.get(b"a"),
                lambda t=transaction: t.set(b"a", b"2"),
                lambda t=transaction: t.clear(b"a"),
                lambda t=transaction: t.clear_range(EVERYTHING),
                lambda t=transaction: t.set_stamped_value(b"a", STAMP, 0),
                lambda t=transaction: t.add_read_conflict_key(b"a"),
                lambda t=transaction: t.read_stamp,
                lambda t=transaction: t.times_of([STAMP]),
                lambda t=transaction: t.stamp_at(0),
                transaction.commit,
            ):
                self._refused(call)
            transaction.close()
        assert state(store) == {b"a": b"1"}

    def test_a_transaction_that_lost_has_ended(self, store: Store, other: Store) -> None:
        with store.begin() as transaction:
            transaction.get(b"a")
            transaction.set(b"b", b"1")
            put(other, a=b"1")
            with pytest.raises(Stale):
                transaction.commit()
            self._refused(transaction.commit)

    def test_a_closed_store_is_refused(self, store: Store) -> None:
        put(store, a=b"1")
        reader, writer = store.begin(), store.begin()
        assert reader.get(b"a") == b"1"
        writer.set(b"a", b"2")
        store.close()
        store.close()
        self._refused(store.begin)
        self._refused(lambda: store.run(lambda transaction: transaction.get(b"a")))
        self._refused(lambda: reader.get(b"a"))
        self._refused(writer.commit)
        reader.close()

    @staticmethod
    def _refused(call: Callable[[], object], kind: type[LakebedError] = Invalid) -> None:
        with pytest.raises(kind):
            call()

    # The retry loop

    def test_run_answers_the_value_and_the_commit(self, store: Store) -> None:
        def work(transaction: Transaction) -> str:
            transaction.set(b"a", b"1")
            return "done"

        ran = store.run(work)
        assert ran.value == "done"
        assert ran.committed is not None
        assert store.read(lambda transaction: transaction.read_stamp) == ran.committed.stamp
        assert store.run(lambda transaction: transaction.get(b"a")).committed is None

    def test_run_tries_again_until_it_wins(self, store: Store, other: Store) -> None:
        tries = 0

        def work(transaction: Transaction) -> None:
            nonlocal tries
            tries += 1
            before = int(transaction.get(b"counter") or b"0")
            if tries <= 3:
                other.run(lambda rival: rival.set(b"counter", b"%d" % (before + 10)))
            transaction.set(b"counter", b"%d" % (before + 1))

        store.run(work)
        assert tries == 4
        assert state(store) == {b"counter": b"31"}

    def test_run_gives_up_in_the_end_and_says_that_nothing_was_written(self, store: Store, other: Store) -> None:
        def work(transaction: Transaction) -> None:
            transaction.get(b"a")
            other.run(lambda rival: rival.set(b"a", b"rival"))
            transaction.set(b"b", b"1")

        with pytest.raises(Unavailable) as caught:
            store.run(work, seconds=0.05)
        assert not isinstance(caught.value, TimedOut)
        assert isinstance(caught.value.__cause__, Stale)
        assert state(store) == {b"a": b"rival"}

    def test_run_passes_on_what_the_work_raises_and_writes_nothing(self, store: Store) -> None:
        def work(transaction: Transaction) -> None:
            transaction.set(b"a", b"1")
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            store.run(work)
        assert state(store) == {}

    def test_read_throws_away_what_is_written(self, store: Store) -> None:
        def work(transaction: Transaction) -> bytes | None:
            transaction.set(b"a", b"1")
            return transaction.get(b"a")

        assert store.read(work) == b"1"
        assert state(store) == {}

    def test_threads_lose_no_update(self, store: Store, other: Store) -> None:
        def increment(transaction: Transaction) -> None:
            transaction.set(b"counter", b"%d" % (int(transaction.get(b"counter") or b"0") + 1))

        def work(handle: Store) -> None:
            for _ in range(25):
                handle.run(increment)

        threads = [threading.Thread(target=work, args=(handle,)) for handle in (store, other) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert state(store) == {b"counter": b"100"}
