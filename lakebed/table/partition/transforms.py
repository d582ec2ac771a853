"""Partition transforms, exactly as in Iceberg's specification: from a column's value to a partition's value."""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import partial
from typing import TYPE_CHECKING, Any

import mmh3

from lakebed.errors import Invalid
from lakebed.table.types.times import DAY_MICROS, DAY_NANOS, HOUR_MICROS, HOUR_NANOS, year_month_day
from lakebed.table.types.types import DATE, INT, NAMES, Decimal, Fixed, Primitive, Type
from lakebed.table.types.values import encode_bound, scaled, unscaled

if TYPE_CHECKING:
    from lakebed.table.filter.filter import Value

PARAMETERS = range(1, 2**31)
"""The valid numbers of buckets and widths: positive ints, as in Iceberg."""

Function = Callable[[Any], Any]
"""From a plain value that is not null to its partition value."""

_TEXT = re.compile(r"([a-z]+)(?:\[([0-9]{1,18})\])?")

_LONG = struct.Struct("<q")
_KINDS = (*NAMES, "decimal", "fixed")
_INTEGERS = frozenset({"int", "long"})
_NANOS = frozenset({"timestamp_ns", "timestamptz_ns"})
_TIMESTAMPS = frozenset({"timestamp", "timestamptz"}) | _NANOS
_TIMED = _TIMESTAMPS | {"date"}
_CUTTABLE = _INTEGERS | {"decimal", "string", "binary"}
_ALL = frozenset(_KINDS)

_TIMES = ("year", "month", "day", "hour")
_SHOWN = "identity, year, month, day, hour, bucket[N], truncate[W], void"


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform by Iceberg's name; `parameter` is the number of buckets or the width, else None."""

    name: str
    parameter: int | None = None

    def __post_init__(self) -> None:
        rule = _RULES.get(self.name)
        if rule is None:
            raise Invalid("there is no such transform", subject=repr(self.name), expected=f"one of {_SHOWN}")
        if rule.parameter and self.parameter is None:
            example = f"{self.name}(16, column)"
            raise Invalid(f"{self.name} needs a {rule.parameter}", subject=self.name, expected=f"such as {example}")
        if not rule.parameter and self.parameter is not None:
            raise Invalid(f"{self.name} takes no number", subject=self.name, found=self.parameter)
        if self.parameter is not None and self.parameter not in PARAMETERS:
            expected = f"a {rule.parameter} of 1 to {PARAMETERS[-1]}"
            raise Invalid(
                f"{self.name} can't have this number", subject=self.name, expected=expected, found=self.parameter
            )

    @property
    def is_time(self) -> bool:
        """Whether it cuts time into units; a spec has at most one such field of a column."""
        return self.name in _TIMES

    @property
    def keeps_order(self) -> bool:
        """Whether a greater value never has a smaller result; nulls aside."""
        return self.name not in ("bucket", "void")

    def can_transform(self, type: Type) -> bool:
        """Whether the transform applies to columns of a type."""
        return _kind(type) in _RULES[self.name].kinds

    def result_type(self, type: Type) -> Type:
        """The type of the partition values of such a column; a day is a date, as in Iceberg's libraries."""
        return _RULES[self.name].result or type

    def function(self, type: Type) -> Function:
        """The function for non-null values of a column of this type; `Invalid` if the transform does not apply."""
        if not self.can_transform(type):
            kinds = _RULES[self.name].kinds
            expected = f"one of {', '.join(kind for kind in _KINDS if kind in kinds)}"
            raise Invalid(f"{self.name} does not apply to this type", subject=self.name, expected=expected, found=type)
        return _RULES[self.name].make(type, self.parameter or 0)

    def apply(self, type: Type, value: "Value | None") -> "Value | None":
        """The partition value of a plain value of a column of this type; null stays null."""
        function = self.function(type)
        result: Value | None = None if value is None else function(value)
        return result

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}[{self.parameter}]"


def parse_transform(text: str) -> Transform:
    """The transform that Iceberg's text names: `day`, `bucket[16]`, `truncate[10]`."""
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Invalid("this is not a transform", subject=repr(text), expected=f"one of {_SHOWN}")
    return Transform(match.group(1), int(match.group(2)) if match.group(2) else None)


@dataclass(frozen=True, slots=True)
class _Rule:
    """The kinds of types that a transform applies to, the function for their values, and the name of its number."""

    kinds: frozenset[str]
    make: Callable[[Type, int], Function]
    result: Type | None = None  # the column's own type
    parameter: str = ""


def _kind(type: Type) -> str:
    match type:
        case Primitive(name):
            return name
        case Decimal():
            return "decimal"
        case Fixed():
            return "fixed"
        case _:
            return "nested"


def _same(type: Type, parameter: int) -> Function:
    return lambda value: value


def _nothing(type: Type, parameter: int) -> Function:
    return lambda value: None


def _year(type: Type, parameter: int) -> Function:
    days = _day(type, 0)
    return lambda value: year_month_day(days(value))[0] - 1970


def _month(type: Type, parameter: int) -> Function:
    days = _day(type, 0)

    def months(value: int) -> int:
        year, month, _ = year_month_day(days(value))
        return (year - 1970) * 12 + month - 1

    return months


def _day(type: Type, parameter: int) -> Function:
    if type == DATE:
        return _same(type, 0)
    unit = DAY_NANOS if _kind(type) in _NANOS else DAY_MICROS
    return lambda value: value // unit


def _hour(type: Type, parameter: int) -> Function:
    unit = HOUR_NANOS if _kind(type) in _NANOS else HOUR_MICROS
    return lambda value: value // unit


def _bucket(type: Type, count: int) -> Function:
    to_bytes, hash_of = _hashed_bytes(type), mmh3.hash
    return lambda value: (hash_of(to_bytes(value)) & 0x7FFF_FFFF) % count


def _hashed_bytes(type: Type) -> Callable[[Any], bytes]:
    # Whole numbers, dates and times are hashed as longs, so that a widened column keeps its buckets; nanoseconds are
    # hashed as microseconds.
    if _kind(type) in _NANOS:
        return lambda value: _LONG.pack(value // 1000)
    return _LONG.pack if _kind(type) in _INTEGERS | _TIMED | {"time"} else partial(encode_bound, type)


def _truncate(type: Type, width: int) -> Function:
    if isinstance(type, Decimal):
        return partial(_truncated_decimal, type.scale, width)
    if _kind(type) in _INTEGERS:
        return lambda value: value - value % width
    return lambda value: value[:width]


def _truncated_decimal(scale: int, width: int, value: Number) -> Number:
    digits = unscaled(value, scale)
    return scaled(digits - digits % width, scale)


_RULES = {
    "identity": _Rule(_ALL, _same),
    "year": _Rule(_TIMED, _year, INT),
    "month": _Rule(_TIMED, _month, INT),
    "day": _Rule(_TIMED, _day, DATE),
    "hour": _Rule(_TIMESTAMPS, _hour, INT),
    "bucket": _Rule(_CUTTABLE | _TIMED | {"time", "uuid", "fixed"}, _bucket, INT, "number of buckets"),
    "truncate": _Rule(_CUTTABLE, _truncate, None, "width"),
    "void": _Rule(_ALL | {"nested"}, _nothing),
}
NAMES_OF_TRANSFORMS = frozenset(_RULES)

IDENTITY = Transform("identity")
