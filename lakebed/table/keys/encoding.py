"""Primary keys as bytes that compare as the keys do, for `key_min` and `key_max` of a file's entry.

    boolean                        00 or 01
    int, long, date, timestamps    8 bytes, big-endian, with the sign flipped; time too
    decimal                        16 bytes, the digits without the point, in the same way
    float, double                  8 bytes, big-endian: all bits flipped below zero, else the sign alone
    string, binary, fixed          its bytes, 00 as 00 FF, then 00 00
    uuid                           its 16 bytes
    several columns                one after the other

A widened column keeps its order across older files: an int is encoded as the long that it may become, a float as the
double. The two zeros are one key; NaN and null are not keys.
"""

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import Any, Final

from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Decimal, Fixed, Type
from lakebed.table.types.values import decode_bound, unscaled

_SIGN_64: Final = 1 << 63
_SIGN_128: Final = 1 << 127


def encode_key(types: Sequence[Type], values: Sequence[Any]) -> bytes:
    """A key of plain values, one for each type; `Invalid` for a null, a NaN or a value of another type."""
    if len(types) != len(values):
        raise Invalid("a key has the wrong number of values", expected=len(types), found=len(values))
    return b"".join(_encoded(type, value) for type, value in zip(types, values, strict=True))


def key_types(schema: Schema) -> list[Type]:
    """The types of a primary key's columns, in its order; empty if the table has no key."""
    return [schema.field_by_id(id).type for id in schema.identifier_ids]


def set_key_bounds(file: DataFileRef, schema: Schema) -> None:
    """Set a file's key bounds from the bounds of its key columns, unless it has tighter ones or a column has none.

    No key is below the key of all minima: where a row has the least value of the first column, its second value is not
    below the least of the second. So bounds that are rounded outwards stay bounds.
    """
    if file.key_max or not schema.identifier_ids:
        return
    known = {column.field_id: column for column in file.statistics}
    columns = [(schema.field_by_id(id).type, known.get(id)) for id in schema.identifier_ids]
    if all(_is_bounded(column) for _, column in columns):
        types = [type for type, _ in columns]
        file.key_min = encode_key(types, [decode_bound(type, column.lower) for type, column in columns if column])
        file.key_max = encode_key(types, [decode_bound(type, column.upper) for type, column in columns if column])
        file.key_schema_id = schema.id


def may_have_key(file: DataFileRef, key: bytes) -> bool:
    """Whether a file may have the key; without bounds it may have any."""
    return not file.key_max or file.key_min <= key <= file.key_max


def _is_bounded(known: ColumnStatistics | None) -> bool:
    return known is not None and known.HasField("lower") and known.HasField("upper")


def _encoded(type: Type, value: Any) -> bytes:
    if value is None:
        raise Invalid("a key has a null", expected=f"a value of type {type}")
    try:
        if isinstance(type, Decimal):
            return _wide(unscaled(Number(value), type.scale))
        return _ENCODERS["fixed" if isinstance(type, Fixed) else type.name](value)  # type: ignore[union-attr]
    except (KeyError, AttributeError) as error:
        raise Invalid("a column of this type can't be in a key", subject=str(type)) from error
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        raise Invalid("this value can't be in a key", subject=repr(value), expected=type) from error


def _whole(value: int) -> bytes:
    return struct.pack(">Q", struct.unpack(">Q", struct.pack(">q", value))[0] ^ _SIGN_64)


def _wide(digits: int) -> bytes:
    return (digits + _SIGN_128).to_bytes(16, "big")


def _floating(value: float) -> bytes:
    if value != value:
        raise ValueError("NaN has no place in an order")
    [bits] = struct.unpack(">Q", struct.pack(">d", value + 0.0))  # adding zero makes the two zeros one
    return struct.pack(">Q", bits ^ (2 * _SIGN_64 - 1 if bits & _SIGN_64 else _SIGN_64))


def _escaped(value: bytes) -> bytes:
    return bytes(value).replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def _boolean(value: bool) -> bytes:
    return {False: b"\x00", True: b"\x01"}[value]


def _uuid(value: bytes) -> bytes:
    if len(value) != 16:
        raise ValueError("a uuid has 16 bytes")
    return bytes(value)


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "boolean": _boolean,
    **dict.fromkeys(
        ("int", "long", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"), _whole
    ),
    **dict.fromkeys(("float", "double"), _floating),
    "string": lambda value: _escaped(value.encode()),
    "binary": _escaped,
    "fixed": _escaped,
    "uuid": _uuid,
}
