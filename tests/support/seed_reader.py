"""A reader of manifests that was written from source document 003's text alone: it shares no code with Lakebed.

The frame is magic, version, length and payload; the payload is read byte by byte by protobuf's wire format. Fields that
the document does not have are skipped, as its evolution rules ask.
"""

import struct
from collections.abc import Iterator
from typing import Any

FIELDS: dict[str, dict[int, tuple[str, str]]] = {
    "Manifest": {
        1: ("snapshot_id", "int64"),
        2: ("sequence_number", "int64"),
        3: ("schema_id", "int32"),
        4: ("partition_spec_id", "int32"),
        5: ("data_files", "repeated DataFileRef"),
        6: ("delete_files", "repeated DeleteFileRef"),
        7: ("previous_snapshot_id", "optional int64"),
        8: ("table_uuid", "string"),
        9: ("last_updated_ms", "int64"),
        10: ("properties", "map"),
        11: ("last_column_id", "int32"),
    },
    "DataFileRef": {
        1: ("path", "string"),
        2: ("file_size", "int64"),
        3: ("num_rows", "int64"),
        4: ("level", "int32"),
        5: ("seq_min", "int64"),
        6: ("seq_max", "int64"),
        7: ("key_min", "bytes"),
        8: ("key_max", "bytes"),
        9: ("dv_path", "optional string"),
        10: ("dv_offset", "optional int64"),
        11: ("dv_length", "optional int64"),
        12: ("status", "int32"),
        13: ("format", "optional int32"),
    },
    "DeleteFileRef": {1: ("path", "string"), 2: ("file_size", "int64"), 3: ("content", "int32")},
    "Entry": {1: ("key", "string"), 2: ("value", "string")},
}
DEFAULTS: dict[str, Any] = {"int64": 0, "int32": 0, "string": "", "bytes": b""}


def read_manifest(data: bytes) -> dict[str, Any]:
    """The manifest in a frame, as a dict; an AssertionError says what is not as the document has it."""
    assert data[:4] == b"MRUB" == bytes((0x4D, 0x52, 0x55, 0x42))
    assert data[4] == 1
    (length,) = struct.unpack("<I", data[5:9])
    payload = data[9:]
    assert len(payload) == length
    return message("Manifest", payload)


def message(kind: str, data: bytes) -> dict[str, Any]:
    known = FIELDS[kind]
    found = {name: default for name, type in known.values() if (default := default_of(type)) is not None}
    for number, value in fields(data):
        if number not in known:
            continue
        name, type = known[number]
        if type == "map":
            entry = message("Entry", value)
            found[name][entry["key"]] = entry["value"]
        elif type.startswith("repeated "):
            found[name].append(message(type.removeprefix("repeated "), value))
        else:
            found[name] = plain(type.removeprefix("optional "), value)
    return found


def default_of(type: str) -> Any:
    if type == "map":
        return {}
    if type.startswith("repeated "):
        return []
    return DEFAULTS.get(type)


def plain(type: str, value: Any) -> Any:
    if type == "string":
        return value.decode()
    if type in ("int64", "int32"):
        return value - (1 << 64) if value >= 1 << 63 else value
    return value


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number, and its value as a number or as bytes."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        number, wire = key >> 3, key & 7
        value: Any
        if wire == 0:
            value, place = varint(data, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, place = data[place : place + size], place + size
        else:
            assert wire == 2, f"wire type {wire}"
            size, place = varint(data, place)
            value, place = data[place : place + size], place + size
        assert place <= len(data), "a field goes beyond its message"
        yield number, value


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
