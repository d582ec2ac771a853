"""A cache that loads each value once, keeps what it may, and never keeps a failure."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.caches import SingleFlight
from lakebed.errors import Corrupt, Invalid

THREADS = 16


class Gate:
    """A load that waits until it is let through, and says when it was begun."""

    def __init__(self, outcome):
        self.begun, self.open = threading.Event(), threading.Event()
        self.outcome = outcome
        self.calls = 0

    def __call__(self):
        self.calls += 1
        self.begun.set()
        assert self.open.wait(20)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class Key:
    """A key that says when it has been looked for so often: twice by who waits, three times by who loads."""

    def __init__(self, waiting):
        self.left = 3 + 2 * waiting
        self.all_wait = threading.Event()

    def __hash__(self):  # called under the cache's lock
        self.left -= 1
        if self.left == 0:
            self.all_wait.set()
        return 7


def asked_together(cache, gate):
    """What all got who asked for one key while it was loaded."""
    key = Key(THREADS)
    with ThreadPoolExecutor(THREADS + 1) as pool:
        asked = [pool.submit(cache.get, key, gate) for _ in range(THREADS + 1)]
        assert key.all_wait.wait(20)
        gate.open.set()
        return key, [one.exception() or one.result() for one in asked]


def test_threads_that_ask_for_one_key_load_it_once():
    cache, gate = SingleFlight(100, len), Gate(b"value")
    key, answers = asked_together(cache, gate)
    assert answers == [b"value"] * (THREADS + 1)
    assert cache.get(key, gate) == b"value"
    assert gate.calls == 1
    assert (cache.counts().loads, cache.counts().hits) == (1, THREADS + 1)


def test_all_who_wait_get_the_error_and_the_next_loads_again():
    cache, gate = SingleFlight(100, len), Gate(Corrupt("damaged"))
    key, answers = asked_together(cache, gate)
    assert answers == [gate.outcome] * (THREADS + 1)
    assert gate.calls == 1
    assert cache.get(key, lambda: b"value") == b"value"
    assert cache.get(key, gate) == b"value"


def test_a_failure_is_not_kept():
    cache, calls = SingleFlight(100, len), []

    def load():
        calls.append(1)
        raise Corrupt("damaged")

    for _ in range(3):
        with pytest.raises(Corrupt):
            cache.get("key", load)
    assert len(calls) == 3
    assert cache.counts().values == 0


def test_who_waits_for_a_loader_that_was_stopped_loads_instead():
    cache, gate, key = SingleFlight(100, len), Gate(KeyboardInterrupt()), Key(waiting=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, key, gate)
        assert gate.begun.wait(20)
        second = pool.submit(cache.get, key, lambda: b"value")
        assert key.all_wait.wait(20)
        gate.open.set()
        assert second.result(20) == b"value"
        assert isinstance(first.exception(), KeyboardInterrupt)


def test_other_keys_do_not_wait():
    cache, gate = SingleFlight(100, len), Gate(b"slow")
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cache.get, "slow", gate)
        assert gate.begun.wait(20)
        assert cache.get("fast", lambda: b"fast") == b"fast"
        gate.open.set()
        assert slow.result() == b"slow"


def test_what_was_not_asked_for_the_longest_makes_room():
    cache = SingleFlight(30, len)
    for key in "abc":
        cache.get(key, lambda: b"x" * 10)
    cache.get("a", lambda: b"loaded again")
    cache.get("d", lambda: b"x" * 10)
    assert cache.get("a", lambda: b"loaded again") == b"x" * 10
    assert cache.get("b", lambda: b"loaded again") == b"loaded again"


def test_a_value_larger_than_the_limit_is_answered_and_not_kept():
    cache = SingleFlight(5, len)
    cache.get("small", lambda: b"12345")
    assert cache.get("large", lambda: b"123456") == b"123456"
    assert cache.get("large", lambda: b"again!") == b"again!"
    assert cache.get("small", lambda: b"again") == b"12345"


def test_a_limit_below_nothing_is_refused():
    with pytest.raises(Invalid, match="the limit of a cache is negative"):
        SingleFlight(-1, len)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12))), st.integers(0, 30))
def test_the_limit_holds_and_what_is_answered_is_what_was_loaded(asked, limit):
    cache, sizes = SingleFlight(limit, len), {}
    for key, size in asked:
        found = cache.get(key, lambda key=key, size=size: bytes([key]) * size)
        assert set(found) <= {key}
        sizes[key] = len(found)
        counts = cache.counts()
        assert counts.bytes <= limit
        assert counts.values <= len(sizes)
    assert cache.counts().loads + cache.counts().hits == len(asked)
