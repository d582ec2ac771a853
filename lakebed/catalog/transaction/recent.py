"""The values that were used last, in memory."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


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
