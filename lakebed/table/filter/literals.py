"""Literals of a filter, and the place of each among the values that a column can hold.

A number that the column can't hold has a place too: 2.5 is between the ints 2 and 3, and 0.1 between two floats, since
a float is compared as a double. So engines never compare values of two types, and can't disagree on how.
"""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal as Number
from enum import Enum
from fractions import Fraction
from functools import partial
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.types.times import MOMENT, TIME_OF_DAY, TIMES_OF_DAY, days_since_1970, parse_moment, parse_time
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
    Type,
)
from lakebed.table.types.types import UUID as UUID_TYPE
from lakebed.table.types.values import scaled

_INTS = range(-(2**31), 2**31)
_LONGS = range(-(2**63), 2**63)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_NUMBER_LENGTH = 400  # more digits than any column holds; numbers without a limit take memory without a limit
_INFINITY = re.compile("[+-]?inf(inity)?", re.IGNORECASE)
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP_FORM = "'2026-01-31', or with a time: '2026-01-31 23:59:59.000001'"


class Kind(Enum):
    """How a literal is written."""

    NUMBER = "a number"
    STRING = "'…'"
    BOOLEAN = "true or false"
    BYTES = "X'…'"
    DATE = "DATE '…'"
    TIME = "TIME '…'"
    TIMESTAMP = "TIMESTAMP '…'"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in a filter: its kind, and its text without quotes or keywords."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return self.kind.value.replace("…", self.text) if "…" in self.kind.value else self.text


@dataclass(frozen=True, slots=True)
class Place:
    """A place between two neighboring values of a type, or at a value, which is then both of them.

    `below` is None below the smallest value of the type, `above` is None above the largest.
    """

    below: Value | None
    above: Value | None

    @property
    def value(self) -> Value | None:
        """The value that the literal equals; None if it lies between values."""
        return self.below if self.below == self.above else None


NAN = Place(math.nan, math.nan)


def place_of(field: Field, literal: Literal) -> Place:
    """The place of a literal that is not null among the values of a column; `Invalid` if it does not fit its type."""
    if isinstance(field.type, Decimal):
        return _decimal_place(field, field.type, literal)
    if isinstance(field.type, Fixed):
        return _fixed_place(field, field.type, literal)
    return _PLACES.get(field.type, _no_place)(field, literal)


def _at(value: Value) -> Place:
    return Place(value, value)


def _boolean_place(field: Field, literal: Literal) -> Place:
    if literal.kind is not Kind.BOOLEAN:
        raise _unfit(field, literal, "true or false")
    return _at(literal.text == "true")


def _string_place(field: Field, literal: Literal) -> Place:
    if literal.kind is not Kind.STRING:
        raise _unfit(field, literal, "'text'")
    if any("\ud800" <= character <= "\udfff" for character in literal.text):
        printable = Literal(literal.kind, ascii(literal.text)[1:-1])  # a terminal could not print it either
        raise _unfit(field, printable, "text that UTF-8 can hold, without half of a surrogate pair")
    return _at(literal.text)


def _binary_place(field: Field, literal: Literal) -> Place:
    if literal.kind is not Kind.BYTES or not re.fullmatch("([0-9a-fA-F]{2})*", literal.text):
        raise _unfit(field, literal, "X'00ff', two digits for each byte")
    return _at(bytes.fromhex(literal.text))


def _fixed_place(field: Field, type: Fixed, literal: Literal) -> Place:
    place = _binary_place(field, literal)
    if len(literal.text) != 2 * type.length:
        raise _unfit(field, literal, f"X'…' of {type.length} bytes")
    return place


def _uuid_place(field: Field, literal: Literal) -> Place:
    if literal.kind is not Kind.STRING or not _UUID.fullmatch(literal.text):
        raise _unfit(field, literal, "'f79c3e09-677c-4bbd-a479-3f349cb785e7'")
    return _at(UUID(literal.text).bytes)


def _int_place(field: Field, literal: Literal) -> Place:
    return _between(Fraction(_number(field, literal)), _INTS, int)


def _long_place(field: Field, literal: Literal) -> Place:
    return _between(Fraction(_number(field, literal)), _LONGS, int)


def _decimal_place(field: Field, type: Decimal, literal: Literal) -> Place:
    unscaled = Fraction(_number(field, literal)) * 10**type.scale
    return _between(
        unscaled, range(1 - 10**type.precision, 10**type.precision), lambda whole: scaled(whole, type.scale)
    )


def _between(number: Fraction, whole: range, value_of: Callable[[int], Value]) -> Place:
    below, above = math.floor(number), math.ceil(number)
    return Place(
        None if below < whole.start else value_of(min(below, whole.stop - 1)),
        None if above >= whole.stop else value_of(max(above, whole.start)),
    )


def _number(field: Field, literal: Literal) -> Number:
    if literal.kind not in (Kind.NUMBER, Kind.STRING) or not _NUMBER.fullmatch(literal.text):
        raise _unfit(field, literal, "a number")
    number = Number(literal.text)
    if len(literal.text) > _NUMBER_LENGTH or abs(number.adjusted()) > _NUMBER_LENGTH:
        raise _unfit(field, literal, f"a number of at most {_NUMBER_LENGTH} digits")
    return number


def _double_place(field: Field, literal: Literal) -> Place:
    if literal.kind is Kind.STRING and literal.text.lower() == "nan":
        return NAN
    if literal.kind is Kind.STRING and _INFINITY.fullmatch(literal.text):
        return _at(float(literal.text))
    number = float(_number(field, literal))
    if math.isinf(number):
        raise _unfit(field, literal, "a number that a double can hold, or 'Infinity'")
    return _at(number + 0.0)  # turns -0.0 into 0.0: the two zeros are equal


def _float_place(field: Field, literal: Literal) -> Place:
    place = _double_place(field, literal)
    number = place.value
    if not isinstance(number, float):
        return place
    nearest = _nearest_float(number)
    if nearest == number:
        return place
    step = 1 if nearest < number else -1
    other = _float_at(_ordinal(nearest) + step)
    return Place(min(nearest, other), max(nearest, other))


def _nearest_float(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _ordinal(number: float) -> int:
    """The position of a float in the order of all floats: 0 for zero, 1 for the next above it."""
    bits = int(struct.unpack("<i", struct.pack("<f", number))[0])
    return bits if bits >= 0 else -(2**31) - bits


def _float_at(ordinal: int) -> float:
    bits = ordinal if ordinal >= 0 else -(2**31) - ordinal
    return float(struct.unpack("<f", struct.pack("<i", bits))[0])


def _date_place(field: Field, literal: Literal) -> Place:
    if literal.kind not in (Kind.STRING, Kind.DATE) or not _DATE.fullmatch(literal.text):
        raise _unfit(field, literal, "'2026-01-31'")
    try:
        return _at(days_since_1970(date.fromisoformat(literal.text)))
    except ValueError as error:
        raise _unfit(field, literal, "a date that exists") from error


def _time_place(field: Field, literal: Literal) -> Place:
    if literal.kind not in (Kind.STRING, Kind.TIME) or not TIME_OF_DAY.fullmatch(literal.text):
        raise _unfit(field, literal, "'23:59:59.000001'")
    try:
        return _between(Fraction(parse_time(literal.text), 1000), TIMES_OF_DAY, int)
    except ValueError as error:
        raise _unfit(field, literal, "a time of day") from error


def _timestamp_place(unit: int, field: Field, literal: Literal) -> Place:
    nanos, has_zone = _moment(field, literal, _TIMESTAMP_FORM)
    if has_zone:
        raise _unfit(field, literal, f"{_TIMESTAMP_FORM}, without a zone like the column")
    return _between(Fraction(nanos, unit), _LONGS, int)


def _timestamptz_place(unit: int, field: Field, literal: Literal) -> Place:
    nanos, _ = _moment(field, literal, f"{_TIMESTAMP_FORM}, in UTC, or with Z or +01:00 after it")
    return _between(Fraction(nanos, unit), _LONGS, int)


def _moment(field: Field, literal: Literal, form: str) -> tuple[int, bool]:
    pattern = _DATE if literal.kind is Kind.DATE else MOMENT
    if literal.kind not in (Kind.STRING, Kind.DATE, Kind.TIMESTAMP) or not pattern.fullmatch(literal.text):
        raise _unfit(field, literal, form)
    try:
        return parse_moment(literal.text)
    except ValueError as error:
        raise _unfit(field, literal, "a date and time that exist") from error


def _no_place(field: Field, literal: Literal) -> Place:
    raise _unfit(field, literal, "a column of numbers, text, bytes, booleans, dates or times")


_PLACES: dict[Type, Callable[[Field, Literal], Place]] = {
    BOOLEAN: _boolean_place,
    INT: _int_place,
    LONG: _long_place,
    FLOAT: _float_place,
    DOUBLE: _double_place,
    DATE: _date_place,
    TIME: _time_place,
    TIMESTAMP: partial(_timestamp_place, 1000),
    TIMESTAMPTZ: partial(_timestamptz_place, 1000),
    TIMESTAMP_NS: partial(_timestamp_place, 1),
    TIMESTAMPTZ_NS: partial(_timestamptz_place, 1),
    STRING: _string_place,
    UUID_TYPE: _uuid_place,
    BINARY: _binary_place,
}


def _unfit(field: Field, literal: Literal, expected: str) -> Invalid:
    return Invalid(
        "a filter compares a column with a literal that does not fit its type",
        subject=f"column {field.name!r} of type {field.type}",
        expected=expected,
        found=str(literal),
    )
