"""A reader of IO entries that shares no code with Lakebed: source document 004's structures, by the page entries.md.

A Location names `length` bytes from `offset` on; decompressed they have the original length. An entry with a directory
lists the columns of an object, each of which is an entry with an Arrow stream.
"""

import io
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c
import pyarrow
import pyarrow.ipc


@dataclass(frozen=True)
class Location:
    """Source document 004's Location."""

    key: str
    offset: int
    length: int
    original_length: int
    shared: bool


def location(row: dict[str, Any], prefix: str) -> Location | None:
    """The location in a row of a system table; None if there is none."""
    values = [row[f"{prefix}_{name}"] for name in ("key", "offset", "length", "original_length", "shared")]
    if None in values:
        assert values == [None] * 5, "a location is whole, or not there"
        return None
    assert all(0 <= value < 1 << 32 for value in values[1:4]), "its numbers have four bytes"
    return Location(*values)


def read_entry(place: Location) -> bytes:
    """The original bytes of the entry at a location."""
    data = Path(place.key).read_bytes()[place.offset : place.offset + place.length]
    assert len(data) == place.length
    magic, version, codec, zero, stored, raw, zeros, checksum = struct.unpack("<4sBBHIIII", data[:24])
    assert (magic, version, zero, zeros) == (b"LBIO", 1, 0, 0)
    assert (stored, raw) == (place.length - 24, place.original_length)
    assert google_crc32c.value(data[:20] + data[24:]) == checksum
    payload = data[24:] if codec == 0 else pyarrow.Codec("zstd").decompress(data[24:], raw, asbytes=True)
    assert len(payload) == place.original_length
    return bytes(payload)


def read_columns(place: Location) -> dict[str, list[Any]]:
    """The columns that the directory at a location lists, by name."""
    directory = io.BytesIO(read_entry(place))
    version, files, count = struct.unpack("<BQI", directory.read(13))
    assert version == 1
    columns = {}
    for _ in range(count):
        offset, length, raw, name_length = struct.unpack("<IIIH", directory.read(14))
        name = directory.read(name_length).decode()
        payload = read_entry(Location(place.key, offset, length, raw, place.shared))
        [column] = pyarrow.ipc.open_stream(payload).read_all().columns
        assert len(column) == files
        columns[name] = column.to_pylist()
    assert directory.read() == b""
    return columns
