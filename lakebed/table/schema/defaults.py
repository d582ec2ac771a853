"""Defaults of columns: plain values, checked against the column's type, and Iceberg's JSON of them.

The JSON is that of its specification, Appendix D, "JSON single-value serialization". Only columns of simple types have
defaults, and only values that the JSON can hold: no NaN, no infinity, no date after the year 9999.
"""

import decimal
import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from lakebed.errors import Invalid, TooLarge
from lakebed.table.types.limits import EXPRESSION_CHARACTERS
from lakebed.table.types.times import EPOCH, days_since_1970, moment_text, parse_moment, parse_time, time_text
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
    Decimal,
    Field,
    Fixed,
    Simple,
    Type,
)
from lakebed.table.types.types import UUID as UUID_TYPE
from lakebed.table.types.values import encode_bound, scaled, unscaled

_MICROSECOND = timedelta(microseconds=1)
_ZONED = (TIMESTAMPTZ, TIMESTAMPTZ_NS)
_UNITS: dict[Type, int] = {TIMESTAMP: 1000, TIMESTAMPTZ: 1000, TIMESTAMP_NS: 1, TIMESTAMPTZ_NS: 1}
"""The nanoseconds in one unit of a plain value."""

_PLAIN: dict[Type, type] = {
    BOOLEAN: bool,
    INT: int,
    LONG: int,
    FLOAT: float,
    DOUBLE: float,
    DATE: int,
    TIME: int,
    TIMESTAMP: int,
    TIMESTAMPTZ: int,
    TIMESTAMP_NS: int,
    TIMESTAMPTZ_NS: int,
    STRING: str,
    UUID_TYPE: bytes,
    BINARY: bytes,
}

_ACCEPTED: dict[Type, str] = {
    DATE: "a date",
    TIME: "a time without a zone",
    TIMESTAMP: "a datetime without a zone",
    TIMESTAMPTZ: "a datetime",
    TIMESTAMP_NS: "a datetime without a zone, or nanoseconds since 1970",
    TIMESTAMPTZ_NS: "a datetime, or nanoseconds since 1970",
    UUID_TYPE: "a UUID",
}
"""What callers pass for types whose plain values are numbers or bytes."""


def check_default(field: Field, value: Any) -> None:
    """Refuse anything but None and a plain value of the field's type."""
    if value is None:
        return
    if not isinstance(field.type, Simple):
        raise _unfit(field, value, "none: a column of a nested type can't have a default")
    kind = _kind(field.type)
    if type(value) is not kind:
        raise _unfit(field, value, f"{_ACCEPTED.get(field.type, kind.__name__)} for a column of type {field.type}")
    if isinstance(value, float) and not math.isfinite(value):
        raise _unfit(field, value, "a finite number")
    try:
        encode_bound(field.type, value)
        default_to_json(field.type, value)
    except (Invalid, OverflowError) as error:
        raise _unfit(field, value, f"a value of type {field.type}") from error
    if isinstance(field.type, Decimal) and not _has_room(field.type, value):
        raise _unfit(field, value, f"a value of type {field.type}")


def plain_default(field: Field, given: Any) -> Any:
    """The plain value of a default as callers pass it: also a date, a time, a UUID, or an int for a floating column.

    A time without a zone is UTC for `timestamptz`, as everywhere.
    """
    value = _plain(field.type, given)
    check_length(field, value)
    check_default(field, value)
    return value


def check_length(field: Field, value: Any) -> None:
    """Refuse a new default that is so long that every read of the schema would be slow."""
    if isinstance(value, str | bytes) and len(value) > EXPRESSION_CHARACTERS:
        raise _too_long(field, value)


def default_to_json(type: Type, value: Any) -> Any:
    """A default as Iceberg writes it in a schema's JSON."""
    if isinstance(type, Decimal):
        return format(_rescaled(value, type.scale), "f")
    if isinstance(type, Fixed):
        return bytes.hex(value)
    return _TO_JSON[type](value) if type in _TO_JSON else value


def default_from_json(type: Type, body: Any) -> Any:
    """The plain value of a default in a schema's JSON; `Invalid` if it is not a value of the type."""
    read, kinds = _from_json(type)
    try:
        if isinstance(body, kinds) and not (isinstance(body, bool) and kinds is not object):
            return read(body)
    except (ValueError, ArithmeticError) as error:
        raise _unreadable(type, body) from error
    raise _unreadable(type, body)


def _kind(of: Simple) -> type:
    match of:
        case Decimal():
            return decimal.Decimal
        case Fixed():
            return bytes
        case _:
            return _PLAIN[of]


def _has_room(type: Decimal, value: Any) -> bool:
    limit: int = 10**type.precision
    return abs(unscaled(value, type.scale)) < limit


def _plain(type: Type, given: Any) -> Any:
    if isinstance(given, bool) or given is None:
        return given
    match given:
        case int() | decimal.Decimal() if isinstance(type, Decimal):
            return _rescaled(decimal.Decimal(given), type.scale)
        case int() | float() if type in (FLOAT, DOUBLE):
            return _nearest(type, given)
        case datetime() if type in _UNITS:
            return _since_1970(type, given)
        case time() if type == TIME and given.tzinfo is None:
            return (datetime.combine(EPOCH, given, UTC) - EPOCH) // _MICROSECOND
        case date() if type == DATE and not isinstance(given, datetime):
            return days_since_1970(given)
        case UUID() if type == UUID_TYPE:
            return given.bytes
        case bytearray() | memoryview() if type == BINARY or isinstance(type, Fixed):
            return bytes(given)
        case _:
            return given


def _rescaled(value: decimal.Decimal, scale: int) -> decimal.Decimal:
    return scaled(unscaled(value, scale), scale)


def _nearest(type: Type, given: float) -> Any:
    try:
        return struct.unpack("<f", struct.pack("<f", given))[0] if type == FLOAT else float(given)
    except (OverflowError, struct.error):  # of a float too great, and of an integer too great to be one
        return given  # check_default reports it better


def _since_1970(type: Type, given: datetime) -> Any:
    """The plain value, or `given` itself if the type can't hold it: check_default reports it better."""
    if given.tzinfo is not None and type not in _ZONED:
        return given
    moment = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    micros = (moment - EPOCH) // _MICROSECOND
    nanos = int(micros) * 1000 + getattr(given, "nanosecond", 0)  # which only a datetime of pandas has
    return nanos // _UNITS[type] if nanos % _UNITS[type] == 0 else given


def _from_json(type: Type) -> tuple[Callable[[Any], Any], Any]:
    match type:
        case Decimal():
            return decimal.Decimal, str
        case Fixed():
            return bytes.fromhex, str
        case _:
            return _FROM_JSON.get(type, (_same, object))


def _same(body: Any) -> Any:
    return body


def _date_text(days: int) -> str:
    return (EPOCH.date() + timedelta(days=days)).isoformat()


def _timestamp_text(microseconds: int) -> str:
    return _instant_text(microseconds).removesuffix("+00:00")


def _instant_text(microseconds: int) -> str:
    return (EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")


def _days(text: str) -> int:
    return days_since_1970(date.fromisoformat(text))


def _time_of_day(text: str) -> int:
    return _whole(parse_time(text), 1000)


def _moment(type: Type) -> Callable[[str], int]:
    def read(text: str) -> int:
        nanos, has_zone = parse_moment(text)
        if has_zone and type not in _ZONED:
            raise ValueError("a zone, which the type does not have")
        return _whole(nanos, _UNITS[type])

    return read


def _whole(nanos: int, unit: int) -> int:
    if nanos % unit:
        raise ValueError("a time finer than microseconds")
    return nanos // unit


# Types that are not here have the same values in JSON.
_TO_JSON: dict[Type, Callable[[Any], Any]] = {
    DATE: _date_text,
    TIMESTAMP: _timestamp_text,
    TIMESTAMPTZ: _instant_text,
    TIME: lambda micros: time_text(micros * 1000, 6),
    TIMESTAMP_NS: lambda nanos: moment_text(nanos, 9),
    TIMESTAMPTZ_NS: lambda nanos: f"{moment_text(nanos, 9)}+00:00",
    UUID_TYPE: lambda value: str(UUID(bytes=value)),
    BINARY: bytes.hex,
}
_FROM_JSON: dict[Type, tuple[Callable[[Any], Any], Any]] = {
    FLOAT: (float, int | float),
    DOUBLE: (float, int | float),
    DATE: (_days, str),
    TIME: (_time_of_day, str),
    **{type: (_moment(type), str) for type in _UNITS},
    UUID_TYPE: (lambda text: UUID(text).bytes, str),
    BINARY: (bytes.fromhex, str),
}


def _unfit(field: Field, value: Any, expected: str) -> Invalid:
    return Invalid(
        "a default is not a value of the column's type",
        subject=field.name,
        expected=expected,
        found=repr(value),
    )


def _too_long(field: Field, value: str | bytes) -> TooLarge:
    return TooLarge(
        "a default is too long: every read of the schema reads it",
        subject=field.name,
        expected=f"at most {EXPRESSION_CHARACTERS:,} characters or bytes",
        found=f"{len(value):,}",
    )


def _unreadable(type: Type, body: Any) -> Invalid:
    return Invalid("a default is not a value of its type", expected=type, found=repr(body))
