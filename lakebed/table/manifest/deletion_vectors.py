"""Deletion vectors: the positions of a data file's deleted rows, as the blob `deletion-vector-v1` of Iceberg's v3.

    blob = length of what follows but for the checksum ‖ D1 D3 39 64 ‖ bitmap ‖ CRC-32 of the two before it

Length and checksum are four bytes, big-endian. The bitmap is Roaring's portable form of 64 bits: the number of 32-bit
bitmaps, 8 bytes little-endian, then each of them with the upper half of its positions before it, 4 bytes.
"""

import zlib
from collections.abc import Iterable
from typing import Final

from pyroaring import AbstractBitMap64, BitMap64, FrozenBitMap64

from lakebed.errors import Corrupt, Invalid, TooLarge

MAGIC: Final = bytes.fromhex("d1d33964")
MAX_POSITION: Final = ((1 << 31) - 2 << 32) | 0x80000000  # Iceberg's: its reader has a Java array of upper halves
FRAME: Final = 8  # the bytes of the length and of the checksum
LEAST: Final = FRAME + len(MAGIC) + 8  # the bytes of a blob without positions
_MOST = (1 << 31) - 1  # Iceberg's reader takes the length for a signed number

Positions = Iterable[int] | AbstractBitMap64


def vector_of(positions: Positions) -> BitMap64:
    """A new bitmap of positions; `Invalid` if one of them can't be the position of a row."""
    try:
        vector = BitMap64(positions)
    except (OverflowError, TypeError) as error:
        raise _impossible(str(error)) from error
    if vector and vector.max() > MAX_POSITION:
        raise _impossible(str(vector.max()))
    return vector


def encode_vector(positions: Positions) -> bytes:
    """The blob, with runs wherever they are shorter, as Iceberg's own writer makes it.

    Iceberg's writer adds an empty bitmap for each 2³² rows without a deleted row, up to the last deleted row. Lakebed
    leaves them out: no reader needs them.
    """
    vector = vector_of(positions)
    vector.run_optimize()
    data = MAGIC + vector.serialize()
    if len(data) > _MOST:
        raise TooLarge("a deletion vector is too large", expected=f"at most {_MOST} bytes", found=len(data))
    return len(data).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


def blob_length(head: bytes, length: int) -> int:
    """The size of a blob that begins with `head` and whose entry states `length`.

    Iceberg's entries count all of the blob; Delta's leave out its length and its checksum.
    """
    return length + FRAME if int.from_bytes(head[:4], "big") == length else length


def decode_vector(blob: bytes, subject: str) -> FrozenBitMap64:
    """The positions in a whole blob; `Corrupt` names the subject and the check that failed.

    Its length may follow either convention: Iceberg's, without the checksum, or that of the upstream of source document
    003, with it.
    """
    if len(blob) < LEAST:
        raise damaged(subject, "length", f"at least {LEAST} bytes", f"{len(blob)} bytes")
    length = int.from_bytes(blob[:4], "big")
    if length not in (len(blob) - FRAME, len(blob) - 4):
        raise damaged(subject, "length", f"{len(blob) - FRAME}, or {len(blob) - 4} with the checksum", length)
    data = blob[4:-4]
    if data[:4] != MAGIC:
        raise damaged(subject, "magic", MAGIC.hex(), data[:4].hex())
    found = zlib.crc32(data).to_bytes(4, "big")
    if found != blob[-4:]:
        raise damaged(subject, "checksum", blob[-4:].hex(), found.hex())
    return _bitmap(data[4:], subject)


def _bitmap(data: bytes, subject: str) -> FrozenBitMap64:
    try:
        vector = FrozenBitMap64.deserialize(data)  # proves it sound, since pyroaring 1.2
    except (ValueError, IndexError) as error:
        raise damaged(subject, "bitmap", "a Roaring bitmap", str(error)) from error
    # deserialize ignores bytes after the bitmap. Java also writes bitmaps without positions, of 12 bytes each.
    own = vector.serialize()
    left_out = int.from_bytes(data[:8], "little") - int.from_bytes(own[:8], "little")
    if len(own) + 12 * left_out != len(data):
        raise damaged(subject, "bitmap", f"{len(own) + 12 * left_out} bytes", f"{len(data)} bytes")
    return vector


def damaged(subject: str, check: str, expected: object, found: object) -> Corrupt:
    """The error for a vector that is not what was written."""
    return Corrupt(
        f"the deletion vector is damaged: {check}",
        subject=subject,
        expected=expected,
        found=found,
        advice="Restore it from a copy. Without it deleted rows would come back.",
    )


def _impossible(found: str) -> Invalid:
    return Invalid("this is not the position of a row", expected=f"a number from 0 to {MAX_POSITION}", found=found)
