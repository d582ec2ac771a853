"""The bytes of a manifest.

    frame   = "MRUB" ‖ 01 ‖ length of the payload, 4 bytes little-endian ‖ payload
    payload = protobuf ‖ A5 06 ‖ CRC32C of the protobuf, 4 bytes little-endian

The last six bytes are field 100 of the protobuf, fixed32; frames of other writers end without it.
"""

from typing import Final

import google_crc32c
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from lakebed.errors import Corrupt, TooLarge
from lakebed.table.manifest import manifest_pb2 as pb

MAGIC: Final = b"MRUB"
FORMAT: Final = 1
HEAD_BYTES: Final = 9
PAYLOAD_BYTES: Final = 2**32 - 1
SEAL_FIELD: Final = 100
SEAL_TAG: Final = b"\xa5\x06"  # field 100, wire type 5
SEAL_BYTES: Final = 6


def crc32c(data: bytes) -> int:
    """The checksum inside frames, and the one that records keep of whole frames."""
    return int(google_crc32c.value(data))


def frame(payload: bytes) -> bytes:
    """A payload with its head before it; `TooLarge` if four bytes can't hold its length."""
    length = len(payload)
    if length > PAYLOAD_BYTES:
        raise TooLarge(
            "a manifest is too large for its frame",
            expected=f"at most {PAYLOAD_BYTES} bytes",
            found=length,
            advice="Split the change.",
        )
    return b"".join((MAGIC, bytes((FORMAT,)), length.to_bytes(4, "little"), payload))


def encode(manifest: pb.Manifest) -> bytes:
    """The frame of a manifest, with the checksum as its last field."""
    payload = manifest.SerializeToString(deterministic=True)
    return frame(b"".join((payload, SEAL_TAG, crc32c(payload).to_bytes(4, "little"))))


def decode(data: bytes, path: str = "") -> pb.Manifest:
    """The manifest in a frame of any writer; `Corrupt` names the check that failed.

    The checksum is verified if the payload ends with it. It is not part of the manifest: `encode` adds a new one.
    """
    payload = _payload(data, path)
    return _parsed(_unsealed(payload, path) if _is_sealed(payload) else payload, path)


def decode_own(data: bytes, path: str, *, length: int, crc32c: int) -> pb.Manifest:
    """The manifest in a frame that Lakebed wrote; the record that points to it keeps its length and CRC32C."""
    if len(data) != length:
        raise _corrupt("the frame's length is not the one in its record", path, length, len(data))
    found = google_crc32c.value(data)
    if found != crc32c:
        raise _corrupt("the frame's checksum is not the one in its record", path, crc32c, found)
    payload = _payload(data, path)
    if not _is_sealed(payload):
        raise _corrupt("the payload does not end with its checksum", path, "field 100", payload[-SEAL_BYTES:].hex())
    return _parsed(_unsealed(payload, path), path)


def _payload(data: bytes, path: str) -> bytes:
    if len(data) < HEAD_BYTES:
        raise _corrupt("the frame is shorter than its head", path, f"at least {HEAD_BYTES} bytes", len(data))
    if data[:4] != MAGIC:
        raise _corrupt("the frame has the wrong magic", path, MAGIC.hex(), data[:4].hex())
    if data[4] != FORMAT:
        raise _corrupt("the frame has an unknown format version", path, FORMAT, data[4])
    length, found = int.from_bytes(data[5:HEAD_BYTES], "little"), len(data) - HEAD_BYTES
    if found < length:
        raise _corrupt("the payload is truncated", path, f"{length} bytes", found)
    if found > length:
        raise _corrupt("there is trailing garbage after the payload", path, f"{length} bytes", found)
    return data[HEAD_BYTES:]


def _is_sealed(payload: bytes) -> bool:
    # Another writer's payload may end in the tag's two bytes by chance, at most once in 65,536 frames. It is then
    # reported as damaged: the other way round, one flipped bit could make a damaged frame pass for a foreign one.
    return payload[-SEAL_BYTES:-4] == SEAL_TAG


def _unsealed(payload: bytes, path: str) -> bytes:
    body, expected = payload[:-SEAL_BYTES], int.from_bytes(payload[-4:], "little")
    found = crc32c(body)
    if found != expected:
        raise _corrupt("the checksum does not match the payload", path, expected, found)
    return body


def _parsed(payload: bytes, path: str) -> pb.Manifest:
    manifest = pb.Manifest()
    try:
        manifest.ParseFromString(payload)
    except DecodeError as error:
        raise _corrupt("the payload is not protobuf", path, "a Manifest", str(error)) from error
    unknown = UnknownFieldSet(manifest)
    if any(unknown[index].field_number == SEAL_FIELD for index in range(len(unknown))):
        # If it were kept, it would stand beside the new one, and a reader could take either.
        raise _corrupt("a checksum stands before the end of the payload", path, "field 100 last", "field 100 earlier")
    return manifest


def _corrupt(problem: str, path: str, expected: object, found: object) -> Corrupt:
    return Corrupt(problem, subject=path or "a manifest", expected=expected, found=found)
