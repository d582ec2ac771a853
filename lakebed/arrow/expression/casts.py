"""Casting columns as in Spark's ANSI mode: a value that does not fit is an error, or null with TRY_CAST."""

import decimal
import math
from collections.abc import Callable

import numpy
import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.decimals import fitted, nearest
from lakebed.arrow.expression.text import by_value
from lakebed.arrow.types import shown_value
from lakebed.errors import Invalid
from lakebed.table.expression.expression import VOID, Cast, Casting
from lakebed.table.expression.types import DATETIMES, FLOATING, UUID_LENGTH, WHOLE, is_bytes
from lakebed.table.sql import casts
from lakebed.table.types.times import DAY_NANOS
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Fixed,
    Type,
)

_RANGES = {pyarrow.int32(): range(-(2**31), 2**31), pyarrow.int64(): range(-(2**63), 2**63)}
_MOMENT_TEXT: dict[Type, Callable[[int], str]] = {
    DATE: casts.day_text,
    TIMESTAMP: casts.moment_text,
    TIMESTAMPTZ: casts.moment_text,
}
_NANOS = {TIMESTAMP: 1000, TIMESTAMPTZ: 1000, TIMESTAMP_NS: 1, TIMESTAMPTZ_NS: 1, DATE: DAY_NANOS}


def cast(expression: Cast, value: pyarrow.Array, form: pyarrow.DataType) -> pyarrow.Array:
    """The values as another type, whose form is given; `Invalid` names the first value that does not fit."""
    result = try_cast(value, expression.value.type, expression.type, form)
    if result.null_count > value.null_count and expression.casting is not Casting.TRY_CAST:
        lost = compute.and_(result.is_null(), value.is_valid())
        raise _refused(expression, shown_value(value.filter(lost)[0]))
    return result


def _refused(expression: Cast, value: str) -> Invalid:
    storing = expression.casting is Casting.STORE
    return Invalid(
        "a value does not fit the column" if storing else "a value can't be cast",
        subject=f"column {expression.column!r}" if storing else str(expression),
        expected=str(expression.type),
        found=f"{value} of type {expression.value.type}",
        advice="" if storing else "Use TRY_CAST to get null instead.",
    )


def try_cast(value: pyarrow.Array, found: Type, wanted: Type, form: pyarrow.DataType) -> pyarrow.Array:
    """The values as another type; null also where a value does not fit."""
    if found == VOID:
        return pyarrow.nulls(len(value), form)
    if found in DATETIMES and wanted in DATETIMES:
        return _moments(value, _NANOS[found], _NANOS[wanted], form)
    match wanted:
        case Decimal():
            return _decimals(value, found, wanted)
        case Fixed(length):
            return _sized(value, length)
        case _ if wanted == UUID:
            return _sized(value, UUID_LENGTH)
        case _ if wanted in WHOLE:
            return _whole(value, found, form)
        case _ if wanted in FLOATING:
            return _floating(value, found, form)
        case _ if wanted == BOOLEAN:
            return _booleans(value, found)
        case _ if wanted == STRING:
            return _text(value, found)
        case _ if wanted == BINARY:
            return value.cast(pyarrow.binary())
        case _ if found == STRING and wanted in DATETIMES:
            return _read_moments(value, wanted, form)
        case _:
            return value  # the same type except for ids, which are set when it is stored


def _whole(value: pyarrow.Array, found: Type, form: pyarrow.DataType) -> pyarrow.Array:
    allowed = _RANGES[form]
    if found == STRING:
        return by_value(value, lambda text: _in(allowed, casts.parse_whole(text)), form)
    if found == BOOLEAN:
        return value.cast(form)
    if found in FLOATING:
        number = compute.trunc(value.cast(pyarrow.float64()))
        low, high = pyarrow.scalar(float(allowed.start)), pyarrow.scalar(float(allowed.stop))
    elif isinstance(found, Decimal):
        number = compute.trunc(value).cast(pyarrow.decimal256(76, found.scale))
        low, high = (pyarrow.scalar(decimal.Decimal(bound), number.type) for bound in (allowed.start, allowed.stop))
    else:
        number = value.cast(pyarrow.int64())
        if form == number.type:
            return number
        low, high = pyarrow.scalar(allowed.start, number.type), pyarrow.scalar(allowed.stop, number.type)
    fits = compute.and_(compute.greater_equal(number, low), compute.less(number, high))
    return _null_unless(fits, number).cast(form)


def _in(allowed: range, number: int | None) -> int | None:
    # A range would compare None with its numbers one by one.
    return number if number is not None and number in allowed else None


def _null_unless(fits: pyarrow.Array, value: pyarrow.Array) -> pyarrow.Array:
    return compute.if_else(fits, value, pyarrow.scalar(None, value.type))


def _floating(value: pyarrow.Array, found: Type, form: pyarrow.DataType) -> pyarrow.Array:
    if found == STRING:
        return by_value(value, casts.plain_number, pyarrow.string()).cast(form)
    if isinstance(found, Decimal):
        return by_value(value, _plain, pyarrow.string()).cast(form)  # Arrow's own cast does not give the nearest number
    if found == BOOLEAN:
        return value.cast(pyarrow.int32()).cast(form)
    return value.cast(form, safe=False)  # the nearest number, of a long too


def _plain(number: decimal.Decimal) -> str:
    return format(number, "f")


def _decimals(value: pyarrow.Array, found: Type, wanted: Decimal) -> pyarrow.Array:
    form = pyarrow.decimal128(wanted.precision, wanted.scale)
    if found == STRING:
        return by_value(value, lambda text: _nearest(casts.parse_decimal(text), wanted), form)
    if found in FLOATING:
        return by_value(value, lambda number: _nearest(_shown(number), wanted), form)
    if isinstance(found, Decimal):
        return fitted(value, wanted)
    whole = value.cast(pyarrow.int64()) if found == BOOLEAN else value
    return fitted(whole.cast(pyarrow.decimal256(20, 0)), wanted)


def _nearest(number: decimal.Decimal | None, type: Decimal) -> decimal.Decimal | None:
    return None if number is None or number.adjusted() > type.precision else nearest(number, type)


def _shown(number: float) -> decimal.Decimal | None:
    """The number as printed, which Java uses, not the number of the bits."""
    return decimal.Decimal(repr(number)) if math.isfinite(number) else None


def _booleans(value: pyarrow.Array, found: Type) -> pyarrow.Array:
    if found == STRING:
        return by_value(value, casts.parse_boolean, pyarrow.bool_())
    zero = pyarrow.scalar(decimal.Decimal(0) if isinstance(found, Decimal) else 0, value.type)
    return compute.not_equal(value, zero)


def _text(value: pyarrow.Array, found: Type) -> pyarrow.Array:
    if found in _MOMENT_TEXT:
        return by_value(_ticks(value), _MOMENT_TEXT[found], pyarrow.string())
    if isinstance(found, Decimal):
        return by_value(value, _plain, pyarrow.string())
    if found in FLOATING:
        kind = value.type.to_pandas_dtype()
        return by_value(value, lambda number: casts.floating_text(str(kind(number))), pyarrow.string())
    if is_bytes(found):
        return by_value(value, _decoded, pyarrow.string())
    return value.cast(pyarrow.string())


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _sized(value: pyarrow.Array, length: int) -> pyarrow.Array:
    value = value.cast(pyarrow.binary())
    return _null_unless(compute.equal(compute.binary_length(value), length), value).cast(pyarrow.binary(length))


def _read_moments(value: pyarrow.Array, wanted: Type, form: pyarrow.DataType) -> pyarrow.Array:
    if wanted == DATE:
        return by_value(value, lambda text: _in(_RANGES[pyarrow.int32()], casts.parse_date(text)), form)
    part = "local" if wanted == TIMESTAMP else "instant"
    return by_value(value, lambda text: getattr(casts.parse_timestamp(text), part, None), form)


def _ticks(value: pyarrow.Array) -> pyarrow.Array:
    """Days, microseconds or nanoseconds since 1970, whichever the column has."""
    if pyarrow.types.is_date32(value.type):
        return value.cast(pyarrow.int32()).cast(pyarrow.int64())
    return value.cast(pyarrow.int64())


def _moments(value: pyarrow.Array, unit: int, wanted: int, form: pyarrow.DataType) -> pyarrow.Array:
    """Timestamps or dates in another unit; units are in nanoseconds. Only a date drops digits; others become null."""
    ticks, lost = _ticks(value).fill_null(0).to_numpy(zero_copy_only=False), value.is_null().to_numpy(False)
    if unit >= wanted:
        factor = unit // wanted
        fits = (ticks >= -(2**63) // factor + 1) & (ticks <= (2**63 - 1) // factor)
        ticks, lost = numpy.where(fits, ticks, 0) * factor, lost | ~fits
    else:
        ticks, rest = numpy.divmod(ticks, wanted // unit)
        lost = lost | ((rest != 0) & (wanted != DAY_NANOS))
    narrow = ticks.astype(numpy.int32) if pyarrow.types.is_date32(form) else ticks
    return pyarrow.array(narrow, mask=lost).cast(form)
