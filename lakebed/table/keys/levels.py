"""Levels: above level 0, files of one partition and level have disjoint ranges of keys.

So at most one of them has a given key. Rows arrive on level 0, whatever their keys; compaction sorts them by key onto
level 1. If a file's bounds are for another primary key than the table's, neither they nor its level mean anything.
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
    """All keys from `low` to `high`, both included; `high` is None if there is no upper limit."""

    low: bytes
    high: bytes | None

    def overlaps(self, other: "KeySpan") -> bool:
        return not (_is_below(self, other) or _is_below(other, self))


ALL_KEYS: Final = KeySpan(b"", None)


@dataclass(frozen=True, slots=True)
class Placed:
    """A file with its partition, the keys that it may have, and the level that it counts for."""

    file: DataFileRef
    partition: Hashable
    span: KeySpan
    level: int


def placed(file: DataFileRef, partition: Hashable, is_keyed: IsKeyed) -> Placed:
    """A file with its place by the table's primary key: on level 0 with all keys if its bounds are for another key."""
    if not knows_keys(file, is_keyed):
        return Placed(file, partition, ALL_KEYS, 0)
    return Placed(file, partition, KeySpan(file.key_min, file.key_max), file.level)


def knows_keys(file: DataFileRef, is_keyed: IsKeyed) -> bool:
    """Whether a file's key bounds are for the table's primary key."""
    return bool(file.key_max) and file.HasField("key_schema_id") and is_keyed(file.key_schema_id)


def clusters(files: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Files of one partition in the order of their keys; those whose keys overlap, also indirectly, are together."""
    cluster: list[Placed] = []
    high: bytes | None = b""
    for file in sorted(files, key=_low):
        if cluster and high is not None and file.span.low > high:
            yield cluster
            cluster, high = [], b""
        cluster.append(file)
        high = None if high is None or file.span.high is None else max(high, file.span.high)
    if cluster:
        yield cluster


def clashes(added: Iterable[Placed], kept: Iterable[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Added files that overlap another file of their partition and level, above level 0, each with that file.

    The other file is a kept one, or an added one that itself overlaps none.
    """
    kept_by_place = _by_place(kept)
    for place, added_there in _by_place(added).items():
        kept_there = _Spans(kept_by_place.get(place, ()))
        last: Placed | None = None
        for file in sorted(added_there, key=_low):
            other = kept_there.first_over(file.span) or last
            if other is not None and file.span.overlaps(other.span):
                yield file, other
            else:
                last = file


class _Spans:
    """Files, searchable for one that overlaps a span."""

    def __init__(self, files: Iterable[Placed]) -> None:
        ordered = sorted(files, key=_low)
        self._lows = [file.span.low for file in ordered]
        self._furthest = list(accumulate(ordered, _further))

    def first_over(self, span: KeySpan) -> Placed | None:
        """The file that reaches furthest among those that begin before the span ends, if it overlaps the span."""
        count = len(self._lows) if span.high is None else bisect_right(self._lows, span.high)
        furthest = self._furthest[count - 1] if count else None
        return furthest if furthest is not None and furthest.span.overlaps(span) else None


def lowered(file: DataFileRef) -> DataFileRef:
    """The file on level 0."""
    return on_level(file, 0)


def on_level(file: DataFileRef, level: int) -> DataFileRef:
    """The file on a level: a copy, unless it is there already. The copy states its format, which a level may imply."""
    return file if file.level == level else replaced(file, format=file_format(file), level=level)


def _by_place(files: Iterable[Placed]) -> dict[tuple[Hashable, int], list[Placed]]:
    by_place: defaultdict[tuple[Hashable, int], list[Placed]] = defaultdict(list)
    for file in files:
        if file.level > 0:
            by_place[file.partition, file.level].append(file)
    return by_place


def _low(placed: Placed) -> bytes:
    return placed.span.low


def _is_below(span: KeySpan, other: KeySpan) -> bool:
    return span.high is not None and span.high < other.low


def _further(first: Placed, second: Placed) -> Placed:
    if first.span.high is None:
        return first
    return second if second.span.high is None or second.span.high > first.span.high else first
