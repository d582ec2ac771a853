"""Plain values as Iceberg's single-value bytes (its specification, Appendix D), and the bounds made of them.

The bounds of a column in a file may be wider than its values, never narrower; a bound that can't be given is absent.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final

from lakebed.errors import Corrupt, Invalid
from lakebed.table.types.times import TIMES_OF_DAY
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
    Fixed,
    Primitive,
    Type,
)
from lakebed.table.types.types import Decimal as DecimalType

BOUND_BYTES: Final = 32  # of text and bytes; longer bounds are truncated

Value = Any  # a plain value: bool, int, float, decimal.Decimal, str or bytes, as the column's type has it

_LAST = "\U0010ffff"  # the one code point without a next one
_EXACT = Context(prec=80)  # the default of 28 digits would round a decimal of 38
_BOOLEANS = {False: b"\x00", True: b"\x01"}


def is_nan(value: Value) -> bool:
    """Whether a plain value of any type, or null, is NaN."""
    return isinstance(value, float) and math.isnan(value)


def encode_bound(type: Type, value: Value) -> bytes:
    """A plain value as bytes; `Invalid` if it is not a value of the type."""
    try:
        if isinstance(type, DecimalType):
            return _decimal_bytes(unscaled(value, type.scale))
        return _form(type).encode(value)
    except (struct.error, OverflowError, TypeError, AttributeError, KeyError, UnicodeEncodeError) as error:
        raise Invalid("this is not a value of its type", subject=repr(value), expected=type) from error


def decode_bound(type: Type, data: bytes) -> Value:
    """The plain value that the bytes hold; `Corrupt` if they are not a value of the type.

    The narrower bytes that a column had before it was widened (int to long, float to double) are read too, and so are
    the wider ones: a restore to before the widening leaves them in checkpoints.
    """
    try:
        if isinstance(type, DecimalType):
            return _decimal_value(data, type.scale)
        return _form(type).decode(data)
    except (KeyError, UnicodeDecodeError) as error:
        raise Corrupt("these bytes are not a bound", expected=type, found=data.hex() or "no bytes") from error


def lower_bound(type: Type, value: Value) -> bytes | None:
    """A value that is not above this value, as bytes, at most 32 for text; None if there is no such value."""
    data = encode_bound(type, value)
    return data if isinstance(type, DecimalType) else _form(type).lower(data)


def upper_bound(type: Type, value: Value) -> bytes | None:
    """A value that is not below this value, as bytes, at most 32 for text; None if there is no such value."""
    data = encode_bound(type, value)
    return data if isinstance(type, DecimalType) else _form(type).upper(data)


def unscaled(value: Decimal, scale: int) -> int:
    """A decimal's digits as a whole number; `Invalid` if more than `scale` of them are after the point."""
    if value.is_finite():
        shifted = value.scaleb(scale, _EXACT)
        digits = int(shifted)
        if digits == shifted:
            return digits
    raise Invalid("a decimal does not fit its scale", subject=str(value), expected=f"a scale of {scale}")


def scaled(digits: int, scale: int) -> Decimal:
    """The decimal that has these digits, `scale` of them after the point."""
    return Decimal(digits).scaleb(-scale, _EXACT)


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, slots=True)
class _Form:
    """How values of a type are written and read, and which bytes bound them from below and above."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    lower: Callable[[bytes], bytes | None] = _same
    upper: Callable[[bytes], bytes | None] = _same


def _form(type: Type) -> _Form:
    if isinstance(type, Fixed):
        return _sized(range(1, type.length + 1))
    form = _FORMS.get(type.name) if isinstance(type, Primitive) else None
    if form is None:
        raise Invalid("values of this type have no bounds", subject=str(type))
    return form


def _packed(code: str, *read_too: str) -> _Form:
    layout = struct.Struct(f"<{code}")
    layouts = {each.size: each for each in (layout, *(struct.Struct(f"<{other}") for other in read_too))}
    return _Form(layout.pack, lambda data: layouts[len(data)].unpack(data)[0])


def _floating(code: str, *read_too: str) -> _Form:
    plain, layout = _packed(code, *read_too), struct.Struct(f"<{code}")
    below, above = layout.pack(-0.0), layout.pack(0.0)

    def encode(value: float) -> bytes:
        data = layout.pack(value)
        if layout.unpack(data)[0] != value and not math.isnan(value):
            raise OverflowError(f"{value!r} would be rounded")  # and might then be narrower than the values
        return data

    # Engines differ in whether -0.0 is below 0.0, and NaN has no order: a bound must hold in every engine.
    def bound(data: bytes, zero: bytes) -> bytes | None:
        value = layout.unpack(data)[0]
        return None if math.isnan(value) else data if value else zero

    return _Form(encode, plain.decode, lambda data: bound(data, below), lambda data: bound(data, above))


def _time() -> _Form:
    plain = _packed("q")

    def encode(value: int) -> bytes:
        data = plain.encode(value)  # first: it refuses all but ints, for which `in` would search the whole range
        if value not in TIMES_OF_DAY:
            raise OverflowError(f"{value!r} is on another day")
        return data

    return _Form(encode, plain.decode)


@lru_cache(maxsize=64)
def _sized(lengths: range) -> _Form:
    """Bytes of the last of these lengths; truncated bounds have one of the other lengths."""

    def encode(value: Any) -> bytes:
        data = memoryview(value).tobytes()
        if len(data) != lengths[-1]:
            raise OverflowError(f"{len(data)} bytes instead of {lengths[-1]}")
        return data

    def decode(data: bytes) -> bytes:
        if len(data) not in lengths:
            raise KeyError(len(data))
        return data

    return _Form(encode, decode, _bytes_below, _bytes_above)


def _text_prefix(data: bytes) -> str:
    return data[:BOUND_BYTES].decode("utf-8", "ignore")  # drops a code point that was cut in two


def _text_below(data: bytes) -> bytes:
    return data if len(data) <= BOUND_BYTES else _text_prefix(data).encode()


def _text_above(data: bytes) -> bytes | None:
    if len(data) <= BOUND_BYTES:
        return data
    prefix = _text_prefix(data).rstrip(_LAST)
    while prefix:
        above = prefix[:-1].encode() + _next_character(prefix[-1]).encode()
        if len(above) <= BOUND_BYTES:
            return above
        prefix = prefix[:-1].rstrip(_LAST)  # the next character takes a byte more, which is one too many
    return None


def _next_character(character: str) -> str:
    # Between these two are the surrogates, which UTF-8 does not have.
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)


def _bytes_below(data: bytes) -> bytes:
    return data[:BOUND_BYTES]


def _bytes_above(data: bytes) -> bytes | None:
    if len(data) <= BOUND_BYTES:
        return data
    prefix = data[:BOUND_BYTES].rstrip(b"\xff")
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None


def _decimal_bytes(digits: int) -> bytes:
    # As few bytes as hold the digits and their sign: 127 needs one, 128 two, -128 one.
    bits = (digits if digits >= 0 else ~digits).bit_length() + 1
    return digits.to_bytes((bits + 7) // 8, "big", signed=True)


def _decimal_value(data: bytes, scale: int) -> Decimal:
    if not 1 <= len(data) <= 16:
        raise Corrupt("a decimal's bound has the wrong length", expected="1 to 16 bytes", found=len(data))
    return scaled(int.from_bytes(data, "big", signed=True), scale)


_FORMS = {
    BOOLEAN.name: _Form(_BOOLEANS.__getitem__, {data: value for value, data in _BOOLEANS.items()}.__getitem__),
    INT.name: _packed("i", "q"),
    LONG.name: _packed("q", "i"),
    FLOAT.name: _floating("f", "d"),
    DOUBLE.name: _floating("d", "f"),
    DATE.name: _packed("i"),
    TIME.name: _time(),
    **{type.name: _packed("q") for type in (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)},
    STRING.name: _Form(str.encode, bytes.decode, _text_below, _text_above),
    UUID.name: _sized(range(16, 17)),
    BINARY.name: _Form(lambda value: memoryview(value).tobytes(), bytes, _bytes_below, _bytes_above),
}
