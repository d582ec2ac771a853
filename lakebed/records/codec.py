"""The bytes of a record in the store.

    value   = 01 ‖ record type ‖ protobuf ‖ CRC-32 of all that stands before, little-endian
    current = version ‖ value        the version of its last change, filled in by the store at the commit

The protobuf omits what the key holds; `filled` puts it back. Unknown fields are kept.
"""

import zlib
from typing import Final

from google.protobuf.message import DecodeError, Message

from lakebed.errors import Corrupt, Invalid
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

VALUE_FORMAT = 1
VERSION_BYTES: Final = 12
EMPTY_BYTES: Final = 6  # of a record without a field

# The numbers are part of the format: 1-20 in the order of the source document, 101 and up are ours; `bodies` uses 254
# and 255.
TYPES: dict[int, type[Message]] = {
    1: pb.ObjectName,
    2: pb.DroppedObjectName,
    3: pb.TableObjectName,
    4: pb.DroppedTableObjectName,
    5: pb.CatalogRecord,
    6: pb.CatalogHistory,
    7: pb.CatalogCommit,
    8: pb.DatabaseRecord,
    9: pb.DatabaseHistory,
    10: pb.TableReference,
    11: pb.TableSchema,
    12: pb.TableStorage,
    13: pb.TableProperties,
    14: pb.TablePartition,
    15: pb.TableHistory,
    16: pb.TableSchemaHistory,
    17: pb.TableStorageHistory,
    18: pb.TablePropertiesHistory,
    19: pb.TablePartitionHistory,
    20: pb.TableCommit,
    101: pb.LakeRecord,
    102: pb.TableSpec,
    103: pb.TableSortOrder,
    104: pb.ViewText,
    105: pb.TableCheckpoint,
    106: pb.CheckpointIntent,
}
NUMBERS = {message: number for number, message in TYPES.items()}

# The current records whose history has another type; the bytes of one can be read as the other.
HISTORIES: dict[type[Message], type[Message]] = {
    pb.CatalogRecord: pb.CatalogHistory,
    pb.DatabaseRecord: pb.DatabaseHistory,
    pb.TableSchema: pb.TableSchemaHistory,
    pb.TableStorage: pb.TableStorageHistory,
    pb.TableProperties: pb.TablePropertiesHistory,
    pb.TablePartition: pb.TablePartitionHistory,
}
_CURRENTS = {NUMBERS[history]: current for current, history in HISTORIES.items()}

_HEADS = {message: bytes((VALUE_FORMAT, number)) for message, number in NUMBERS.items()}
_HISTORY_HEADS = {current: _HEADS[history] for current, history in HISTORIES.items()}

# The fields that a record's key holds: its line, and its own id.
_OWN_ID = {
    pb.CatalogRecord: "catalog_id",
    pb.DatabaseRecord: "database_id",
    pb.TableReference: "table_id",
    pb.TableSchema: "table_id",
    pb.TableStorage: "table_id",
    pb.TableProperties: "table_id",
    pb.TablePartition: "partition_id",
}


# The types of an attribute's current rows. Its history rows have the matching types, except that DATA has deltas.
LIFE_TYPES = (pb.CatalogRecord, pb.DatabaseRecord, pb.TableReference, pb.TablePartition)

ATTRIBUTE_TYPES: dict[Attribute, tuple[type[Message], ...]] = {
    Attribute.LIFE: LIFE_TYPES,
    Attribute.PROPERTIES: (pb.CatalogRecord, pb.DatabaseRecord, pb.TableProperties, pb.TablePartition),
    Attribute.STORAGE: (pb.TableStorage,),
    Attribute.SCHEMA: (pb.TableSchema,),
    Attribute.SPEC: (pb.TableSpec,),
    Attribute.SORT: (pb.TableSortOrder,),
    Attribute.DATA: (pb.TableReference,),
    Attribute.VIEW: (pb.ViewText,),
    Attribute.REF: (pb.CatalogRecord,),
    Attribute.PARTITION: (pb.TablePartition,),
}


def encode(record: Message) -> bytes:
    return _seal(_HEADS[type(record)], _payload(record))


def encode_both(record: Message) -> tuple[bytes, bytes]:
    """The values of a current record and of its history record, which have the same payload."""
    payload = _payload(record)
    current = _seal(_HEADS[type(record)], payload)
    head = _HISTORY_HEADS.get(type(record))
    return current, current if head is None else _seal(head, payload)


def decode(value: bytes) -> Message:
    """The record as its own type; `Corrupt` names the check that failed."""
    return _parse(_type_of(value), value)


def decode_current(value: bytes) -> Message:
    """The record; a history record as its current type."""
    stored = _type_of(value)
    return _parse(_CURRENTS.get(NUMBERS[stored], stored), value)


def split_current(row: bytes) -> tuple[Version, bytes]:
    """A current row's version and value."""
    if len(row) < VERSION_BYTES:
        raise Corrupt("a current record is truncated", expected="at least 12 bytes", found=len(row))
    return Version(row[:VERSION_BYTES]), row[VERSION_BYTES:]


def _payload(record: Message) -> bytes:
    """The protobuf bytes without what the key holds."""
    own = _OWN_ID.get(type(record))
    if own is None:
        return record.SerializeToString(deterministic=True)
    kept = type(record)()
    kept.CopyFrom(record)
    kept.ClearField(own)
    if own != "catalog_id":
        kept.ClearField("catalog_id")
    return kept.SerializeToString(deterministic=True)


def filled(record: Message, line: str, object_id: str) -> Message:
    """The record with what its key holds put back."""
    own = _OWN_ID.get(type(record))
    if own is not None:
        setattr(record, own, object_id)
        if own != "catalog_id":
            record.catalog_id = line  # type: ignore[attr-defined]
    return record


def _seal(head: bytes, payload: bytes) -> bytes:
    body = head + payload
    return body + zlib.crc32(body).to_bytes(4, "little")


def _type_of(value: bytes) -> type[Message]:
    if len(value) < EMPTY_BYTES:
        raise Corrupt("a record is truncated", expected="at least 6 bytes", found=len(value))
    if zlib.crc32(value[:-4]) != int.from_bytes(value[-4:], "little"):
        raise Corrupt("a record's checksum does not match its bytes", found=value[:2].hex())
    if value[0] != VALUE_FORMAT:
        raise Invalid("a record has a newer format", expected=VALUE_FORMAT, found=value[0], advice="Upgrade Lakebed.")
    if value[1] not in TYPES:
        raise Invalid("a record has a type that this Lakebed does not know", found=value[1], advice="Upgrade Lakebed.")
    return TYPES[value[1]]


def _parse(message: type[Message], value: bytes) -> Message:
    record = message()
    try:
        record.ParseFromString(value[2:-4])
    except DecodeError as error:
        raise Corrupt(f"a record can't be decoded: {error}", expected=message.DESCRIPTOR.name) from error
    return record
