"""Arithmetic on columns of numbers as in Spark's ANSI mode: an overflow or a division by zero is an error."""

import decimal
import math
from collections.abc import Callable, Sequence

import numpy
import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.compare import less
from lakebed.arrow.expression.decimals import calculate_decimals, fitted, rounded_decimals
from lakebed.arrow.expression.text import by_value
from lakebed.arrow.types import is_decimal
from lakebed.errors import Invalid
from lakebed.table.expression.expression import Call, Constant, Expression, Function
from lakebed.table.types.types import Decimal

Columns = Sequence[pyarrow.Array]

_EXACT = decimal.Context(prec=400, rounding=decimal.ROUND_HALF_UP)
_CHECKED: dict[Function, Callable[[pyarrow.Array, pyarrow.Array], pyarrow.Array]] = {
    Function.ADD: compute.add_checked,
    Function.SUBTRACT: compute.subtract_checked,
    Function.MULTIPLY: compute.multiply_checked,
}


def calculate(call: Call, values: Columns) -> pyarrow.Array:
    """A sum, difference, product, quotient or remainder."""
    left, right = values
    if call.function in (Function.DIVIDE, Function.REMAINDER):
        _check_divisor(call, left, right)
    if isinstance(call.type, Decimal):
        return _no_overflow(call, calculate_decimals(call.function, left, right, call.type), left, right)
    match call.function:
        case Function.DIVIDE:
            return compute.divide(left, right)
        case Function.REMAINDER:
            return _remainder(left, right)
        case function:
            try:
                return _CHECKED[function](left, right)
            except pyarrow.ArrowInvalid as error:
                raise overflow(call) from error


def overflow(expression: Expression) -> Invalid:
    """The error for a result that does not fit its type."""
    return Invalid(
        "the result of an expression does not fit its type",
        subject=str(expression),
        expected=str(expression.type),
        advice="Cast to a wider type first.",
    )


def _no_overflow(call: Call, result: pyarrow.Array, *given: pyarrow.Array) -> pyarrow.Array:
    """The result, if it is null only where a given value is; elsewhere null means that it does not fit."""
    unknown = given[0].is_null()
    for values in given[1:]:
        unknown = compute.or_(unknown, values.is_null())
    if result.null_count > compute.sum(unknown, min_count=0).as_py():
        raise overflow(call)
    return result


def _check_divisor(call: Call, left: pyarrow.Array, right: pyarrow.Array) -> None:
    zero = pyarrow.scalar(decimal.Decimal(0) if is_decimal(right.type) else 0, right.type)
    if compute.any(compute.and_(compute.equal(right, zero), left.is_valid()), min_count=0).as_py():
        raise Invalid("an expression divides by zero", subject=str(call), advice="Divide by NULLIF(…, 0).")


def _remainder(left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
    """The remainder, with the dividend's sign."""
    unknown = compute.or_(left.is_null(), right.is_null())
    if pyarrow.types.is_integer(left.type):
        odd = compute.or_(unknown, compute.equal(right, -1))  # the least int has no quotient by -1
        right = compute.if_else(odd.fill_null(True), pyarrow.scalar(1, right.type), right)
    dividend, divisor = (values.fill_null(0).to_numpy(zero_copy_only=False) for values in (left, right))
    with numpy.errstate(invalid="ignore"):
        remainder = numpy.fmod(dividend, divisor)
    return pyarrow.array(remainder, left.type, mask=unknown.to_numpy(zero_copy_only=False))


def negate(call: Call, values: Columns) -> pyarrow.Array:
    """The value with the opposite sign."""
    try:
        return compute.negate_checked(values[0])
    except pyarrow.ArrowInvalid as error:
        raise overflow(call) from error


def unsigned(call: Call, values: Columns) -> pyarrow.Array:
    """The value without its sign."""
    try:
        return compute.abs_checked(values[0])
    except pyarrow.ArrowInvalid as error:
        raise overflow(call) from error


def rounded(call: Call, values: Columns) -> pyarrow.Array:
    """The value, rounded half away from zero to the given number of decimal places."""
    value, digits = values[0], _digits(call)
    if isinstance(call.type, Decimal):
        return _no_overflow(call, fitted(rounded_decimals(value, digits), call.type), value)
    if pyarrow.types.is_floating(value.type):
        return by_value(value, lambda number: _rounded_float(number, digits), value.type)
    return value if digits >= 0 else _rounded_whole(call, value, digits)


def _digits(call: Call) -> int:
    [_, digits] = call.arguments
    return int(digits.value) if isinstance(digits, Constant) else 0


def _rounded_float(value: float, digits: int) -> float:
    if not math.isfinite(value):
        return value
    # By the printed digits, not by the bits: 2.675 to two places is 2.68.
    shown = decimal.Decimal(repr(value))
    if digits < -int(shown.as_tuple().exponent):
        shown = shown.quantize(decimal.Decimal(1).scaleb(-digits, _EXACT), context=_EXACT)
    return float(shown) + 0.0  # without a negative zero


def _rounded_whole(call: Call, value: pyarrow.Array, digits: int) -> pyarrow.Array:
    as_decimals = value.cast(pyarrow.decimal128(20, 0))
    rounded = rounded_decimals(as_decimals, digits)
    try:
        return rounded.cast(value.type)
    except pyarrow.ArrowInvalid as error:
        raise overflow(call) from error


def whole(call: Call, values: Columns) -> pyarrow.Array:
    """The floor or the ceiling."""
    value = values[0]
    kernel = compute.floor if call.function is Function.FLOOR else compute.ceil
    if isinstance(call.type, Decimal):
        wide = value.cast(pyarrow.decimal256(value.type.precision + 1, value.type.scale))
        return _no_overflow(call, fitted(kernel(wide), call.type), value)
    if not pyarrow.types.is_floating(value.type):
        return value
    # Java converts NaN to 0.
    number = kernel(compute.if_else(compute.is_nan(value), 0.0, value))
    try:
        return number.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid as error:
        raise overflow(call) from error


def extreme(call: Call, values: Columns) -> pyarrow.Array:
    """The greatest or the least of the values that are not null."""
    best = values[0]
    for other in values[1:]:
        better = less(best, other) if call.function is Function.GREATEST else less(other, best)
        taken = compute.or_kleene(compute.is_null(best), better.fill_null(False))
        best = compute.if_else(taken, other, best)
    return best
