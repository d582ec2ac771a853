"""Filters in words with their meaning spelled out, beside rows of nasty values: what every engine has to agree with.

The meaning is told from the words alone, by exact numbers and three truth values, and knows nothing of how Lakebed
reads them.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(
    Schema(
        {
            "flag": "boolean",
            "small": "int",
            "big": "long",
            "ratio": "float",
            "share": "double",
            "price": "decimal(10, 2)",
            "wide": "decimal(38, 10)",
            "day": "date",
            "local": "timestamp",
            "instant": "timestamptz",
            "word": "string",
            "blob": "binary",
            "code": "fixed(3)",
            "clock": "time",
            "local_nanos": "timestamp_ns",
            "instant_nanos": "timestamptz_ns",
            "token": "uuid",
        }
    ),
    schema_id=1,
    first=1,
)
NOT_IN_SPARK = ("clock", "local_nanos", "instant_nanos", "token")
"""The columns of types that Spark does not have."""

NAN, INFINITY = math.nan, math.inf
_SECOND = 1_000_000
_NEW_YEAR = 20454  # 2026-01-01
_NEW_YEAR_MICROS = _NEW_YEAR * 86_400 * _SECOND
_NEW_YEAR_NANOS = _NEW_YEAR_MICROS * 1000
_NOON = 12 * 3600 * _SECOND
_TENTH = 0.10000000149011612  # the float nearest to 0.1, which is above it
_TENTH_BELOW = 0.09999999403953552
_LARGEST = 3.4028234663852886e38  # of all floats

VALUES: dict[str, list[Any]] = {
    "flag": [True, False, None],
    "small": [0, 1, 2, 3, -1, -3, 17, 1000, 2**31 - 1, -(2**31), None],
    "big": [0, 1, 2, 3, -1, 17, 1000, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "ratio": [0.0, -0.0, 1.0, -1.5, _TENTH, _TENTH_BELOW, 2.0**-149, _LARGEST, INFINITY, -INFINITY, NAN, 2.0**24, None],
    "share": [0.0, -0.0, 0.1, 1.0, -1.5, 5e-324, 1.7976931348623157e308, INFINITY, -INFINITY, NAN, 2.0**53, None],
    "price": [Decimal(text) for text in ("0.00", "0.01", "-0.01", "2.50", "2.51", "99999999.99", "-99999999.99")]
    + [None],
    "wide": [Decimal(text) for text in ("0", "1e-10", "-2.5", "2.5", "9999999999999999999999999999.9999999999")]
    + [Decimal("-9999999999999999999999999999.9999999999"), None],
    "day": [0, -1, _NEW_YEAR, _NEW_YEAR - 1, _NEW_YEAR + 1, -719162, 2932896, None],
    "local": [
        0,
        -1,
        _NEW_YEAR_MICROS,
        _NEW_YEAR_MICROS - 1,
        _NEW_YEAR_MICROS + 1,
        _NEW_YEAR_MICROS + 3600 * _SECOND,
        None,
    ],
    "instant": [
        0,
        -1,
        _NEW_YEAR_MICROS,
        _NEW_YEAR_MICROS - 1,
        _NEW_YEAR_MICROS + 1,
        _NEW_YEAR_MICROS - 3600 * _SECOND,
        None,
    ],
    "word": [
        "",
        "a",
        "A",
        "ab",
        "b",
        "it's",
        "é",
        "e\u0301",
        "\uffff",
        "\U0001f600",
        "\x00",
        "a" * 50,
        "NaN",
        "a%\n_",
        None,
    ],
    "blob": [b"", b"\x00", b"\x00\xff", b"\x7f", b"\x80", b"\xff" * 40, b"a", None],
    "code": [b"\x00\x00\x00", b"\x00\x00\xff", b"\x7f\xff\xff", b"\x80\x00\x00", b"\xff\xff\xff", b"abc", None],
    "clock": [0, 1, _NOON, _NOON - 1, _NOON + 1, 86_400 * _SECOND - 1, None],
    "local_nanos": [0, -1, _NEW_YEAR_NANOS, _NEW_YEAR_NANOS - 1, _NEW_YEAR_NANOS + 1, 2**63 - 1, -(2**63), None],
    "instant_nanos": [0, -1, _NEW_YEAR_NANOS, _NEW_YEAR_NANOS - 1, _NEW_YEAR_NANOS + 1000, 2**63 - 1, -(2**63), None],
    "token": [bytes(16), bytes(15) + b"\x01", b"\x7f" + b"\xff" * 15, b"\x80" + bytes(15), b"\xff" * 16, None],
}


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """That many rows with plain values; all values of each column are among the first fifteen."""
    return [
        {name: values[at] if at < len(values) else random.choice(values) for name, values in VALUES.items()}
        for at in range(count)
    ]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal in words, and the value that it means for its column."""

    text: str
    value: Any


def _numbers(*texts: str) -> list[Constant]:
    return [Constant(text, Fraction(text)) for text in texts]


_WHOLE = [
    *_numbers(
        "0", "1", "2.5", "-0.5", "-1", "17", "1e3", "1E+3", "16.99999999999999999999999", "2147483647", "-2147483648"
    ),
    *_numbers(
        "2147483648", "-2147483649", "2147483646.5", "99999999999", "9223372036854775807", "-9223372036854775808"
    ),
    *_numbers("9223372036854775808", "-9223372036854775809", "9007199254740993", ".5", "2."),
]

# Strings that stand for numbers: ours alone, since Spark would cast the column, or fail.
QUOTED_NUMBERS = [
    Constant("'17'", Fraction(17)),
    Constant("'-2.5'", Fraction("-2.5")),
    Constant("'1e3'", Fraction(1000)),
]

CONSTANTS: dict[str, list[Constant]] = {
    "flag": [Constant("true", True), Constant("FALSE", False)],
    "small": _WHOLE,
    "big": _WHOLE,
    "ratio": [
        Constant(text, float(text)) for text in ("0", "-0.0", "0.1", "1", "1.0", "-1.5", "1e39", "-1e39", "1e-46")
    ]
    + [Constant(text, float(text)) for text in ("3.4028235e38", "16777217", "16777216")]
    + [Constant("'NaN'", NAN), Constant("'Infinity'", INFINITY), Constant("'-Infinity'", -INFINITY)],
    "share": [
        Constant(text, float(text)) for text in ("0", "-0.0", "0.1", "1", "-1.5", "1e308", "5e-324", "9007199254740993")
    ]
    + [Constant("'NaN'", NAN), Constant("'Infinity'", INFINITY), Constant("'-Infinity'", -INFINITY)],
    "price": _numbers(
        "0", "0.01", "0.005", "-0.005", "2.5", "2.505", "2.51", "99999999.99", "99999999.995", "1000000000"
    )
    + _numbers("-99999999.99", "-99999999.995", "-1000000000", "12345678901234567890123456789"),
    "wide": _numbers("0", "2.5", "-2.5", "0.0000000001", "0.00000000005", "9999999999999999999999999999.9999999999")
    + _numbers("99999999999999999999999999999"),
    "day": [
        Constant("'1970-01-01'", 0),
        Constant("DATE '1969-12-31'", -1),
        Constant("'2026-01-01'", _NEW_YEAR),
        Constant("'0001-01-01'", -719162),
        Constant("'9999-12-31'", 2932896),
    ],
    "local": [
        Constant("'1970-01-01'", 0),
        Constant("'1969-12-31 23:59:59.999999'", -1),
        Constant("'2026-01-01'", _NEW_YEAR_MICROS),
        Constant("'2026-01-01T00:00:00.000001'", _NEW_YEAR_MICROS + 1),
        Constant("'2026-01-01 01:00'", _NEW_YEAR_MICROS + 3600 * _SECOND),
        Constant("DATE '2026-01-01'", _NEW_YEAR_MICROS),
    ],
    "instant": [
        Constant("'1970-01-01'", 0),
        Constant("'2026-01-01 00:00:00Z'", _NEW_YEAR_MICROS),
        Constant("'2026-01-01 00:00:00'", _NEW_YEAR_MICROS),
        Constant("'2026-01-01 00:00:00+01:00'", _NEW_YEAR_MICROS - 3600 * _SECOND),
        Constant("TIMESTAMP '2026-01-01 00:00:00.000001'", _NEW_YEAR_MICROS + 1),
    ],
    "word": [
        Constant("''", ""),
        Constant("'a'", "a"),
        Constant('"ab"', "ab"),
        Constant("'it''s'", "it's"),
        Constant(r"'it\'s'", "it's"),
        Constant("'é'", "é"),
        Constant("'\uffff'", "\uffff"),
        Constant("'\U0001f600'", "\U0001f600"),
        Constant("'NaN'", "NaN"),
        Constant(f"'{'a' * 50}'", "a" * 50),
    ],
    "blob": [
        Constant("X''", b""),
        Constant("X'00'", b"\x00"),
        Constant("x'7F'", b"\x7f"),
        Constant("X'80'", b"\x80"),
        Constant(f"X'{'ff' * 40}'", b"\xff" * 40),
    ],
    "code": [
        Constant("X'000000'", bytes(3)),
        Constant("x'7FFFff'", b"\x7f\xff\xff"),
        Constant("X'616263'", b"abc"),
        Constant("X'616264'", b"abd"),
        Constant("X'ffffff'", b"\xff" * 3),
    ],
    "clock": [
        Constant("'00:00'", 0),
        Constant("TIME '12:00:00'", _NOON),
        Constant("'12:00:00.000001'", _NOON + 1),
        Constant("'12:00:00.0000005'", _NOON + Fraction(1, 2)),
        Constant("'23:59:59.999999'", 86_400 * _SECOND - 1),
        Constant("'23:59:59.999999999'", 86_400 * _SECOND - Fraction(1, 1000)),
    ],
    "local_nanos": [
        Constant("'1970-01-01'", 0),
        Constant("'1969-12-31 23:59:59.999999999'", -1),
        Constant("'2026-01-01T00:00:00.000000001'", _NEW_YEAR_NANOS + 1),
        Constant("DATE '2026-01-01'", _NEW_YEAR_NANOS),
        Constant("'9999-12-31'", 2932896 * 86_400 * 10**9),
        Constant("'0001-01-01'", -719162 * 86_400 * 10**9),
    ],
    "instant_nanos": [
        Constant("'2026-01-01 01:00:00.000001+01:00'", _NEW_YEAR_NANOS + 1000),
        Constant("TIMESTAMP '2026-01-01 00:00:00'", _NEW_YEAR_NANOS),
        Constant("'2262-04-11 23:47:16.854775807Z'", 2**63 - 1),
        Constant("'2262-04-11 23:47:16.854775808Z'", 2**63),
        Constant("'1677-09-21 00:12:43.145224191'", -(2**63) - 1),
    ],
    "token": [
        Constant("'00000000-0000-0000-0000-000000000000'", bytes(16)),
        Constant("'7FFFFFFF-ffff-ffff-ffff-ffffffffffff'", b"\x7f" + b"\xff" * 15),
        Constant("'80000000-0000-0000-0000-000000000001'", b"\x80" + bytes(14) + b"\x01"),
        Constant("'ffffffff-ffff-ffff-ffff-ffffffffffff'", b"\xff" * 16),
    ],
}
NULL = Constant("null", None)

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter in words, and whether it is true, false or, as None, unknown of a row."""

    text: str
    truth: Callable[[dict[str, Any]], bool | None]

    def kept(self, among: Sequence[dict[str, Any]]) -> list[bool]:
        """For every row, whether the condition is true of it."""
        return [self.truth(row) is True for row in among]


def condition(random: Random, constants: dict[str, list[Constant]] = CONSTANTS, depth: int = 2) -> Condition:
    """A random condition: mostly of one term, sometimes of a few under NOT, AND and OR."""
    shape = random.random() if depth else 0.0
    if shape < 0.5:
        return _term(random, constants)
    parts = [condition(random, constants, depth - 1) for _ in range(1 if shape < 0.7 else random.choice((2, 2, 3)))]
    if shape < 0.7:
        return _negation(random.choice(("not (", "!(")), parts[0])
    if shape < 0.85:
        return Condition(
            " and ".join(f"({part.text})" for part in parts), lambda row: _all([one.truth(row) for one in parts])
        )
    return Condition(
        " or ".join(f"({part.text})" for part in parts), lambda row: _any([one.truth(row) for one in parts])
    )


def _term(random: Random, constants: dict[str, list[Constant]]) -> Condition:
    name = random.choice(list(constants))
    make = random.choice(
        (_comparison, _comparison, _comparison, _mirrored, _membership, _range, _null_test, _flag, _likeness)
    )
    made = make(random, random.choice((name, name.upper(), f"`{name}`")), name, constants[name])
    return _negation("not ", made) if random.random() < 0.2 else made


def _comparison(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    sign, constant = random.choice(list(_OPERATORS)), random.choice([*constants, *constants, NULL])
    return Condition(f"{shown} {sign} {constant.text}", lambda row: _compared(row[name], sign, constant.value))


def _mirrored(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    sign, constant = random.choice(list(_OPERATORS)), random.choice(constants)
    return Condition(f"{constant.text} {sign} {shown}", lambda row: _compared(constant.value, sign, row[name]))


def _membership(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    nulls = [NULL] if random.random() < 0.2 else []
    listed = [*random.choices(constants, k=random.choice((1, 2, 3, 12))), *nulls]
    positive = Condition(
        f"{shown} in ({', '.join(one.text for one in listed)})",
        lambda row: _any([_compared(row[name], "=", one.value) for one in listed]),
    )
    negative = Condition(positive.text.replace(" in (", " not in (", 1), lambda row: _not(positive.truth(row)))
    return random.choice((positive, negative))


def _range(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    low, high = random.choices([*constants, *constants, NULL], k=2)
    positive = Condition(
        f"{shown} between {low.text} and {high.text}",
        lambda row: _all([_compared(row[name], ">=", low.value), _compared(row[name], "<=", high.value)]),
    )
    negative = Condition(positive.text.replace(" between ", " not between ", 1), lambda row: _not(positive.truth(row)))
    return random.choice((positive, negative))


# What a pattern is made of, beside the regular expression that each means.
_PATTERNS = [("%", "(?s:.*)"), ("_", "(?s:.)"), *((one, re.escape(one)) for one in ("a", "b", "é", "'", "N", "\n"))]
_ESCAPED = ("%", "_")


def _likeness(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    escape = random.choice(("\\", "!"))
    taken = [(f"{escape}{one}", re.escape(one)) for one in (*_ESCAPED, escape)]
    parts = random.choices([*_PATTERNS, *_PATTERNS, *taken], k=random.choice((0, 1, 2, 2, 3, 4)))
    words = "".join(one for one, _ in parts).replace("\\", "\\\\").replace("'", "\\'")
    meant = re.compile("".join(one for _, one in parts))
    sign = random.choice(("like", "not like"))
    text = f"word {sign} '{words}'" + (f" escape '{escape}'" if escape == "!" else "")
    positive = Condition(text, lambda row: None if row["word"] is None else bool(meant.fullmatch(row["word"])))
    return positive if sign == "like" else Condition(text, lambda row: _not(positive.truth(row)))


def _null_test(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    return random.choice(
        (
            Condition(f"{shown} is null", lambda row: row[name] is None),
            Condition(f"{shown} is not null", lambda row: row[name] is not None),
        )
    )


def _flag(random: Random, shown: str, name: str, constants: list[Constant]) -> Condition:
    return random.choice((Condition("flag", lambda row: row["flag"]), Condition("true", lambda row: True)))


def _negation(opening: str, inner: Condition) -> Condition:
    closing = ")" if opening.endswith("(") else ""
    return Condition(f"{opening}{inner.text}{closing}", lambda row: _not(inner.truth(row)))


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: Sequence[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def _any(truths: Sequence[bool | None]) -> bool | None:
    if True in truths:
        return True
    return None if None in truths else False


def _compared(left: Any, sign: str, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    return _OPERATORS[sign](_rank(left), _rank(right))


def _rank(value: Any) -> Any:
    """What orders values as Spark does: exact numbers between the infinities, then NaN; text by its UTF-8 bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return (2 if math.isnan(value) else math.copysign(1, value), Fraction(0))
    return (0, Fraction(value))
