"""What a transaction read and what a commit wrote, and whether the two overlap."""

import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lakebed.errors import Corrupt
from lakebed.store.transaction import STAMP_BYTES, KeyRange

_LENGTH = struct.Struct(">H")
_COUNT = struct.Struct(">I")

_LOWEST, _HIGHEST = b"\x00" * STAMP_BYTES, b"\xff" * STAMP_BYTES


@dataclass(frozen=True, slots=True)
class Written:
    """The keys that one commit wrote or cleared, and the ranges that it cleared.

    Encoded: count of keys (4 bytes), then each key, then each range as its begin and end; a key is its length (2 bytes,
    big-endian: no key is longer than 10 kB) and its bytes.
    """

    keys: tuple[bytes, ...]
    ranges: tuple[KeyRange, ...] = ()

    def encode(self) -> bytes:
        parts = [_COUNT.pack(len(self.keys))]
        for key in self.keys:
            parts += (_LENGTH.pack(len(key)), key)
        for range in self.ranges:
            parts += (_LENGTH.pack(len(range.begin)), range.begin, _LENGTH.pack(len(range.end)), range.end)
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> "Written":
        try:
            count = _COUNT.unpack_from(data)[0]
            texts = list(_texts(data, _COUNT.size))
            ends = texts[count:]
            ranges = tuple(KeyRange(begin, end) for begin, end in zip(ends[::2], ends[1::2], strict=True))
        except (struct.error, IndexError, ValueError) as error:
            raise Corrupt(f"the log of commits has a damaged row: {error}", advice="Restore from a copy.") from error
        return cls(tuple(texts[:count]), ranges)


def _texts(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data):
        start = at + 2
        at = start + (data[start - 2] << 8 | data[start - 1])
        if at > len(data):
            raise ValueError("a key is cut short")
        yield data[start:at]


class Ranges:
    """Key ranges, and the keys and other ranges that they overlap."""

    __slots__ = ("_disjoint", "_ranges")

    def __init__(self, ranges: Sequence[KeyRange] = ()) -> None:
        self._ranges = list(ranges)
        self._disjoint: list[KeyRange] | None = None

    def add(self, range: KeyRange) -> None:
        if range.begin < range.end:
            self._ranges.append(range)
            self._disjoint = None

    def contain(self, key: bytes) -> bool:
        if not self._ranges:
            return False
        disjoint = self._union()
        at = bisect_right(disjoint, key, key=_begin) - 1
        return at >= 0 and key < disjoint[at].end

    def overlap(self, range: KeyRange) -> bool:
        if not self._ranges or range.begin >= range.end:
            return False
        disjoint = self._union()
        at = bisect_left(disjoint, range.end, key=_begin) - 1
        return at >= 0 and range.begin < disjoint[at].end

    def _union(self) -> list[KeyRange]:
        if self._disjoint is None:
            self._disjoint = []
            for range in sorted(self._ranges, key=_begin):
                if self._disjoint and range.begin <= self._disjoint[-1].end:
                    before = self._disjoint.pop()
                    range = KeyRange(before.begin, max(before.end, range.end))
                self._disjoint.append(range)
        return self._disjoint

    def __iter__(self) -> Iterator[KeyRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def __repr__(self) -> str:
        return f"Ranges({self._ranges!r})"


def _begin(range: KeyRange) -> bytes:
    return range.begin


@dataclass(slots=True)
class ReadSet:
    """The keys and ranges whose change would make a transaction stale."""

    keys: set[bytes] = field(default_factory=set)
    ranges: Ranges = field(default_factory=Ranges)

    def __bool__(self) -> bool:
        return bool(self.keys or self.ranges)

    def meets(self, written: Written) -> bool:
        if not self.keys.isdisjoint(written.keys):
            return True
        if self.ranges and any(self.ranges.contain(key) for key in written.keys):
            return True
        return any(self._touches(range) for range in written.ranges)

    def _touches(self, range: KeyRange) -> bool:
        return self.ranges.overlap(range) or any(range.contains(key) for key in self.keys)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a commit does to the store, in this order: clear the ranges, clear the keys, set the entries."""

    cleared_ranges: tuple[KeyRange, ...]
    cleared: tuple[bytes, ...]
    entries: dict[bytes, bytes]

    @property
    def written(self) -> Written:
        return Written((*self.cleared, *self.entries), self.cleared_ranges)


class WriteSet:
    """The net writes of one transaction before its stamp is known. `values` holds None for a cleared key."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.cleared_ranges = Ranges()
        self.stamped_keys: dict[tuple[bytes, int], bytes] = {}
        self.stamped_values: dict[bytes, tuple[bytes, int]] = {}
        self._order: list[bytes] | None = None  # the keys of `values`, sorted once a range is asked for
        self._pending = Ranges()

    def __bool__(self) -> bool:
        return bool(self.values or self.cleared_ranges or self.stamped_keys or self.stamped_values)

    def put(self, key: bytes, value: bytes | None) -> None:
        self.stamped_values.pop(key, None)
        if self._order is not None and key not in self.values:
            insort(self._order, key)
        self.values[key] = value

    def put_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        # Two templates that differ only in the bytes of the stamp are the same key.
        lowest = stamped(key, offset, _LOWEST)
        if (lowest, offset) not in self.stamped_keys:
            self._pending.add(KeyRange(lowest, stamped(key, offset, _HIGHEST) + b"\x00"))
        self.stamped_keys[lowest, offset] = value

    def put_stamped_value(self, key: bytes, value: bytes, offset: int) -> None:
        if key in self.values:
            del self.values[key]
            self._order = None
        self.stamped_values[key] = value, offset

    def clear_range(self, range: KeyRange) -> None:
        for key in [key for key in self.stamped_values if range.contains(key)]:
            del self.stamped_values[key]
        order, first, last = self._ordered(range)
        for key in order[first:last]:
            del self.values[key]
        del order[first:last]
        self.cleared_ranges.add(range)

    def within(self, range: KeyRange) -> list[bytes]:
        """The keys in `range` that were set or cleared one by one, in order."""
        order, first, last = self._ordered(range)
        return order[first:last]

    def _ordered(self, range: KeyRange) -> tuple[list[bytes], int, int]:
        if self._order is None:
            self._order = sorted(self.values)
        return self._order, bisect_left(self._order, range.begin), bisect_left(self._order, range.end)

    def pends_key(self, range: KeyRange) -> bool:
        """Whether a stamped key may end up in the range."""
        return self._pending.overlap(range)

    def pends(self, key: bytes) -> bool:
        """Whether the key's value is known only at the commit."""
        return key in self.stamped_values or self._pending.contain(key)

    def pends_in(self, range: KeyRange) -> bool:
        return self.pends_key(range) or any(range.contains(key) for key in self.stamped_values)

    def batch(self, stamp: bytes) -> Batch:
        """The writes with `stamp` filled in."""
        entries = {key: value for key, value in self.values.items() if value is not None}
        entries.update((stamped(key, offset, stamp), value) for (key, offset), value in self.stamped_keys.items())
        entries.update((key, stamped(value, offset, stamp)) for key, (value, offset) in self.stamped_values.items())
        cleared = tuple(key for key, value in self.values.items() if value is None)
        return Batch(tuple(self.cleared_ranges), cleared, entries)


def stamped(template: bytes, offset: int, stamp: bytes) -> bytes:
    """`template` with its 10 bytes from `offset` replaced by the stamp."""
    return template[:offset] + stamp + template[offset + STAMP_BYTES :]
