"""Interleaved transactions on a real store, beside a model that fits on a page.

The model keeps one dictionary per version and replays a transaction's writes on a copy of it; a commit wins if no
interval that it read overlaps one that was written since. It shares no code with any store.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lakebed.errors import Invalid
from lakebed.store import Committed, KeyRange, Page, Stale, Store, Transaction

STAMP_BYTES = 10
SLOTS = 3

Interval = tuple[bytes, bytes]  # from the first to before the second
State = dict[bytes, bytes]

# Few keys, so that transactions meet; prefixes of each other, so that order matters; some where stamped keys go.
KEYS = [b"", b"a", b"a\x00", b"b", b"b\xff", b"c", b"d", b"s", b"s\x00\x01", b"s\x80", b"t"]
keys = st.sampled_from(KEYS)
values = st.binary(max_size=3)
slots = st.integers(0, SLOTS - 1)
intervals = st.tuples(keys, st.sampled_from([*KEYS[1:], b"\xff"]))
limits = st.none() | st.integers(1, 4)
stamped_keys = st.tuples(st.sampled_from([b"s", b"b"]), st.sampled_from([b"", b"!"]))


@dataclass
class ModelTransaction:
    """One dictionary, the writes since, and what was read."""

    version: int
    state: State
    writes: list[tuple[Any, ...]] = field(default_factory=list)
    read: list[Interval] = field(default_factory=list)

    def view(self) -> dict[bytes, bytes | None]:
        """What the transaction sees; None stands for a pending value."""
        seen: dict[bytes, bytes | None] = dict(self.state)
        for kind, *details in self.writes:
            if kind == "set":
                seen[details[0]] = details[1]
            elif kind == "clear":
                for key in [key for key in seen if details[0] <= key < details[1]]:
                    del seen[key]
            elif kind == "stamped value":
                seen[details[0]] = None
        return seen

    def pends(self, begin: bytes, end: bytes) -> bool:
        if any(value is None and begin <= key < end for key, value in self.view().items()):
            return True
        return self.pends_key(begin, end)

    def pends_key(self, begin: bytes, end: bytes) -> bool:
        for kind, *details in self.writes:
            if kind == "stamped key" and begin < end:
                head, tail = details[0], details[1]
                if begin <= head + b"\xff" * STAMP_BYTES + tail and head + b"\x00" * STAMP_BYTES + tail < end:
                    return True
        return False

    def result(self, newest: State, stamp: bytes) -> tuple[State, list[Interval]]:
        """The next state, and what the commit writes."""
        after, written = dict(newest), []
        for kind, *details in self.writes:
            if kind == "clear":
                written.append((details[0], details[1]))
                after = {key: value for key, value in after.items() if not details[0] <= key < details[1]}
                continue
            if kind == "stamped key":
                key, value = details[0] + stamp + details[1], details[2]
            elif kind == "stamped value":
                key, value = details[0], details[1] + stamp
            else:
                key, value = details
            written.append((key, key + b"\x00"))
            after[key] = value
        return after, written


def meet(left: Interval, right: Interval) -> bool:
    return max(left[0], right[0]) < min(left[1], right[1])


class StoreMachine(RuleBasedStateMachine):
    """Subclass it by `store_machine`."""

    def open_stores(self) -> Sequence[Store]:
        raise NotImplementedError("store_machine makes a subclass that says how to open empty stores")

    def __init__(self) -> None:
        super().__init__()
        self.stores = self.open_stores()
        self.states: list[State] = [{}]
        self.written: list[list[Interval]] = [[]]
        self.commits: list[Committed] = []
        self.slots: dict[int, tuple[Transaction, ModelTransaction]] = {}

    def teardown(self) -> None:
        for real, _ in self.slots.values():
            real.close()
        for store in self.stores:
            store.close()

    def _in(self, slot: int) -> tuple[Transaction, ModelTransaction]:
        """The transaction in the slot; a new one, that has fixed what it reads, if there is none."""
        if slot not in self.slots:
            real = self.stores[slot % len(self.stores)].begin()
            expected = self.commits[-1].stamp if self.commits else bytes(STAMP_BYTES)
            assert real.read_stamp == expected
            self.slots[slot] = real, ModelTransaction(len(self.commits), self.states[-1])
        return self.slots[slot]

    # Reading

    @rule(slot=slots, wanted=st.lists(keys, max_size=3))
    def get(self, slot: int, wanted: list[bytes]) -> None:
        real, model = self._in(slot)
        if self._get(real, model, wanted):
            model.read += [(key, key + b"\x00") for key in wanted]

    @rule(slot=slots, wanted=st.lists(keys, max_size=3))
    def get_of_snapshot(self, slot: int, wanted: list[bytes]) -> None:
        real, model = self._in(slot)
        self._get(real.snapshot, model, wanted)

    def _get(self, real: Any, model: ModelTransaction, wanted: list[bytes]) -> bool:
        if any(model.pends(key, key + b"\x00") for key in wanted):
            self._refused(lambda: real.get_many(wanted))
            return False
        view = model.view()
        assert real.get_many(wanted) == [view.get(key) for key in wanted]
        return True

    @rule(slot=slots, interval=intervals, limit=limits, reverse=st.booleans())
    def get_range(self, slot: int, interval: Interval, limit: int | None, reverse: bool) -> None:
        real, model = self._in(slot)
        page = self._get_range(real, model, interval, limit, reverse)
        if page is None:
            return
        begin, end = interval
        if page.rest is None:
            model.read.append(interval)
        elif reverse:
            model.read.append((page.entries[-1][0], end))
        else:
            model.read.append((begin, page.entries[-1][0] + b"\x00"))

    @rule(slot=slots, interval=intervals, limit=limits, reverse=st.booleans())
    def get_range_of_snapshot(self, slot: int, interval: Interval, limit: int | None, reverse: bool) -> None:
        real, model = self._in(slot)
        self._get_range(real.snapshot, model, interval, limit, reverse)

    def _get_range(
        self, real: Any, model: ModelTransaction, interval: Interval, limit: int | None, reverse: bool
    ) -> Page | None:
        begin, end = interval
        if model.pends(begin, end):
            self._refused(lambda: real.get_range(KeyRange(begin, end), limit=limit, reverse=reverse))
            return None
        page: Page = real.get_range(KeyRange(begin, end), limit=limit, reverse=reverse)
        found = sorted(((key, value) for key, value in model.view().items() if begin <= key < end), reverse=reverse)
        assert page.entries == found[:limit]
        left = [key for key, _ in found[len(page.entries) :]]
        if page.rest is None:
            assert not left
        else:
            assert all(page.rest.begin <= key < page.rest.end for key in left)
            assert not any(page.rest.begin <= key < page.rest.end for key, _ in page.entries)
        return page

    @rule(slot=slots, key=keys)
    def add_conflict_key(self, slot: int, key: bytes) -> None:
        real, model = self._in(slot)
        real.add_read_conflict_key(key)
        model.read.append((key, key + b"\x00"))

    @rule(slot=slots, interval=intervals)
    def add_conflict_range(self, slot: int, interval: Interval) -> None:
        real, model = self._in(slot)
        real.add_read_conflict_range(KeyRange(*interval))
        model.read.append(interval)

    # Writing

    @rule(slot=slots, key=keys, value=values)
    def set(self, slot: int, key: bytes, value: bytes) -> None:
        real, model = self._in(slot)
        real.set(key, value)
        model.writes.append(("set", key, value))

    @rule(slot=slots, key=keys)
    def clear(self, slot: int, key: bytes) -> None:
        real, model = self._in(slot)
        real.clear(key)
        model.writes.append(("clear", key, key + b"\x00"))

    @rule(slot=slots, interval=intervals)
    def clear_range(self, slot: int, interval: Interval) -> None:
        real, model = self._in(slot)
        if model.pends_key(*interval):
            self._refused(lambda: real.clear_range(KeyRange(*interval)))
        else:
            real.clear_range(KeyRange(*interval))
            if interval[0] < interval[1]:
                model.writes.append(("clear", *interval))

    @rule(slot=slots, parts=stamped_keys, filler=st.binary(min_size=STAMP_BYTES, max_size=STAMP_BYTES), value=values)
    def set_stamped_key(self, slot: int, parts: tuple[bytes, bytes], filler: bytes, value: bytes) -> None:
        real, model = self._in(slot)
        head, tail = parts
        real.set_stamped_key(head + filler + tail, len(head), value)
        model.writes.append(("stamped key", head, tail, value))

    @rule(slot=slots, key=keys, value=values)
    def set_stamped_value(self, slot: int, key: bytes, value: bytes) -> None:
        real, model = self._in(slot)
        real.set_stamped_value(key, value + bytes(STAMP_BYTES), len(value))
        model.writes.append(("stamped value", key, value))

    @rule(
        writes=st.lists(
            st.tuples(st.just("set"), keys, values)
            | intervals.filter(lambda interval: interval[0] < interval[1]).map(lambda interval: ("clear", *interval)),
            min_size=1,
            max_size=2,
        )
    )
    def commit_a_rival(self, writes: list[tuple[str, bytes, bytes]]) -> None:
        """A whole transaction that reads nothing, between the steps of the others: it always wins."""
        model = ModelTransaction(len(self.commits), self.states[-1], list(writes))
        with self.stores[-1].begin() as real:
            for kind, first, second in writes:
                if kind == "set":
                    real.set(first, second)
                else:
                    real.clear_range(KeyRange(first, second))
            answer = real.commit()
        assert answer is not None
        self._advance(model, answer)

    # Ending

    @precondition(lambda self: self.slots)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        real, model = self.slots.pop(data.draw(st.sampled_from(sorted(self.slots))))
        since = [interval for written in self.written[model.version + 1 :] for interval in written]
        loses = bool(model.writes) and any(meet(read, change) for read in model.read for change in since)
        try:
            answer = real.commit()
        except Stale:
            assert loses, "the store refused a commit whose reads nobody changed"
            return
        finally:
            self._refused(real.commit)
        assert not loses, f"the store let a commit win whose reads {model.read} meet {since}"
        assert (answer is None) == (not model.writes)
        if answer is not None:
            self._advance(model, answer)

    def _advance(self, model: ModelTransaction, answer: Committed) -> None:
        if self.commits:
            assert answer.stamp > self.commits[-1].stamp
            assert answer.time >= self.commits[-1].time
        after, written = model.result(self.states[-1], answer.stamp)
        self.states.append(after)
        self.written.append(written)
        self.commits.append(answer)

    @precondition(lambda self: self.slots)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        real, _ = self.slots.pop(data.draw(st.sampled_from(sorted(self.slots))))
        real.close()

    @staticmethod
    def _refused(call: Callable[[], object]) -> None:
        try:
            call()
        except Invalid:
            return
        raise AssertionError("the store answered what it has to refuse")

    # What always holds

    @invariant()
    def the_newest_state_is_the_model_s(self) -> None:
        for store in self.stores:
            found = store.read(lambda transaction: transaction.get_range(KeyRange(b"", b"\xff")).entries)
            assert found == sorted(self.states[-1].items())

    @rule(slot=slots)
    def times_are_those_of_the_commits_that_are_seen(self, slot: int) -> None:
        real, model = self._in(slot)
        seen = self.commits[: model.version]
        assert real.times_of([commit.stamp for commit in seen]) == [commit.time for commit in seen]
        for commit in self.commits:
            stamps = [other.stamp for other in seen if other.time <= commit.time]
            assert real.stamp_at(commit.time) == (stamps[-1] if stamps else None)


def store_machine(open_stores: Callable[[], Sequence[Store]]) -> type[StoreMachine]:
    """A machine over new, empty stores: one, or several handles that share their data. It closes them itself."""

    class Machine(StoreMachine):
        def open_stores(self) -> Sequence[Store]:
            return open_stores()

    return Machine
