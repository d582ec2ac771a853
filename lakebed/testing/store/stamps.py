"""What every store says about the order and time of commits."""

import pytest

from lakebed.errors import Invalid
from lakebed.store import KeyRange, Store
from lakebed.store.transaction import STAMP_BYTES
from lakebed.testing.store.steps import EVERYTHING, STAMP, committed, put, refused, state


class StampsSuite:
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
            refused(lambda: transaction.get(b"b"))
            refused(lambda: transaction.snapshot.get(b"b"))
            refused(lambda: transaction.get_many([b"a", b"b"]))
            refused(lambda: transaction.get_range(KeyRange(b"a", b"c")))
            assert transaction.get(b"a") is None
            assert transaction.get_range(KeyRange(b"b\x00", b"c")).entries == []
            assert transaction.get_range(KeyRange(b"a", b"b")).entries == []

    def test_a_pending_stamped_key_cannot_be_read_nor_cleared_by_range(self, store: Store) -> None:
        with store.begin() as transaction:
            transaction.set(b"k", b"1")
            transaction.set_stamped_value(b"v", STAMP, 0)
            transaction.set_stamped_key(b"k" + STAMP, 1, b"")
            refused(lambda: transaction.get(b"k" + b"\x07" * STAMP_BYTES))
            refused(lambda: transaction.get_range(KeyRange(b"k", b"l")))
            refused(lambda: transaction.get_range(KeyRange(b"k\x80", b"k\x81"), limit=1))
            refused(lambda: transaction.clear_range(EVERYTHING))
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
            refused(lambda: transaction.set_stamped_value(b"k", b"short", 0))
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

    def test_commits_get_other_times(self, store: Store, other: Store) -> None:
        first, *commits, last = [put(store, a=b"1") for _ in range(4)]
        store.set_times({commit.stamp: first.time for commit in commits})
        stamps = [one.stamp for one in (first, *commits, last)]
        for reader in (store, other):
            found = reader.read(lambda transaction: transaction.times_of(stamps))
            assert found == [first.time, first.time, first.time, last.time]
        found_stamp = store.read(lambda transaction: transaction.stamp_at(first.time))
        assert found_stamp is not None and found_stamp >= commits[-1].stamp
        store.set_times({})

    def test_times_that_would_decrease_are_refused(self, store: Store) -> None:
        commits = [put(store, a=b"1") for _ in range(3)]
        for wrong in ({commits[1].stamp: commits[0].time - 1}, {commits[1].stamp: commits[2].time + 1}):
            with pytest.raises(Invalid, match="never decrease"):
                store.set_times({commits[0].stamp: commits[0].time, **wrong})
        found = store.read(lambda transaction: transaction.times_of([commit.stamp for commit in commits]))
        assert found == [commit.time for commit in commits]
        put(store, a=b"2")
