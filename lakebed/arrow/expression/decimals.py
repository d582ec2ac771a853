"""Arithmetic on columns of decimals: exact results, rounded half away from zero to Spark's type for them."""

import decimal
from collections.abc import Callable

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.types import is_decimal
from lakebed.table.expression.expression import Function
from lakebed.table.types.types import Decimal

_WIDEST = 76  # digits of Arrow's widest decimal
_QUOTIENT_SCALE = 38  # Spark rounds a quotient to this many digits first, then to its type
_EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)
_WHOLE_DIGITS = {pyarrow.int32(): 10, pyarrow.int64(): 20}

_KERNELS: dict[Function, Callable[[pyarrow.Array, pyarrow.Array], pyarrow.Array]] = {
    Function.ADD: compute.add,
    Function.SUBTRACT: compute.subtract,
    Function.MULTIPLY: compute.multiply,
}


def calculate_decimals(function: Function, left: pyarrow.Array, right: pyarrow.Array, type: Decimal) -> pyarrow.Array:
    """The exact result, rounded to the type; null also where it does not fit."""
    left, right = _widened(left), _widened(right)
    if function in _KERNELS and _exact_digits(function, left.type, right.type) < _WIDEST:
        return fitted(_KERNELS[function](left, right), type)
    if function is Function.DIVIDE and (quotients := _divided(left, right, type)) is not None:
        return fitted(quotients, type)
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    calculate = _BY_ROW[function]
    results = [None if a is None or b is None else nearest(calculate(a, b), type) for a, b in pairs]
    return pyarrow.array(results, pyarrow.decimal128(type.precision, type.scale))


def _exact_digits(function: Function, left: pyarrow.DataType, right: pyarrow.DataType) -> int:
    if function is Function.MULTIPLY:
        return int(left.precision + right.precision + 1)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return int(whole + max(left.scale, right.scale) + 1)


def _divided(left: pyarrow.Array, right: pyarrow.Array, type: Decimal) -> pyarrow.Array | None:
    """Quotients truncated to more digits than the type has, enough to round correctly; None if they are too long."""
    above, below = left.type, right.type
    scale = max(above.scale, type.scale - below.precision + below.scale)
    digits = above.precision - above.scale + scale
    # Arrow's scale of a quotient: at least four, the dividend's scale plus room for the divisor's digits.
    behind = max(4, scale + below.precision - below.scale + 1)
    if digits >= _WIDEST or digits - scale + below.scale + behind >= _WIDEST or behind <= type.scale:
        return None
    # The divisor limits how near a quotient is to a tie: nearer than this, rounding twice, as Spark does, may matter.
    if below.precision + max(0, above.scale - type.scale - below.scale) > _QUOTIENT_SCALE - type.scale:
        return None
    divisor = compute.if_else(left.is_valid(), right, pyarrow.scalar(None, below))
    return compute.divide(left.cast(pyarrow.decimal256(digits, scale)), divisor)


def _widened(value: pyarrow.Array) -> pyarrow.Array:
    if is_decimal(value.type):
        return value.cast(pyarrow.decimal256(value.type.precision, value.type.scale))
    return value.cast(pyarrow.decimal256(_WHOLE_DIGITS[value.type], 0))


def _quotient(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal:
    # In integers: rounding twice could round a tie the wrong way.
    (_, above, scale), (_, below, other_scale) = left.as_tuple(), right.as_tuple()
    numerator = _whole(above) * 10 ** (_QUOTIENT_SCALE + int(scale) - int(other_scale))
    magnitude, rest = divmod(numerator, _whole(below))
    magnitude += 2 * rest >= _whole(below)
    signed = magnitude if left.is_signed() == right.is_signed() else -magnitude
    return decimal.Decimal(signed).scaleb(-_QUOTIENT_SCALE, _EXACT)


def _whole(digits: tuple[int, ...]) -> int:
    return int("".join(map(str, digits)))


_BY_ROW: dict[Function, Callable[[decimal.Decimal, decimal.Decimal], decimal.Decimal]] = {
    Function.ADD: _EXACT.add,
    Function.SUBTRACT: _EXACT.subtract,
    Function.MULTIPLY: _EXACT.multiply,
    Function.DIVIDE: _quotient,
    Function.REMAINDER: _EXACT.remainder,
}


def nearest(value: decimal.Decimal, type: Decimal) -> decimal.Decimal | None:
    """The nearest decimal of a type, away from zero on a tie; None if it does not fit the type."""
    rounded = value.quantize(decimal.Decimal(1).scaleb(-type.scale), context=_EXACT)
    # By `copy_abs`: `abs` rounds to the 28 digits of Python's own context.
    return rounded if rounded.copy_abs() < 10 ** (type.precision - type.scale) else None


def rounded_decimals(value: pyarrow.Array, digits: int) -> pyarrow.Array:
    """Decimals rounded half away from zero, in a type that fits them all."""
    type = value.type
    wide = value.cast(pyarrow.decimal256(min(_WIDEST, type.precision + 1), type.scale))
    if digits >= type.scale:
        return wide
    if -digits > type.precision - type.scale:
        return compute.multiply(wide, 0).cast(wide.type)  # Arrow refuses to round all digits away
    return compute.round(wide, digits, "half_towards_infinity")


def fitted(value: pyarrow.Array, type: Decimal) -> pyarrow.Array:
    """Decimals as a type, rounded half away from zero; null also where a decimal does not fit."""
    form = pyarrow.decimal128(type.precision, type.scale)
    rounded = rounded_decimals(value, type.scale)
    scale = max(rounded.type.scale, type.scale)
    wide = rounded.cast(pyarrow.decimal256(_WIDEST, scale))
    greatest = decimal.Decimal(10**type.precision - 1).scaleb(-type.scale, _EXACT)
    fits = compute.less_equal(compute.abs(wide), pyarrow.scalar(greatest, wide.type))
    return compute.if_else(fits, wide, pyarrow.scalar(None, wide.type)).cast(form)
