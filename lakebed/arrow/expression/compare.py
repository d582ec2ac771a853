"""Comparing columns as Spark does: NaN equals NaN and is above all other numbers, and decimals are compared exactly."""

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.types import is_decimal
from lakebed.table.filter.filter import Operator

_WIDEST = 76  # digits of Arrow's widest decimal: enough for any two decimals of a table


def compare(operator: Operator, left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
    """Whether the comparison holds; null where one of the values is."""
    match operator:
        case Operator.EQUAL:
            return equal(left, right)
        case Operator.NOT_EQUAL:
            return compute.invert(equal(left, right))
        case Operator.LESS:
            return less(left, right)
        case Operator.GREATER:
            return less(right, left)
        case Operator.LESS_OR_EQUAL:
            return compute.invert(less(right, left))
        case Operator.GREATER_OR_EQUAL:
            return compute.invert(less(left, right))


def equal(left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
    """Whether the values are equal; null where one of them is."""
    left, right = _comparable(left, right)
    are_equal = compute.equal(left, right)
    if not pyarrow.types.is_floating(left.type):
        return are_equal
    return compute.or_(are_equal, compute.and_(compute.is_nan(left), compute.is_nan(right)))


def less(left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
    """Whether the first value is less; null where one of them is."""
    left, right = _comparable(left, right)
    is_less = compute.less(left, right)
    if not pyarrow.types.is_floating(left.type):
        return is_less
    return compute.or_(is_less, compute.and_(compute.is_nan(right), compute.invert(compute.is_nan(left))))


def among(value: pyarrow.Array, options: pyarrow.Array) -> pyarrow.Array:
    """Whether the value equals one of the options; null if it is null, or equals none and one option is null."""
    wanted = options.drop_null()
    if pyarrow.types.is_floating(value.type):
        # Values are looked up by their bits, which differ for the two zeros.
        value, wanted = (compute.add(numbers, pyarrow.scalar(0.0, value.type)) for numbers in (value, wanted))
    is_among = compute.is_in(value, value_set=wanted)
    unknown = compute.or_(value.is_null(), compute.and_(compute.invert(is_among), options.null_count > 0))
    return compute.if_else(unknown, pyarrow.scalar(None, pyarrow.bool_()), is_among)


def _comparable(left: pyarrow.Array, right: pyarrow.Array) -> tuple[pyarrow.Array, pyarrow.Array]:
    if not (is_decimal(left.type) or is_decimal(right.type)):
        return left, right
    scale = max(left.type.scale if is_decimal(left.type) else 0, right.type.scale if is_decimal(right.type) else 0)
    form = pyarrow.decimal256(_WIDEST, scale)
    return left.cast(form), right.cast(form)
