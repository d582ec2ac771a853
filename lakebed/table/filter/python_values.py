"""Python's values as literals of a filter, and back."""

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Integral
from typing import Any
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.filter.literals import Kind, Literal

_DIGITS = 400  # more than any column has; Python refuses to print numbers beyond some length


def literal_of(value: Any, column: str) -> Literal:
    """The literal of a value that is compared with a column, which errors name; `Invalid` for other Python objects."""
    match value:
        case Literal():
            return value
        case bool():
            return Literal(Kind.BOOLEAN, str(value).lower())
        case float() | Decimal():
            return _number(value, column)
        case Integral():
            return _whole_number(int(value), column)
        case str() | UUID():
            return Literal(Kind.STRING, str(value))
        case bytes() | bytearray() | memoryview():
            return Literal(Kind.BYTES, bytes(value).hex())
        case datetime():
            return Literal(Kind.TIMESTAMP, _moment(value, column))
        case date():
            return Literal(Kind.DATE, value.isoformat())
        case time() if value.tzinfo is None:
            return Literal(Kind.TIME, value.isoformat())
        case _:
            raise _refused(column, value)


def value_repr(literal: Literal) -> str:
    """The Python of a value that makes this literal, or of the literal itself if only SQL makes it."""
    value = _python_value(literal)
    if isinstance(value, Literal) or literal_of(value, "") != literal:
        return f"Literal(Kind.{literal.kind.name}, {literal.text!r})"
    return repr(value)


def literal_text(literal: Literal) -> str:
    """The literal in SQL, which parses to the same literal."""
    return str(Literal(literal.kind, literal.text.replace("\\", "\\\\").replace("'", "\\'")))


def _python_value(literal: Literal) -> Any:
    try:
        match literal.kind:
            case Kind.BOOLEAN:
                return literal.text == "true"
            case Kind.NUMBER:
                return _python_number(literal.text)
            case Kind.STRING:
                return literal.text
            case Kind.BYTES:
                return bytes.fromhex(literal.text)
            case Kind.DATE:
                return date.fromisoformat(literal.text)
            case Kind.TIME:
                return time.fromisoformat(literal.text)
            case Kind.TIMESTAMP:
                return datetime.fromisoformat(literal.text)
            case Kind.NULL:
                return literal
    except (ValueError, ArithmeticError):  # a literal that is refused once it is bound to a column
        return literal


def _python_number(text: str) -> int | float | Decimal:
    if text.removeprefix("-").isdecimal() and len(text) <= _DIGITS:
        return int(text)
    return float(text) if repr(float(text)) == text else Decimal(text)


def _number(value: float | Decimal, column: str) -> Literal:
    if math.isnan(value):
        raise _refused(column, value, "Use `.is_nan()` to find NaN.")
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _refused(column, value)
        return Literal(Kind.NUMBER, str(value))
    if math.isinf(value):
        return Literal(Kind.STRING, "Infinity" if value > 0 else "-Infinity")
    return Literal(Kind.NUMBER, float.__repr__(value))  # numpy's own repr shows its type


def _whole_number(value: int, column: str) -> Literal:
    if abs(value) >= 10**_DIGITS:
        raise _refused(column, f"a number of more than {_DIGITS} digits")
    return Literal(Kind.NUMBER, str(value))


def _moment(value: datetime, column: str) -> str:
    if value.tzinfo is None:
        return value.isoformat(" ")
    try:
        return value.astimezone(UTC).isoformat(" ")
    except OverflowError as error:
        raise _refused(column, value) from error


def _refused(column: str, value: Any, advice: str = "") -> Invalid:
    null = "Use `.is_null()`: nothing equals null, and nothing differs from it."
    return Invalid(
        "a filter compares a column with something that is not a value",
        subject=f"column {column!r}",
        expected="a bool, int, float, Decimal, str, bytes, date, datetime, time without a zone, or UUID",
        found=f"{value!r} of type {type(value).__name__}" if value is not None else "None",
        advice=advice or (null if value is None else ""),
    )
