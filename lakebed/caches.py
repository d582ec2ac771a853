"""Caches: the values used last, and values that many threads want and one loads."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from lakebed.errors import Invalid

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a cache has done: loads that were begun, answers without one, values that made room, and what it holds."""

    loads: int
    hits: int
    evictions: int
    values: int
    bytes: int


class SingleFlight(Generic[Value]):
    """Values by key, up to `limit` bytes of them; those not asked for the longest make room.

    Of threads that ask for one key, the first loads and the others wait for it. A load that fails is not kept: all who
    wait get its error, and the next to ask loads again. A value larger than the limit is answered and not kept.
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        if limit < 0:
            raise Invalid("a cache can't be smaller than nothing", expected="0 bytes or more", found=limit)
        self._limit = limit
        self._size = size
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._flights: dict[Hashable, Future[Value]] = {}
        self._bytes = self._loads = self._hits = self._evictions = 0

    def get(self, key: Hashable, load: Callable[[], Value]) -> Value:
        """The value of the key, loaded if it is not held. `load` must not ask for the same key."""
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    self._hits += 1
                    return self._values[key][0]
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = Future()
                    self._loads += 1
            if flight is None:
                return self._loaded(key, load, mine)
            error = flight.exception()
            if error is None:
                with self._lock:
                    self._hits += 1
                return flight.result()
            if isinstance(error, Exception):
                raise error
            # The thread that loaded was told to stop, which is nobody else's affair: somebody else loads.

    def counts(self) -> Counts:
        with self._lock:
            return Counts(self._loads, self._hits, self._evictions, len(self._values), self._bytes)

    def _loaded(self, key: Hashable, load: Callable[[], Value], flight: Future[Value]) -> Value:
        try:
            value = load()
            size = self._size(value)
        except BaseException as error:
            with self._lock:
                del self._flights[key]
            flight.set_exception(error)
            raise
        with self._lock:
            del self._flights[key]
            self._keep(key, value, size)
        flight.set_result(value)
        return value

    def _keep(self, key: Hashable, value: Value, size: int) -> None:
        if size > self._limit:
            return
        self._values[key] = value, size
        self._bytes += size
        while self._bytes > self._limit:
            _, (_, freed) = self._values.popitem(last=False)
            self._bytes -= freed
            self._evictions += 1


class Recent(Generic[Key, Value]):
    """Some values by key: of more than `limit`, those stay that were used last. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            if len(self._known) > self._limit:
                self._known.popitem(last=False)
