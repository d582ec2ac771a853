"""What every store refuses, how a transaction ends, and when it runs again."""

import threading
from typing import Any

import pytest

from lakebed.errors import TimedOut, TooLarge, Unavailable
from lakebed.store import KeyRange, Stale, Store, Transaction, limits
from lakebed.testing.store.steps import EVERYTHING, STAMP, put, refused, state


class LimitsSuite:
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
                refused(call, TooLarge)
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
            refused(lambda: transaction.set(b"a", largest + b"v"), TooLarge)
            refused(lambda: transaction.set_stamped_value(b"a", largest + b"v", 0), TooLarge)
            refused(lambda: transaction.set_stamped_key(STAMP, 0, largest + b"v"), TooLarge)
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
            refused(lambda: reader.get(b"a"))
            refused(writer.commit)
        assert state(store) == {b"a": b"1"}

    @pytest.mark.parametrize("wrong", ["text", bytearray(b"a"), None, 1])
    def test_keys_and_values_are_bytes_and_nothing_else(self, store: Store, wrong: Any) -> None:
        with store.begin() as transaction:
            refused(lambda: transaction.set(wrong, b""))
            refused(lambda: transaction.set(b"a", wrong))
            refused(lambda: transaction.clear(wrong))
            refused(lambda: transaction.clear_range(KeyRange(b"", wrong)))
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
                refused(call)
            transaction.close()
        assert state(store) == {b"a": b"1"}

    def test_a_transaction_that_lost_has_ended(self, store: Store, other: Store) -> None:
        with store.begin() as transaction:
            transaction.get(b"a")
            transaction.set(b"b", b"1")
            put(other, a=b"1")
            with pytest.raises(Stale):
                transaction.commit()
            refused(transaction.commit)

    def test_a_closed_store_is_refused(self, store: Store) -> None:
        put(store, a=b"1")
        reader, writer = store.begin(), store.begin()
        assert reader.get(b"a") == b"1"
        writer.set(b"a", b"2")
        store.close()
        store.close()
        refused(store.begin)
        refused(lambda: store.run(lambda transaction: transaction.get(b"a")))
        refused(lambda: reader.get(b"a"))
        refused(writer.commit)
        reader.close()

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

    def test_run_gives_up_in_the_end_and_says_that_nothing_was_written(self, store: Store) -> None:
        put(store, a=b"rival")

        def work(transaction: Transaction) -> None:
            transaction.get(b"a")
            transaction.set(b"b", b"1")
            raise Stale  # as if a rival were always faster; a real one has to wait after a few losses

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
