"""What every store does with keys and ranges."""

import pytest

from lakebed.errors import Invalid
from lakebed.store import KeyRange, RangeRead, Store, Transaction
from lakebed.testing.store.steps import EVERYTHING, Entries, contents, put, state


class KeysSuite:
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
