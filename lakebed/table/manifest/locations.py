"""Locations: where an IO entry is, and what of a file's metadata is where (source document 004).

    location = offset u32 ‖ length u32 ‖ raw length u32 ‖ shared u8 ‖ length of the key u16 ‖ key, UTF-8
    metainfo = id u64 ‖ 00, or 01 if there is a delta, u8 ‖ location of the base ‖ location of the delta

All numbers are little-endian. docs/table.md has the frame around lists of them.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.meta_frame import Items, Piece

END: Final = 2**32 - 1  # the last offset that four bytes can say
KEY_BYTES: Final = 2**16 - 1
ID_END: Final = 2**64 - 1

_LOCATION = struct.Struct("<IIIBH")
_META_INFO = struct.Struct("<QB")


@dataclass(frozen=True, slots=True)
class Location:
    """Where an IO entry is: `length` bytes from `offset` on, `raw_length` once they are decompressed.

    `shared` says that the metadata of several files is in it. `Invalid` for what four bytes can't say.
    """

    key: str
    offset: int
    length: int
    raw_length: int
    shared: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= one <= END for one in (self.offset, self.length, self.raw_length, self.end)):
            raise Invalid("a location goes beyond four bytes", subject=str(self), expected=f"an end of {END} at most")
        if not 0 < _key_bytes(self.key) <= KEY_BYTES:
            raise Invalid(
                "a location's key is empty or too long", subject=str(self), expected=f"1 to {KEY_BYTES} bytes"
            )

    @property
    def end(self) -> int:
        """Where the next byte is."""
        return self.offset + self.length

    def __str__(self) -> str:
        return f"{self.key} at {self.offset}, {self.length} bytes"


@dataclass(frozen=True, slots=True)
class MetaInfo:
    """Where the metadata of a segment is, and where what was deleted from it."""

    id: int
    base: Location
    delta: Location | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.id <= ID_END:
            raise Invalid("an id does not fit eight bytes", subject=str(self.base), found=self.id)


def collectable(gone: Iterable[MetaInfo], live: Iterable[MetaInfo]) -> set[str]:
    """The objects that only metadata which is gone refers to: an object stays as long as one live segment needs it."""
    return _keys(gone) - _keys(live)


def location_to_proto(location: Location) -> pb.EntryLocation:
    """As a manifest refers to it."""
    return pb.EntryLocation(
        key=location.key,
        offset=location.offset,
        length=location.length,
        raw_length=location.raw_length,
        shared=location.shared,
    )


def location_from_proto(stored: pb.EntryLocation) -> Location:
    """The location that a manifest refers to; `Corrupt` if it is none."""
    return read_location(stored.key, stored.offset, stored.length, stored.raw_length, stored.shared)


def read_location(key: str, offset: int, length: int, raw_length: int, shared: bool = False) -> Location:
    """A location that was stored; `Corrupt` if there can't be such a one."""
    try:
        return Location(key, offset, length, raw_length, shared)
    except Invalid as error:
        raise Corrupt(error.problem, subject=error.subject, expected=error.expected) from error


def location_if_near(key: str, offset: int, length: int, raw_length: int) -> Location | None:
    """A location in a file; None beyond what four bytes can say, as far chunks of large files are."""
    fits = all(0 <= one <= END for one in (offset, length, raw_length, offset + length))
    return Location(key, offset, length, raw_length) if fits else None


def put_location(location: Location) -> bytes:
    """The bytes of a location."""
    key = location.key.encode()
    return _LOCATION.pack(location.offset, location.length, location.raw_length, location.shared, len(key)) + key


def take_location(piece: Piece) -> Location:
    """The location that comes next."""
    offset, length, raw_length, shared, key_bytes = piece.numbers(_LOCATION)
    return read_location(piece.text(key_bytes), offset, length, raw_length, piece.flag(shared))


def _put_meta_info(meta: MetaInfo) -> bytes:
    head = _META_INFO.pack(meta.id, meta.delta is not None)
    return head + put_location(meta.base) + (put_location(meta.delta) if meta.delta is not None else b"")


def _take_meta_info(piece: Piece) -> MetaInfo:
    id, has_delta = piece.numbers(_META_INFO)
    base = take_location(piece)
    return MetaInfo(id, base, take_location(piece) if piece.flag(has_delta) else None)


def _keys(metas: Iterable[MetaInfo]) -> set[str]:
    return {place.key for one in metas for place in (one.base, one.delta) if place is not None}


def _key_bytes(key: str) -> int:
    try:
        return len(key.encode())
    except UnicodeEncodeError as error:
        raise Invalid("a location's key is no text", subject=repr(key)) from error


LOCATIONS: Final[Items[Location]] = Items(b"LBLO", put_location, take_location)
META_INFOS: Final[Items[MetaInfo]] = Items(b"LBMI", _put_meta_info, _take_meta_info)
