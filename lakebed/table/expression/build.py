"""Builders of expressions: they check the types of the operands and add the casts that SQL makes implicitly."""

from collections.abc import Callable, Iterable, Sequence

from lakebed.errors import Invalid
from lakebed.table.expression.expression import (
    VOID,
    AllTrue,
    AnyTrue,
    Branch,
    Call,
    Case,
    Cast,
    Casting,
    Coalesce,
    Compared,
    Constant,
    Expression,
    Function,
    Matches,
    OneOf,
)
from lakebed.table.expression.types import (
    FLOATING,
    WHOLE,
    all_common,
    can_cast,
    can_store,
    common_type,
    compared_type,
    decimal_of,
    is_number,
    product_type,
    quotient_type,
    remainder_type,
    rounded_type,
    sum_type,
    whole_type,
)
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import Pattern
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    Decimal,
    Field,
    List,
    Map,
    Struct,
    Type,
)

SPARK = "Only Spark evaluates this: pass spark= or a Spark DataFrame."
"""Advice for expressions that only Spark evaluates."""

_CAST = "Use CAST(… AS type)."

_DECIMAL_RESULTS: dict[Function, Callable[[Decimal, Decimal], Decimal]] = {
    Function.ADD: sum_type,
    Function.SUBTRACT: sum_type,
    Function.MULTIPLY: product_type,
    Function.DIVIDE: quotient_type,
    Function.REMAINDER: remainder_type,
}


def arithmetic(function: Function, left: Expression, right: Expression) -> Expression:
    """A sum, difference, product, quotient or remainder."""
    for operand in (left, right):
        if not is_number(operand.type) and operand.type != VOID:
            raise _unfit(function.value, operand, "a number", _CAST)
    divides_null = function is Function.DIVIDE and left.type == VOID  # a double in Spark, whatever the divisor
    if not divides_null and (isinstance(left.type, Decimal) or isinstance(right.type, Decimal)):
        left_type, right_type = _operand_decimal(left, right), _operand_decimal(right, left)
        if left_type is not None and right_type is not None:
            operands = _typed(left, left_type), _typed(right, right_type)
            return Call(function, operands, _DECIMAL_RESULTS[function](left_type, right_type))
    type = common_type(left.type, right.type) or DOUBLE
    if function is Function.DIVIDE or type == VOID or isinstance(type, Decimal):
        type = DOUBLE
    return Call(function, (as_type(left, type), as_type(right, type)), type)


def negative(value: Expression) -> Expression:
    """The value with its sign flipped."""
    return _of_number(Function.NEGATE, value)


def absolute(value: Expression) -> Expression:
    """The value without its sign."""
    return _of_number(Function.ABS, value)


def rounded_number(value: Expression, digits: int) -> Expression:
    """The value rounded half away from zero."""
    number = _number(Function.ROUND, value)
    type = rounded_type(number.type, digits) if isinstance(number.type, Decimal) else number.type
    return Call(Function.ROUND, (number, Constant(digits, INT)), type)


def floor_or_ceiling(function: Function, value: Expression) -> Expression:
    """The floor or the ceiling of a value."""
    number = _number(function, value)
    if isinstance(number.type, Decimal):
        return Call(function, (number,), whole_type(number.type))
    return Call(function, (as_type(number, DOUBLE if number.type in FLOATING else LONG),), LONG)


def extreme(function: Function, values: Sequence[Expression]) -> Expression:
    """The greatest or the least of the values; text is compared with text only."""
    if len(values) < 2:
        raise Invalid(
            "a function has too few arguments", subject=function.value, expected="two or more", found=len(values)
        )
    type: Type | None = VOID
    for value in values:
        type = common_type(type, value.type) if type is not None else None
    if type is None:
        raise _no_common_type(function.value, values)
    _check_comparable(function.value, values)
    type = BOOLEAN if type == VOID else type
    return Call(function, _all_as_type(values, type), type)


def comparison(operator: Operator, left: Expression, right: Expression) -> Expression:
    """A comparison."""
    return Compared(operator, *_comparable_pair(operator.value, left, right))


def null_safe_equal(left: Expression, right: Expression) -> Expression:
    """Whether both values are equal or both are null."""
    return Call(Function.SAME, _comparable_pair(Function.SAME.value, left, right), BOOLEAN)


def one_of(value: Expression, options: Sequence[Expression]) -> Expression:
    """Whether a value is in a list."""
    _check_comparable("IN", (value, *options))
    type = all_common(operand.type for operand in (value, *options))
    if type is None:
        raise _no_common_type("IN", (value, *options))
    type = BOOLEAN if type == VOID else type
    return OneOf(as_type(value, type), _all_as_type(options, type))


def matches(value: Expression, pattern: Pattern) -> Expression:
    """Whether a text matches a LIKE pattern."""
    return Matches(as_text("LIKE", value), pattern)


def is_null(value: Expression) -> Expression:
    """Whether the value is null."""
    return Call(Function.IS_NULL, (value,), BOOLEAN)


def is_nan(value: Expression) -> Expression:
    """Whether the value is NaN."""
    number = _number(Function.IS_NAN, value)
    return Call(Function.IS_NAN, (as_type(number, number.type if number.type == FLOAT else DOUBLE),), BOOLEAN)


def negation(value: Expression) -> Expression:
    """Whether the value is false."""
    return Call(Function.NOT, (as_boolean("NOT", value),), BOOLEAN)


def all_true(parts: Iterable[Expression]) -> Expression:
    """Whether all parts are true."""
    return AllTrue(tuple(as_boolean("AND", part) for part in parts))


def any_true(parts: Iterable[Expression]) -> Expression:
    """Whether at least one part is true."""
    return AnyTrue(tuple(as_boolean("OR", part) for part in parts))


def as_boolean(name: str, value: Expression) -> Expression:
    """The value, which has to be a boolean."""
    if value.type not in (BOOLEAN, VOID):
        raise _unfit(name, value, "a condition", "Compare it with something.")
    return as_type(value, BOOLEAN)


def case(branches: Sequence[tuple[Expression, Expression]], otherwise: Expression) -> Expression:
    """The value that belongs to the first true condition."""
    values = [*(value for _, value in branches), otherwise]
    type = _common_type_of("CASE", values)
    typed = tuple(Branch(as_boolean("CASE", condition), as_type(value, type)) for condition, value in branches)
    return Case(typed, as_type(otherwise, type))


def coalesce(values: Sequence[Expression]) -> Expression:
    """The first value that is not null."""
    return Coalesce(_all_as_type(values, _common_type_of("COALESCE", values)))


def null_if(value: Expression, other: Expression) -> Expression:
    """The value, or null where it equals the other one."""
    return case([(comparison(Operator.EQUAL, value, other), Constant(None, value.type))], value)


def concatenation(values: Sequence[Expression]) -> Expression:
    """The texts, or the bytes, joined."""
    if values and all(value.type == BINARY for value in values):
        return Call(Function.CONCAT, tuple(values), BINARY)
    return Call(Function.CONCAT, tuple(as_text("||", value) for value in values), STRING)


def of_text(function: Function, value: Expression) -> Expression:
    """A function from text to text."""
    return Call(function, (as_text(function.value, value),), STRING)


def length(value: Expression) -> Expression:
    """The number of characters of a text, or of bytes."""
    measured = value if value.type == BINARY else as_text(Function.LENGTH.value, value)
    return Call(Function.LENGTH, (measured,), INT)


def substring(value: Expression, start: Expression, size: Expression) -> Expression:
    """A part of a text. `start` counts from 1, or from the end if negative."""
    for number in (start, size):
        if number.type not in (*WHOLE, VOID):
            raise _unfit(Function.SUBSTRING.value, number, "a whole number", _CAST)
    text = as_text(Function.SUBSTRING.value, value)
    return Call(Function.SUBSTRING, (text, as_type(start, INT), as_type(size, INT)), STRING)


def as_text(name: str, value: Expression) -> Expression:
    """The value as text, by SQL's implicit conversion."""
    if value.type == BINARY or not can_cast(value.type, STRING):
        raise _unfit(name, value, "text", _CAST)
    return as_type(value, STRING)


def cast(value: Expression, type: Type, casting: Casting) -> Expression:
    """The value cast to another type."""
    if not can_cast(value.type, type):
        raise Invalid(
            "a value can't be cast to this type",
            subject=str(value),
            expected=str(type),
            found=str(value.type),
            advice=SPARK,
        )
    return value if value.type == type else Cast(value, type, casting)


def as_stored(value: Expression, field: Field) -> Expression:
    """The value as a column stores it; `Invalid` names the column if it can't."""
    if isinstance(value, Constant) and value.value is None and field.required:
        raise Invalid("a column that is required is set to null", subject=f"column {field.name!r}")
    if not can_store(value.type, field.type):
        advice = _CAST if can_cast(value.type, field.type) else ""
        raise Invalid(
            "a value can't be stored in a column",
            subject=f"column {field.name!r}",
            expected=str(field.type),
            found=f"{value} of type {value.type}",
            advice=advice,
        )
    if value.type == VOID:
        return Constant(None, field.type)
    return value if value.type == field.type else Cast(value, field.type, Casting.STORE, field.name)


def as_type(value: Expression, type: Type) -> Expression:
    """The value as another type, converted implicitly as SQL does."""
    if value.type == type:
        return value
    if isinstance(value, Constant) and value.value is None:
        return Constant(None, type)
    return Cast(value, type, Casting.IMPLICIT)


def _operand_decimal(operand: Expression, other: Expression) -> Decimal | None:
    """The decimal type of an operand beside a decimal; a literal whole number has just as many digits as it shows."""
    if operand.type == VOID:
        return decimal_of(other.type)
    if isinstance(operand, Constant) and operand.type in WHOLE and operand.value is not None:
        return Decimal(len(str(abs(operand.value))), 0)
    return decimal_of(operand.type)


def _typed(value: Expression, type: Decimal) -> Expression:
    return as_type(value, type) if value.type == VOID else value


def _of_number(function: Function, value: Expression) -> Expression:
    number = _number(function, value)
    return Call(function, (number,), number.type)


def _number(function: Function, value: Expression) -> Expression:
    if value.type == VOID:
        return as_type(value, DOUBLE)
    if not is_number(value.type):
        raise _unfit(function.value, value, "a number", _CAST)
    return value


def _comparable_pair(name: str, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    _check_comparable(name, (left, right))
    if decimal_of(left.type) and decimal_of(right.type) and left.type != right.type:
        return left, right  # compared as they are: no common type would hold the longest values of both
    type = compared_type(left.type, right.type)
    if type is None:
        raise _no_common_type(name, (left, right))
    type = BOOLEAN if type == VOID else type
    return as_type(left, type), as_type(right, type)


def _check_comparable(name: str, values: Iterable[Expression]) -> None:
    for value in values:
        if isinstance(value.type, List | Map | Struct):
            raise _unfit(name, value, "a value without parts", SPARK)


def _all_as_type(values: Iterable[Expression], type: Type) -> tuple[Expression, ...]:
    return tuple(as_type(value, type) for value in values)


def _common_type_of(name: str, values: Sequence[Expression]) -> Type:
    type = all_common(value.type for value in values)
    if type is None:
        raise _no_common_type(name, values)
    return type


def _no_common_type(name: str, values: Sequence[Expression]) -> Invalid:
    return Invalid(
        "values of these types can't be combined",
        subject=name,
        found=", ".join(f"{value} of type {value.type}" for value in values),
        advice=_CAST,
    )


def _unfit(name: str, value: Expression, expected: str, advice: str) -> Invalid:
    return Invalid(
        "an operand has the wrong type",
        subject=name,
        expected=expected,
        found=f"{value} of type {value.type}",
        advice=advice,
    )
