"""The frame around lists of locations and block metadata.

    frame = magic, 4 bytes ‖ version u8 ‖ number of items u32 ‖ length of the items u32 ‖ items ‖ CRC32C u32

The checksum is of all that stands before it. All numbers are little-endian.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import google_crc32c

from lakebed.errors import Corrupt, TooLarge

VERSION: Final = 1
LENGTH: Final = 2**32 - 1

_HEAD = struct.Struct("<4sBII")
_CHECKSUM = struct.Struct("<I")

Item = TypeVar("Item")


class Piece:
    """Bytes that are read from front to back; `Corrupt` if they end too early."""

    __slots__ = ("_data", "_place", "subject")

    def __init__(self, data: bytes, subject: str) -> None:
        self._data = data
        self._place = 0
        self.subject = subject

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def take(self, length: int) -> bytes:
        if length > self.left:
            raise self.corrupt("an item is cut", f"{length} bytes", self.left)
        self._place += length
        return self._data[self._place - length : self._place]

    def numbers(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size))

    def text(self, length: int) -> str:
        data = self.take(length)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.corrupt("a text is not UTF-8", "UTF-8", data.hex()) from error

    def flag(self, byte: int) -> bool:
        if byte > 1:
            raise self.corrupt("a flag is neither 0 nor 1", "0 or 1", byte)
        return bool(byte)

    def corrupt(self, problem: str, expected: object, found: object) -> Corrupt:
        return Corrupt(problem, subject=self.subject, expected=expected, found=found)


@dataclass(frozen=True, slots=True)
class Items(Generic[Item]):
    """How lists of one kind of thing become bytes: the magic of their frame, and each item."""

    magic: bytes
    put: Callable[[Item], bytes]
    take: Callable[[Piece], Item]

    def encode(self, items: Sequence[Item]) -> bytes:
        """The frame of these items."""
        body = b"".join(map(self.put, items))
        if len(body) > LENGTH:
            raise TooLarge("a list of metadata is too large for its frame", expected=LENGTH, found=len(body))
        framed = _HEAD.pack(self.magic, VERSION, len(items), len(body)) + body
        return framed + _CHECKSUM.pack(google_crc32c.value(framed))

    def decode(self, data: bytes, subject: str = "") -> list[Item]:
        """The items in a frame; `Corrupt` names the check that failed."""
        count, piece = self._body(data, subject or "a list of metadata")
        items = [self.take(piece) for _ in range(count)]
        if piece.left:
            raise piece.corrupt("there are bytes behind the last item", 0, piece.left)
        return items

    def _body(self, data: bytes, subject: str) -> tuple[int, Piece]:
        piece = Piece(data, subject)
        magic, version, count, length = piece.numbers(_HEAD)
        if magic != self.magic:
            raise piece.corrupt("the frame has another magic", self.magic.hex(), magic.hex())
        if version != VERSION:
            raise piece.corrupt("the frame has another version", VERSION, version)
        if piece.left != length + _CHECKSUM.size:
            raise piece.corrupt("the frame has another length", length + _CHECKSUM.size, piece.left)
        body = piece.take(length)
        [expected] = piece.numbers(_CHECKSUM)
        found = google_crc32c.value(data[: -_CHECKSUM.size])
        if found != expected:
            raise piece.corrupt("the checksum does not fit", expected, found)
        return count, Piece(body, subject)
