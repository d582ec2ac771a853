"""Puffin files: Iceberg's container of blobs, here of deletion vectors, as Iceberg's own writer makes it.

file   = "PFA1" ‖ blobs ‖ footer
footer = "PFA1" ‖ JSON ‖ length of the JSON, 4 bytes little-endian ‖ flags, 4 bytes ‖ "PFA1"
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyroaring import AbstractBitMap64

from lakebed.errors import Corrupt
from lakebed.table.manifest.deletion_vectors import encode_vector
from lakebed.table.schema.metadata_columns import POSITION

MAGIC: Final = b"PFA1"
DELETION_VECTOR: Final = "deletion-vector-v1"
DATA_FILE: Final = "referenced-data-file"
CARDINALITY: Final = "cardinality"
CREATED_BY: Final = "Lakebed"
INHERITED: Final = -1  # the snapshot id and sequence number are those of the entry that refers to the blob

_TAIL = 12  # length, flags and magic, after the JSON
_CODECS = (None, "lz4", "zstd")
_REQUIRED = {"type": str, "fields": list, "snapshot-id": int, "sequence-number": int, "offset": int, "length": int}


@dataclass(frozen=True, slots=True)
class Blob:
    """A footer's description of one blob, and where it is in the file."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    offset: int
    length: int
    compression: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def encode_puffin(vectors: Sequence[tuple[str, AbstractBitMap64]]) -> tuple[bytes, list[Blob]]:
    """A file with the deletion vectors of data files, each named by its location, and the blobs in it."""
    parts, blobs, offset = [MAGIC], [], len(MAGIC)
    for location, vector in vectors:
        part = encode_vector(vector)
        blobs.append(_vector_blob(location, len(vector), offset, len(part)))
        parts.append(part)
        offset += len(part)
    footer = json.dumps(_footer(blobs), ensure_ascii=False, separators=(",", ":")).encode()
    parts += [MAGIC, footer, len(footer).to_bytes(4, "little"), bytes(4), MAGIC]
    return b"".join(parts), blobs


def parse_puffin(data: bytes, path: str) -> list[Blob]:
    """The blobs in the footer of a whole file; `Corrupt` if the file or its footer is damaged."""
    payload, end = _payload(data, path)
    try:
        body = json.loads(payload)
    except ValueError as error:  # also raised for bytes that are not UTF-8
        raise _damaged(path, "the footer", "JSON", str(error)) from error
    except RecursionError as error:
        raise _damaged(path, "the footer", "JSON", "too many nested lists") from error
    blobs = body.get("blobs") if isinstance(body, dict) else None
    if not isinstance(blobs, list):
        raise _damaged(path, "the footer", "a list of blobs", type(blobs).__name__)
    return [_parsed_blob(blob, end, path) for blob in blobs]


def _vector_blob(location: str, cardinality: int, offset: int, length: int) -> Blob:
    properties = {DATA_FILE: location, CARDINALITY: str(cardinality)}
    return Blob(DELETION_VECTOR, (POSITION.id,), INHERITED, INHERITED, offset, length, None, properties)


def _footer(blobs: Sequence[Blob]) -> dict[str, Any]:
    """The footer in the order of Iceberg's writer, which leaves out an absent codec."""
    listed = [
        {
            "type": blob.type,
            "fields": list(blob.fields),
            "snapshot-id": blob.snapshot_id,
            "sequence-number": blob.sequence_number,
            "offset": blob.offset,
            "length": blob.length,
            "properties": dict(blob.properties),
        }
        for blob in blobs
    ]
    return {"blobs": listed, "properties": {"created-by": CREATED_BY}}


def _payload(data: bytes, path: str) -> tuple[bytes, int]:
    """The footer's JSON, and where the blobs end."""
    least = len(MAGIC) * 2 + _TAIL
    if len(data) < least:
        raise _damaged(path, "the length", f"at least {least} bytes", f"{len(data)} bytes")
    length = int.from_bytes(data[-12:-8], "little", signed=True)
    end = len(data) - _TAIL - length - len(MAGIC)
    for name, found in (("the first bytes", data[:4]), ("the last bytes", data[-4:])):
        if found != MAGIC:
            raise _damaged(path, name, MAGIC, found)
    if data[-8:-4] != bytes(4):
        raise _damaged(path, "the flags", "none, since Lakebed can't read compressed footers", data[-8:-4].hex())
    if length < 0 or end < len(MAGIC):
        raise _damaged(path, "the footer's length", f"0 to {len(data) - least}", length)
    if data[end : end + 4] != MAGIC:
        raise _damaged(path, "the bytes before the footer", MAGIC, data[end : end + 4])
    return data[end + 4 : -_TAIL], end


def _parsed_blob(body: Any, end: int, path: str) -> Blob:
    if not isinstance(body, dict):
        raise _damaged(path, "a blob of the footer", "an object", type(body).__name__)
    for key, kind in _REQUIRED.items():
        if not isinstance(body.get(key), kind) or isinstance(body[key], bool):
            raise _damaged(path, f"{key} of a blob", kind.__name__, repr(body.get(key)))
    blob = Blob(
        body["type"],
        tuple(body["fields"]),
        body["snapshot-id"],
        body["sequence-number"],
        body["offset"],
        body["length"],
        body.get("compression-codec"),
        body.get("properties", {}),
    )
    _check(blob, end, path)
    return blob


def _check(blob: Blob, end: int, path: str) -> None:
    if not all(isinstance(id, int) for id in blob.fields):
        raise _damaged(path, "fields of a blob", "ids", blob.fields)
    if blob.offset < len(MAGIC) or blob.length < 0 or blob.offset + blob.length > end:
        found = f"{blob.length} bytes from {blob.offset} on"
        raise _damaged(path, "the place of a blob", f"bytes from {len(MAGIC)} to {end}", found)
    if blob.compression not in _CODECS:
        raise _damaged(path, "the codec of a blob", "lz4, zstd or none", repr(blob.compression))
    texts = blob.properties if isinstance(blob.properties, dict) else {"": None}
    if not all(isinstance(text, str) for text in texts.values()):
        raise _damaged(path, "the properties of a blob", "texts", repr(blob.properties))
    if blob.type == DELETION_VECTOR:
        _check_vector(blob, path)


def _check_vector(blob: Blob, path: str) -> None:
    if blob.compression is not None:
        raise _damaged(path, "the codec of a deletion vector", "none", blob.compression)
    if DATA_FILE not in blob.properties:
        raise _damaged(path, "the properties of a deletion vector", DATA_FILE, ", ".join(blob.properties) or "none")
    count = blob.properties.get(CARDINALITY, "")
    if not (count.isascii() and count.isdigit()):
        raise _damaged(path, f"{CARDINALITY} of a deletion vector", "a number", repr(count))


def _damaged(path: str, check: str, expected: object, found: object) -> Corrupt:
    return Corrupt(
        f"the Puffin file is damaged: {check}",
        subject=path,
        expected=expected,
        found=found,
        advice="Restore it from a copy.",
    )
