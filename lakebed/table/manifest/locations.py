"""Locations: where an IO entry is, and where a file's metadata is (source document 004)."""

from dataclasses import dataclass
from typing import Final

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest import manifest_pb2 as pb

END: Final = 2**32 - 1  # the last offset that four bytes can hold
KEY_BYTES: Final = 2**16 - 1
ID_END: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Location:
    """Where an IO entry is: `length` bytes from `offset` on, `raw_length` once they are decompressed.

    `shared` means that it holds the metadata of several files. `Invalid` for numbers beyond four bytes.
    """

    key: str
    offset: int
    length: int
    raw_length: int
    shared: bool = False

    def __post_init__(self) -> None:
        if not _fits(self.offset, self.length, self.raw_length):
            raise Invalid("a location goes beyond four bytes", subject=str(self), expected=f"an end of at most {END}")
        if not 0 < _key_bytes(self.key) <= KEY_BYTES:
            raise Invalid(
                "a location's key is empty or too long", subject=str(self), expected=f"1 to {KEY_BYTES} bytes"
            )

    @property
    def end(self) -> int:
        """The offset of the byte after it."""
        return self.offset + self.length

    def __str__(self) -> str:
        return f"{self.key} at {self.offset}, {self.length} bytes"


@dataclass(frozen=True, slots=True)
class MetaInfo:
    """Where the metadata of a segment is, and that of the rows deleted from it."""

    id: int
    base: Location
    delta: Location | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.id <= ID_END:
            raise Invalid("an id does not fit into eight bytes", subject=str(self.base), found=self.id)


def location_to_proto(location: Location) -> pb.EntryLocation:
    """A location as a manifest stores it."""
    return pb.EntryLocation(
        key=location.key,
        offset=location.offset,
        length=location.length,
        raw_length=location.raw_length,
        shared=location.shared,
    )


def location_from_proto(stored: pb.EntryLocation) -> Location:
    """The location that a manifest stores; `Corrupt` if it is not a possible one."""
    return read_location(stored.key, stored.offset, stored.length, stored.raw_length, stored.shared)


def read_location(key: str, offset: int, length: int, raw_length: int, shared: bool = False) -> Location:
    """A location that was stored; `Corrupt` if it is not a possible one."""
    try:
        return Location(key, offset, length, raw_length, shared)
    except Invalid as error:
        raise Corrupt(error.problem, subject=error.subject, expected=error.expected) from error


def location_if_near(key: str, offset: int, length: int, raw_length: int) -> Location | None:
    """A location in a file; None if four bytes can't hold it, as for the last chunks of large files."""
    return Location(key, offset, length, raw_length) if _fits(offset, length, raw_length) else None


def _fits(offset: int, length: int, raw_length: int) -> bool:
    return all(0 <= number <= END for number in (offset, length, raw_length, offset + length))


def _key_bytes(key: str) -> int:
    try:
        return len(key.encode())
    except UnicodeEncodeError as error:
        raise Invalid("a location's key can't be encoded as UTF-8", subject=repr(key)) from error
