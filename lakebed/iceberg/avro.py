"""Avro as Iceberg writes it: every field has its id, and maps whose keys are not text are lists of pairs."""

import json
import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

import fastavro

from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Fixed,
    Type,
)
from lakebed.table.types.values import encode_bound

AvroType = str | dict[str, Any] | list[Any]
AvroField = dict[str, Any]
AvroRow = dict[str, Any]

_UNSAFE = re.compile("[^A-Za-z0-9_]")


def encode(schema: AvroType, rows: Iterable[AvroRow], header: Mapping[str, object]) -> bytes:
    """A whole Avro file; header values that are not text are written as JSON."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in header.items()}
    file = BytesIO()
    fastavro.writer(file, schema, rows, codec="deflate", metadata=texts)
    return file.getvalue()


def required(id: int, name: str, type: AvroType) -> AvroField:
    """A field of a record."""
    return {"name": name, "type": type, "field-id": id}


def optional(id: int, name: str, type: AvroType) -> AvroField:
    """A field of a record that may be null."""
    return {"name": name, "type": ["null", type], "default": None, "field-id": id}


def record(name: str, fields: Iterable[AvroField]) -> AvroType:
    return {"type": "record", "name": name, "fields": list(fields)}


def list_of(id: int, element: AvroType) -> AvroType:
    return {"type": "array", "items": element, "element-id": id}


def map_of(key_id: int, value_id: int, value: AvroType) -> AvroType:
    """A map with int keys; `pairs` makes its values."""
    pair = record(f"k{key_id}_v{value_id}", [required(key_id, "key", "int"), required(value_id, "value", value)])
    return {"type": "array", "items": pair, "logicalType": "map"}


def pairs(values: Mapping[int, Any]) -> list[AvroRow]:
    """A value of a `map_of`."""
    return [{"key": key, "value": value} for key, value in values.items()]


def field_name(name: str) -> str:
    """A name that Avro allows: other characters become their codes, as in Iceberg. Readers match fields by id."""
    safe = _UNSAFE.sub(lambda found: f"_x{ord(found[0]):X}", name)
    return f"_{safe}" if safe[:1].isdigit() else safe


def type_of(type: Type, name: str) -> AvroType:
    """A primitive type; `name` is for types that need one in Avro, and has to be unique in the file."""
    match type:
        case Decimal(precision, scale):
            fixed = {"type": "fixed", "name": name, "size": _decimal_size(precision)}
            return {**fixed, "logicalType": "decimal", "precision": precision, "scale": scale}
        case Fixed(length):
            return {"type": "fixed", "name": name, "size": length}
        case _ if type == UUID:
            return {"type": "fixed", "name": name, "size": 16, "logicalType": "uuid"}
        case _:
            return _TYPES[type]


def value_of(type: Type, value: Any) -> Any:
    """A plain value as `encode` takes it. Avro, too, stores dates as days and times as microseconds."""
    if isinstance(type, Decimal):
        # fastavro rounds by the precision of the decimal context, and checks digits that were checked before.
        digits = int.from_bytes(encode_bound(type, value), "big", signed=True)
        return digits.to_bytes(_decimal_size(type.precision), "big", signed=True)
    return value


def _decimal_size(precision: int) -> int:
    """The number of bytes for any decimal of this precision and its sign."""
    largest: int = 10**precision - 1
    return (largest.bit_length() + 8) // 8


def _timestamp(unit: str, is_instant: bool) -> AvroType:
    return {"type": "long", "logicalType": f"timestamp-{unit}", "adjust-to-utc": is_instant}


_TYPES: dict[Type, AvroType] = {
    BOOLEAN: "boolean",
    INT: "int",
    LONG: "long",
    FLOAT: "float",
    DOUBLE: "double",
    DATE: {"type": "int", "logicalType": "date"},
    TIME: {"type": "long", "logicalType": "time-micros"},
    TIMESTAMP: _timestamp("micros", False),
    TIMESTAMPTZ: _timestamp("micros", True),
    TIMESTAMP_NS: _timestamp("nanos", False),
    TIMESTAMPTZ_NS: _timestamp("nanos", True),
    STRING: "string",
    BINARY: "bytes",
}
