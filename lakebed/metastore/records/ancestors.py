"""A cache of what a branch inherits from its ancestors: a line at a fixed version never changes."""

from collections import OrderedDict
from collections.abc import Sequence

from lakebed import forks
from lakebed.records import cells
from lakebed.records.cells import LineAt, Row, Sight, Source, Stretch
from lakebed.records.layout import Cell, Space
from lakebed.store import Reads

CACHE_BYTES = 64_000_000
_ENTRY_BYTES = 400  # the size of the Python objects around a small row

_Key = tuple[object, ...]
_Value = Row | Stretch | None


class Ancestors:
    """Looks up cells through a sight; caches what it finds beyond the first line, up to a number of bytes.

    A line at a version, including its own ancestors, is one fixed state: that pair is the key.
    """

    def __init__(self, capacity: int = CACHE_BYTES) -> None:
        self._known: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._capacity = capacity
        self._size = 0
        self._lock = forks.lock()

    def look(self, reads: Reads, sight: Sight, wanted: Sequence[Cell]) -> list[Row | None]:
        """Each cell's row in the nearest line that has one."""
        own = cells.as_of(reads, sight[:1], wanted)
        if len(sight) == 1 or None not in own:
            return own
        missing = [cell for cell, row in zip(wanted, own, strict=True) if row is None]
        inherited = iter(self.look_beyond(reads, sight, missing))
        return [next(inherited) if row is None else row for row in own]

    def look_beyond(self, reads: Reads, sight: Sight, wanted: Sequence[Cell]) -> list[Row | None]:
        """Like `look`, without the sight's first line."""
        if len(sight) == 1:
            return [None] * len(wanted)
        base = sight[1]
        found = {cell: self._get((base, cell)) for cell in wanted}
        absent = [cell for cell, known in found.items() if known is None]
        for cell, row in zip(absent, cells.as_of(reads, sight[1:], absent), strict=True):
            found[cell] = (row,)
            self._put((base, cell), row, 0 if row is None else len(row.value))
        return [known[0] if known else None for known in (found[cell] for cell in wanted)]  # type: ignore[misc]

    def sources(self, reads: Reads, sight: Sight, space: Space, scope: bytes) -> list[Source]:
        """The sources of a scan of this sight: the line itself, and all its ancestors as one."""
        own = cells.line_source(reads, sight[0], space, scope)
        return [own] if len(sight) == 1 else [own, self._inherited(reads, sight[1:], space, scope)]

    def _inherited(self, reads: Reads, tail: tuple[LineAt, ...], space: Space, scope: bytes) -> Source:
        def stretch(start: bytes, limit: int) -> Stretch:
            key = (tail[0], space, scope, start, limit)
            known = self._get(key)
            if known is None:
                lines = [cells.line_source(reads, at, space, scope) for at in tail]
                found = cells.scan(lines, start, limit, cells.has_value)
                self._put(key, found, sum(len(row.value) + _ENTRY_BYTES for _, row in found.rows))
                return found
            assert isinstance(known[0], Stretch)
            return known[0]

        return stretch

    def _get(self, key: _Key) -> tuple[_Value] | None:
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return None
            self._known.move_to_end(key)
            return (known[0],)

    def _put(self, key: _Key, value: _Value, size: int) -> None:
        size += _ENTRY_BYTES
        with self._lock:
            _, before = self._known.pop(key, (None, 0))
            self._known[key] = value, size
            self._size += size - before
            while self._size > self._capacity and self._known:
                _, (_, freed) = self._known.popitem(last=False)
                self._size -= freed
