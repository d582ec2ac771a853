"""Caches: a loading cache shared by threads, the most recently used values, and properties that are computed once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

from lakebed import forks
from lakebed.errors import Invalid

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a cache has done: loads started, hits, evictions; and what it holds now."""

    loads: int
    hits: int
    evictions: int
    values: int
    bytes: int


class SingleFlight(Generic[Value]):
    """Values by key, at most `limit` bytes of them; the least recently used are evicted first.

    If several threads ask for one key, the first loads it and the rest wait. A failed load is not kept: every waiting
    thread gets its error, and the next request loads again. A value larger than the limit is returned, but not kept.
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        if limit < 0:
            raise Invalid("the limit of a cache is negative", expected="0 bytes or more", found=limit)
        self._limit = limit
        self._size = size
        self._lock = forks.lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        # By generation, too: after a fork, a load of a thread that the child does not have would never end.
        self._flights: dict[tuple[int, Hashable], Future[Value]] = {}
        self._bytes = self._loads = self._hits = self._evictions = 0

    def get(self, key: Hashable, load: Callable[[], Value]) -> Value:
        """The value of the key, loaded if it is not cached. `load` must not ask for the same key."""
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    self._hits += 1
                    return self._values[key][0]
                place = (forks.generation(), key)
                flight = self._flights.get(place)
                if flight is None:
                    mine = self._flights[place] = Future()
                    self._loads += 1
            if flight is None:
                return self._load(place, load, mine)
            error = flight.exception()
            if error is None:
                with self._lock:
                    self._hits += 1
                return flight.result()
            if isinstance(error, Exception):
                raise error
            # The loading thread was interrupted (KeyboardInterrupt, SystemExit). That concerns only it: load again.

    def counts(self) -> Counts:
        with self._lock:
            return Counts(self._loads, self._hits, self._evictions, len(self._values), self._bytes)

    def _load(self, place: tuple[int, Hashable], load: Callable[[], Value], flight: Future[Value]) -> Value:
        try:
            value = load()
            size = self._size(value)
        except BaseException as error:
            with self._lock:
                del self._flights[place]
            flight.set_exception(error)
            raise
        with self._lock:
            del self._flights[place]
            self._keep(place[1], value, size)
        flight.set_result(value)
        return value

    def _keep(self, key: Hashable, value: Value, size: int) -> None:
        if size > self._limit:
            return
        self._bytes += size
        self._values[key] = value, size
        while self._bytes > self._limit:
            _, (_, freed) = self._values.popitem(last=False)
            self._bytes -= freed
            self._evictions += 1


class Recent(Generic[Key, Value]):
    """The `limit` most recently used values, by key. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[Key, Value] = OrderedDict()
        self._lock = forks.lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            value = self._known.get(key)
            if value is not None:
                self._known.move_to_end(key)
            return value

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            if len(self._known) > self._limit:
                self._known.popitem(last=False)


class remembered(Generic[Value]):  # lower case, as it is used: a decorator
    """A property that is computed when it is first asked for, and kept in the object's `__dict__`.

    As `functools.cached_property`, which in Python 3.11 holds one lock for all objects while it computes: a child that
    is forked meanwhile would wait for it for ever.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
