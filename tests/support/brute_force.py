"""What a bound filter means, told row by row from the words of its leaves' docstrings; and values to try it on."""

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from lakebed.table.filter.filter import (
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Leaf,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
    Predicate,
    any_of,
)
from lakebed.table.filter.like import Pattern, Wildcard, parse_pattern, prefix_pattern
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import DOUBLE, FLOAT, STRING, Way

_COMPARED = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def passes(filter: Filter, row: Mapping[str, Any]) -> bool:
    """Whether a row of plain values, by the columns' names and structs as rows of their own, passes."""
    match filter:
        case And(parts):
            return all(passes(part, row) for part in parts)
        case Or(parts):
            return any(passes(part, row) for part in parts)
        case Predicate():
            raise AssertionError("only engines evaluate predicates")
        case leaf:
            return _leaf_passes(leaf, _value(leaf, row))


def _value(leaf: Leaf, row: Mapping[str, Any]) -> Any:
    value: Any = row
    for one in leaf.way:
        value = None if value is None else value[one.name]
    return value


def _leaf_passes(leaf: Leaf, value: Any) -> bool:
    if isinstance(leaf, IsNull) or value is None:
        return isinstance(leaf, IsNull) and value is None
    match leaf:
        case NotNull():
            return True
        case IsNan():
            return math.isnan(value)
        case NotNan():
            return not math.isnan(value)
        case OneOf(_, values):
            return value in values
        case NoneOf(_, values):
            return value not in values
        case Like(_, pattern):
            return _matches(pattern, value)
        case NotLike(_, pattern):
            return not _matches(pattern, value)
        case Comparison(_, sign, other):
            return bool(_COMPARED[sign](value, other))


def _matches(pattern: Pattern, value: str) -> bool:
    meaning = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    parts = [meaning[one] if isinstance(one, Wildcard) else re.escape(one) for one in pattern.parts]
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


_TEXTS = ["", "a", "A", "ab", "abc", "abd", "b", "\x00", "a\x00", "a\nb", "é", "e\u0301", "\ud7ff", "\ue000", "\uffff"]
_LONG_TEXTS = ["a" * 31, "a" * 32, "a" * 33, "a" * 31 + "é", "\U0010ffff" * 8, "\U0010ffff" * 9, "\U0010ffff" * 8 + "a"]
_BYTES = [b"", b"\x00", b"\x00\x00", b"\x00\xff", b"a", b"\x7f", b"\x80", b"\xff", b"\xff" * 32, b"\xff" * 33]
_LONG_BYTES = [b"\xff" * 31 + b"\x00" * 9, b"a" * 32, b"a" * 33, b"a" * 31 + b"\xff\xff"]
_LONGS = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63), 1 - 2**63]
_DOUBLES = [
    0.0,
    -0.0,
    0.5,
    -1.5,
    2.0**-149,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    math.inf,
    -math.inf,
    math.nan,
]
_DAY = 86_400_000_000

NASTY: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [0, 1, -1, 2, 2**31 - 1, -(2**31), 2**31 - 2, 1 - 2**31],
    "long": _LONGS,
    "float": _DOUBLES,
    "double": [*_DOUBLES, 0.1, 5e-324, 1.7976931348623157e308],
    "decimal(9, 2)": [
        Decimal(one).scaleb(-2) for one in (0, 1, -1, 127, 128, -128, -129, 250, -250, 10**9 - 1, 1 - 10**9)
    ],
    "decimal(18, 0)": [Decimal(one) for one in (0, 1, -1, 255, 256, -256, 10**18 - 1, 1 - 10**18)],
    "decimal(38, 10)": [Decimal(f"{one}e-10") for one in (0, 1, -1, 25, -25, 2**64, -(2**64), 10**37, 1 - 10**37)],
    "date": [0, -1, 1, 20454, -719162, 2932896],
    "time": [0, 1, _DAY // 2, _DAY - 1],
    "timestamp": [0, -1, 1, -_DAY, _DAY, 20454 * _DAY, -719162 * _DAY, 253402300799999999],
    "timestamptz": [0, -1, 1, -_DAY, _DAY, 20454 * _DAY, -719162 * _DAY, 253402300799999999],
    "timestamp_ns": _LONGS,
    "timestamptz_ns": _LONGS,
    "string": [*_TEXTS, *_LONG_TEXTS],
    "uuid": [bytes(16), b"\xff" * 16, b"\x00" * 15 + b"\x01", b"\x80" + bytes(15), bytes(range(16))],
    "fixed(2)": [b"\x00\x00", b"\x00\xff", b"\x7f\xff", b"\x80\x00", b"\xff\xff"],
    "fixed(40)": [b"\xff" * 40, b"\xff" * 31 + bytes(9), bytes(40), b"a" * 40, b"a" * 39 + b"b", b"\x80" * 40],
    "binary": [*_BYTES, *_LONG_BYTES],
}
"""Plain values at the borders of each type, of its bounds' 32 bytes and of what engines agree on."""

PLACES = {"c": "{}", "s": "struct<c: {}>", "t": "struct<s: struct<c: {}>>"}
"""Where a column may be: at the top, or inside structs."""


def schema_of(type: str, place: str) -> tuple[Schema, Way]:
    """A schema with a column of the type, at the top or inside structs, and the way to it."""
    schema = with_ids(Schema({"id": "long", place: PLACES[place].format(type)}), 1, 1)
    return schema, next(way for way in schema.ways.values() if way[-1].name == "c")


def row_of(way: Way, value: Any, level: int) -> dict[str, Any]:
    """A row with the value at the end of the way; a null is already the struct on this level of it."""
    made = value
    for place, one in reversed([*enumerate(way)]):
        made = None if value is None and place > level else {one.name: made}
    return made if isinstance(made, dict) else {}


def every_filter(way: Way, constants: Sequence[Any]) -> Iterator[Filter]:
    """Every operator beside every constant, and NOT of each."""
    field, inside = way[-1], way[:-1]
    floating = field.type in (FLOAT, DOUBLE)
    yield from (IsNull(field, inside=inside), NotNull(field, inside=inside))
    if floating:
        yield from (IsNan(field, inside=inside), NotNan(field, inside=inside))
        constants = [one for one in constants if one == one]
    for leaf in _leaves(way, constants):
        above = isinstance(leaf, NoneOf) or (isinstance(leaf, Comparison) and leaf.operator in _ABOVE)
        yield any_of([leaf, IsNan(field, inside=inside)]) if floating and above else leaf
    for one, other in pairwise(constants):
        low, high = _compared(way, min(one, other)), _compared(way, max(one, other))
        yield And((low[Operator.GREATER_OR_EQUAL], high[Operator.LESS_OR_EQUAL]))
        yield Or((low[Operator.LESS], high[Operator.GREATER], *([IsNan(field, inside=inside)] if floating else [])))


_ABOVE = (Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)  # NaN is above all numbers, and differs


def _compared(way: Way, value: Any) -> dict[Operator, Filter]:
    return {one: Comparison(way[-1], one, value, inside=way[:-1]) for one in Operator}


def _leaves(way: Way, constants: Sequence[Any]) -> Iterator[Filter]:
    field, inside = way[-1], way[:-1]
    for value in constants:
        yield from _compared(way, value).values()
    for two in pairwise(constants):
        yield from (OneOf(field, two, inside=inside), NoneOf(field, two, inside=inside))
    if field.type == STRING:
        prefixes = {one[:length] for one in constants for length in (1, 2, 31, 32, 40)} - {""}
        patterns = [prefix_pattern(one) for one in sorted(prefixes)] + [*map(parse_pattern, ("%b", "a_", "a%b", "_%"))]
        for pattern in patterns:
            yield from (Like(field, pattern, inside=inside), NotLike(field, pattern, inside=inside))
