"""Constants as SQL writes them, with the types that Spark gives them."""

import decimal
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lakebed.errors import Invalid
from lakebed.table.expression.expression import Constant
from lakebed.table.expression.types import DIGITS
from lakebed.table.sql.casts import parse_date, parse_timestamp
from lakebed.table.types.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT,
    LONG,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Type,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_LENGTH = 400  # no type holds so many digits, and Python refuses to read them without a limit


def number_literal(text: str) -> Constant:
    """A number: an int if it is one, a long, else a decimal; with an exponent a double."""
    if len(text) > _LENGTH or not _NUMBER.fullmatch(text):
        raise Invalid("this is no number", subject=repr(text[:40]))
    if "e" in text.lower():
        return Constant(_double(text), DOUBLE)
    if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return Constant(int(text), INT if -(2**31) <= int(text) < 2**31 else LONG)
    return _decimal_literal(decimal.Decimal(text))


def _double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Invalid("a number is beyond those of a double", subject=text)
    return number


def _decimal_literal(number: decimal.Decimal) -> Constant:
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits), scale)
    if precision > DIGITS:
        raise Invalid("a number has too many digits", subject=str(number), expected=f"at most {DIGITS}")
    return Constant(number, Decimal(precision, scale))


def hex_literal(text: str) -> Constant:
    """Bytes, written `X'00ff'`."""
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise Invalid("these are no bytes", subject=f"X'{text}'", expected="two digits for each, as X'00ff'")
    return Constant(bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}"), BINARY)


def typed_literal(node: "Node", type: Type) -> Constant | None:
    """A literal that is cast, as sqlglot has `DATE '2026-01-31'`, `1L` and `0.5D`; None for what is calculated."""
    if not node.is_string:
        return _suffixed(node.this, type)
    value = _READ[type](node.this) if type in _READ else None
    return None if value is None else Constant(value, type)


def _suffixed(text: str, type: Type) -> Constant | None:
    if len(text) > _LENGTH or not _NUMBER.fullmatch(text):
        return None
    if type == DOUBLE:
        return Constant(_double(text), DOUBLE)
    if type == LONG and _WHOLE.fullmatch(text) and int(text) < 2**63:
        return Constant(int(text), LONG)
    return None


def _zoneless(text: str) -> int | None:
    found = parse_timestamp(text)
    return None if found is None else found.local


def _instant(text: str) -> int | None:
    found = parse_timestamp(text)
    return None if found is None else found.instant


_READ: dict[Type, Callable[[str], int | None]] = {DATE: parse_date, TIMESTAMP: _zoneless, TIMESTAMPTZ: _instant}
