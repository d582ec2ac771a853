"""The bytes of a value in a Parquet file's pages, which bloom filters hash."""

import struct
from collections.abc import Iterator
from typing import Any, Final

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.types.types import DOUBLE, FLOAT, Decimal, Field, Fixed, Primitive, Type
from lakebed.table.types.values import unscaled

_INT32: Final = struct.Struct("<i")
_INT64: Final = struct.Struct("<q")
_PACKED: Final = {
    **dict.fromkeys(("int", "date"), _INT32),
    **dict.fromkeys(("long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"), _INT64),
    "float": struct.Struct("<f"),
    "double": struct.Struct("<d"),
}
_NAMES: Final = frozenset({*_PACKED, "string", "binary", "uuid"})


def can_have_bloom(type: Type) -> bool:
    """Whether Parquet has bloom filters for a type: not for booleans, lists, maps and structs."""
    return isinstance(type, Decimal | Fixed) or (isinstance(type, Primitive) and type.name in _NAMES)


def physical_type(type: Type) -> tuple[str, int]:
    """The physical type of a column in files that Lakebed writes, and its width for fixed-length bytes, else 0."""
    match type:
        case Decimal(precision):
            width = _decimal_width(precision)
            return {4: ("INT32", 0), 8: ("INT64", 0)}.get(width, ("FIXED_LEN_BYTE_ARRAY", width))
        case Fixed(length):
            return "FIXED_LEN_BYTE_ARRAY", length
        case Primitive("uuid"):
            return "FIXED_LEN_BYTE_ARRAY", 16
        case Primitive("float" | "double" as name):
            return name.upper(), 0
        case Primitive(name) if name in _PACKED:
            return ("INT32" if _PACKED[name] is _INT32 else "INT64"), 0
        case _:
            return "BYTE_ARRAY", 0


def file_bytes(type: Type, value: Value) -> bytes:
    """The bytes of a plain value; `Invalid` if the type has no bloom filters or the value is not of the type."""
    try:
        return _bytes(type, value)
    except (struct.error, OverflowError, TypeError, AttributeError, UnicodeEncodeError) as error:
        raise Invalid("this is not a value of its type", subject=repr(value), expected=type) from error


def possible_bytes(field: Field, value: Value) -> Iterator[bytes]:
    """The bytes that a value of the column may have in any file: older files may have a narrower type.

    The two zeros are equal, and either may be in the file.
    """
    values = (0.0, -0.0) if field.type in (FLOAT, DOUBLE) and value == 0 else (value,)
    for type in _types_of(field):
        for candidate in values:
            try:
                yield file_bytes(type, candidate)
            except Invalid:
                if type == field.type:
                    raise
                # A narrower type can't hold the value: no file with that type has it.


def _types_of(field: Field) -> list[Type]:
    """The types that the column may have in files, one for each form of its bytes."""
    match field.widened_from, field.type:
        case None, type:
            return [type]
        case Decimal(narrow, scale), Decimal(wide, _) as type:
            by_width = {_decimal_width(precision): Decimal(precision, scale) for precision in range(narrow, wide + 1)}
            return [*(older for width, older in by_width.items() if width != _decimal_width(wide)), type]
        case narrow, type:
            return [narrow, type]


def _bytes(type: Type, value: Any) -> bytes:
    match type:
        case Decimal(precision, scale):
            return _decimal_bytes(_decimal_width(precision), unscaled(value, scale))
        case Primitive(name) if name in _PACKED:
            packed = _PACKED[name].pack(value)
            if isinstance(value, float) and _PACKED[name].unpack(packed)[0] != value:
                raise OverflowError(f"{value!r} would be rounded")
            return packed
        case Primitive("string"):
            return str.encode(value)
        case Fixed() | Primitive("binary" | "uuid"):
            return memoryview(value).tobytes()
        case _:
            raise Invalid("this type has no bloom filters", subject=str(type))


def _decimal_width(precision: int) -> int:
    """Iceberg's decimals in Parquet: 4 bytes for up to 9 digits, 8 for up to 18, else as few as possible."""
    if precision <= 18:
        return 4 if precision <= 9 else 8
    return (int(10**precision - 1).bit_length() + 8) // 8


def _decimal_bytes(width: int, digits: int) -> bytes:
    return digits.to_bytes(width, "little" if width <= 8 else "big", signed=True)
