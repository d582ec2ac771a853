"""The interface of a transaction over ordered key-values, shaped after FoundationDB's."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.errors import Invalid

Entry = tuple[bytes, bytes]

STAMP_BYTES = 10


class Stale(Exception):
    """What this transaction read has changed, or its snapshot is gone: begin again.

    A signal to `Store.run`, which retries, rather than an error: callers above never see it.
    """


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from `begin` to before `end`."""

    begin: bytes
    end: bytes

    def contains(self, key: bytes) -> bool:
        return self.begin <= key < self.end

    def overlaps(self, other: "KeyRange") -> bool:
        return self.begin < other.end and other.begin < self.end


@dataclass(frozen=True, slots=True)
class RangeRead:
    """One range to read: at most `limit` entries, backwards from the end if `reverse`."""

    range: KeyRange
    limit: int | None = None
    reverse: bool = False

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise Invalid("a range read has a limit below 1", expected="None or at least 1", found=self.limit)

    def without(self, last: bytes) -> KeyRange:
        """What is left to read after `last`."""
        if self.reverse:
            return KeyRange(self.range.begin, last)
        return KeyRange(last + b"\x00", self.range.end)

    def up_to(self, last: bytes) -> KeyRange:
        """What has been read after `last` was read."""
        if self.reverse:
            return KeyRange(last, self.range.end)
        return KeyRange(self.range.begin, last + b"\x00")


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in the requested order, and the range that a limit left unread (it may turn out to be empty)."""

    entries: list[Entry]
    rest: KeyRange | None


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit's place in the order of all commits, and its time in microseconds since 1970 (UTC).

    Both only grow: stamps strictly, times weakly.
    """

    stamp: bytes
    time: int


class Reads(ABC):
    """Reading at one version. Many reads in one call are one round trip on a remote store."""

    @abstractmethod
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    @abstractmethod
    def get_ranges(self, reads: Sequence[RangeRead]) -> list[Page]: ...

    def get(self, key: bytes) -> bytes | None:
        return self.get_many((key,))[0]

    def get_range(self, range: KeyRange, *, limit: int | None = None, reverse: bool = False) -> Page:
        return self.get_ranges((RangeRead(range, limit, reverse),))[0]


class Transaction(Reads):
    """Reads at one version, sees its own writes, and commits if nothing that it read has changed since.

    Reads on the transaction itself join its conflict set; reads on `snapshot` do not. A pending stamped key or value
    can't be read: `Invalid`. Nothing is written before `commit`. Exceeding a limit raises `TooLarge` or `TimedOut`.
    Use it from one thread at a time, and only in the process that began it.
    """

    @property
    @abstractmethod
    def snapshot(self) -> Reads:
        """The same state, own writes included, without joining the conflict set."""

    @property
    @abstractmethod
    def read_stamp(self) -> bytes:
        """The stamp of the newest commit that this transaction sees."""

    @abstractmethod
    def set(self, key: bytes, value: bytes) -> None: ...

    @abstractmethod
    def clear(self, key: bytes) -> None: ...

    @abstractmethod
    def clear_range(self, range: KeyRange) -> None: ...

    @abstractmethod
    def set_stamped_key(self, key: bytes, offset: int, value: bytes) -> None:
        """Write `value` under `key`; the 10 bytes of `key` from `offset` become the commit's stamp."""

    @abstractmethod
    def set_stamped_value(self, key: bytes, value: bytes, offset: int) -> None:
        """Write `value`; its 10 bytes from `offset` become the commit's stamp."""

    @abstractmethod
    def add_read_conflict_key(self, key: bytes) -> None: ...

    @abstractmethod
    def add_read_conflict_range(self, range: KeyRange) -> None: ...

    @abstractmethod
    def times_of(self, stamps: Sequence[bytes]) -> list[int]:
        """The times of commits, by their stamps; a stamp of no commit has the time of the commit before it."""

    @abstractmethod
    def stamp_at(self, time: int) -> bytes | None:
        """The stamp of the last visible commit whose time is not after `time`."""

    @abstractmethod
    def commit(self) -> Committed | None:
        """Write everything or nothing. None: there was nothing to write, and what was read is valid at `read_stamp`.

        Raises `Stale`, `Unavailable` (nothing written) or `OutcomeUnknown`. The transaction has ended in any case.
        """

    @abstractmethod
    def close(self) -> None:
        """End without writing. Ending twice is fine."""

    def __enter__(self) -> "Transaction":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
