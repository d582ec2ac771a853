"""What every store shows of others' commits, and when it refuses one."""

import pytest

from lakebed.store import KeyRange, Stale, Store, Transaction
from lakebed.testing.store.steps import (
    EVERYTHING,
    STAMP,
    Write,
    contents,
    getting,
    put,
    ranging,
    setting,
    state,
)


class ConflictsSuite:
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
