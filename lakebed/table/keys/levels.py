"""Levels: above level 0 no two files of one partition have a key in common, so one of them may have a given key.

Rows come in on level 0, whatever their keys; compaction sorts them by key onto level 1. Bounds that are of another
primary key than the table's say nothing, and neither does the level of a file that has such.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from lakebed.table.manifest.delta import file_format, replaced
from lakebed.table.manifest.manifest_pb2 import DataFileRef

COMPACTED_LEVEL: Final = 1

IsKeyed = Callable[[int], bool]
"""Whether the schema with this id has the table's primary key."""


@dataclass(frozen=True, slots=True)
class KeySpan:
    """All keys from `low` to `high`, both included; None has no end."""

    low: bytes
    high: bytes | None

    def overlaps(self, other: "KeySpan") -> bool:
        return not (_is_below(self, other) or _is_below(other, self))


ALL_KEYS: Final = KeySpan(b"", None)


@dataclass(frozen=True, slots=True)
class Placed:
    """A file with the partition that it is in, the keys that it may have, and the level that it counts for."""

    file: DataFileRef
    partition: Hashable
    span: KeySpan
    level: int


def placed(file: DataFileRef, partition: Hashable, is_keyed: IsKeyed) -> Placed:
    """A file as the table's primary key sees it."""
    if not knows_keys(file, is_keyed):
        return Placed(file, partition, ALL_KEYS, 0)
    return Placed(file, partition, KeySpan(file.key_min, file.key_max), file.level)


def knows_keys(file: DataFileRef, is_keyed: IsKeyed) -> bool:
    """Whether a file's bounds are of the table's primary key."""
    return bool(file.key_max) and file.HasField("key_schema_id") and is_keyed(file.key_schema_id)


def clusters(files: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Files of one partition in the order of their keys, those together whose keys overlap, be it over others."""
    found: list[Placed] = []
    high: bytes | None = b""
    for one in sorted(files, key=lambda one: one.span.low):
        if found and high is not None and one.span.low > high:
            yield found
            found, high = [], b""
        found.append(one)
        high = None if high is None or one.span.high is None else max(high, one.span.high)
    if found:
        yield found


def clashes(added: Iterable[Placed], kept: Iterable[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Added files that overlap another one of their partition and level, above level 0, each with that one.

    The other is one that is kept, or an added one that itself overlaps none.
    """
    held = _by_place(kept)
    for place, coming in _by_place(added).items():
        before = _Spans(held.get(place, ()))
        last: Placed | None = None
        for one in sorted(coming, key=lambda one: one.span.low):
            other = before.first_over(one.span) or last
            if other is not None and one.span.overlaps(other.span):
                yield one, other
            else:
                last = one


class _Spans:
    """Files to be asked for one that overlaps a span."""

    def __init__(self, files: Iterable[Placed]) -> None:
        ordered = sorted(files, key=lambda one: one.span.low)
        self._lows = [one.span.low for one in ordered]
        self._furthest = list(accumulate(ordered, _further))

    def first_over(self, span: KeySpan) -> Placed | None:
        """The file that reaches furthest among those that begin before the span's end, if it overlaps the span."""
        count = len(self._lows) if span.high is None else bisect_right(self._lows, span.high)
        found = self._furthest[count - 1] if count else None
        return found if found is not None and found.span.overlaps(span) else None


def lowered(file: DataFileRef) -> DataFileRef:
    """The file on level 0."""
    return on_level(file, 0)


def on_level(file: DataFileRef, level: int) -> DataFileRef:
    """The file on a level: a copy, unless it is there. Without a stamp of its format it keeps that of its old level."""
    return file if file.level == level else replaced(file, format=file_format(file), level=level)


def _by_place(files: Iterable[Placed]) -> dict[tuple[Hashable, int], list[Placed]]:
    found: defaultdict[tuple[Hashable, int], list[Placed]] = defaultdict(list)
    for one in files:
        if one.level > 0:
            found[one.partition, one.level].append(one)
    return found


def _is_below(one: KeySpan, other: KeySpan) -> bool:
    return one.high is not None and one.high < other.low


def _further(one: Placed, other: Placed) -> Placed:
    if one.span.high is None:
        return one
    return other if other.span.high is None or other.span.high > one.span.high else one
