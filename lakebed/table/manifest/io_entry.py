"""IO entries: the bytes that a location points to.

    entry = "LBIO" ‖ version u8 ‖ codec u8 ‖ 0 u16 ‖ stored length u32 ‖ raw length u32 ‖ 0 u32 ‖ CRC32C u32 ‖ stored

All numbers are little-endian. The checksum covers all other bytes. The head has 24 bytes, so that the stored bytes
begin at a multiple of eight, as Arrow prefers, if the entry does.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

import google_crc32c

from lakebed.deferred import pyarrow
from lakebed.errors import Corrupt, TooLarge
from lakebed.table.manifest.locations import END, Location

MAGIC: Final = b"LBIO"
VERSION: Final = 1

_HEAD = struct.Struct("<4sBBHIIII")
HEAD_BYTES: Final = _HEAD.size

_ZSTD = "zstd"
_LEVEL = 1
_SMALL = 1024  # bytes: zstd takes 26 µs for 300 of them, and saves little
_WORTH = 0.9  # a payload that does not shrink below this share is stored as it is, and read without a copy


class Codec(IntEnum):
    """How the payload of an entry is stored."""

    NONE = 0
    ZSTD = 1


def encode_entry(payload: pyarrow.Buffer | bytes) -> bytes:
    """The entry of a payload, compressed if that pays."""
    raw = pyarrow.py_buffer(payload)
    if raw.size > END - HEAD_BYTES:
        raise TooLarge("an IO entry is too large", expected=f"at most {END - HEAD_BYTES} bytes", found=raw.size)
    codec, stored = _compressed(raw)
    head = _HEAD.pack(MAGIC, VERSION, codec, 0, stored.size, raw.size, 0, 0)
    checksum = _checksum(head, stored)
    return b"".join((head[:-4], checksum.to_bytes(4, "little"), stored))


def decode_entry(data: bytes | memoryview | pyarrow.Buffer, location: Location) -> pyarrow.Buffer:
    """The payload of an entry; `Corrupt` names the location and the check that failed."""
    entry = pyarrow.py_buffer(data)
    if entry.size != location.length or entry.size < HEAD_BYTES:
        raise _corrupt("the entry has the wrong length", location, location.length, entry.size)
    head = entry.slice(0, HEAD_BYTES).to_pybytes()
    codec, raw_length, checksum = _checked(head, location)
    stored = entry.slice(HEAD_BYTES)
    found = _checksum(head, stored)
    if found != checksum:
        raise _corrupt("the checksum does not match the entry", location, checksum, found)
    return stored if codec is Codec.NONE else _decompressed(stored, raw_length, location)


def _checked(head: bytes, location: Location) -> tuple[Codec, int, int]:
    """Codec, raw length and checksum of a head that is sound."""
    magic, version, codec, zero, stored_length, raw_length, zeros, checksum = _HEAD.unpack(head)
    if magic != MAGIC:
        raise _corrupt("the entry has the wrong magic", location, MAGIC.hex(), magic.hex())
    if version != VERSION:
        raise _corrupt("the entry has an unknown version", location, VERSION, version)
    if codec not in tuple(Codec):
        raise _corrupt("the entry has an unknown codec", location, "0 or 1", codec)
    if zero or zeros:
        raise _corrupt("the entry's reserved bytes are not zero", location, 0, zero or zeros)
    if stored_length != location.length - HEAD_BYTES:
        raise _corrupt("the entry states the wrong length", location, location.length - HEAD_BYTES, stored_length)
    if raw_length != location.raw_length or (codec == Codec.NONE and raw_length != stored_length):
        raise _corrupt("the entry has the wrong raw length", location, location.raw_length, raw_length)
    return Codec(codec), raw_length, checksum


def _compressed(raw: pyarrow.Buffer) -> tuple[Codec, pyarrow.Buffer]:
    if raw.size < _SMALL:
        return Codec.NONE, raw
    stored = pyarrow.Codec(_ZSTD, _LEVEL).compress(raw)
    return (Codec.ZSTD, stored) if stored.size < raw.size * _WORTH else (Codec.NONE, raw)


def _decompressed(stored: pyarrow.Buffer, raw_length: int, location: Location) -> pyarrow.Buffer:
    try:
        # As bytes, since Arrow's own buffer could be written to.
        raw = pyarrow.py_buffer(pyarrow.Codec(_ZSTD).decompress(stored, raw_length, asbytes=True))
    except (OSError, ValueError) as error:
        raise _corrupt("the entry can't be decompressed", location, f"{raw_length} bytes", str(error)) from error
    if raw.size != raw_length:
        raise _corrupt("the entry has the wrong raw length", location, raw_length, raw.size)
    return raw


def _checksum(head: bytes, stored: pyarrow.Buffer) -> int:
    return int(google_crc32c.extend(google_crc32c.value(head[:-4]), stored))


def _corrupt(problem: str, location: Location, expected: object, found: object) -> Corrupt:
    return Corrupt(problem, subject=str(location), expected=expected, found=found)
