"""Making expressions of others: their types are checked, and what SQL converts by itself is cast."""

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

SPARK = "The local engine can not: read with Spark, change the rows there, and overwrite."

_DECIMAL_RESULTS: dict[Function, Callable[[Decimal, Decimal], Decimal]] = {
    Function.ADD: sum_type,
    Function.SUBTRACT: sum_type,
    Function.MULTIPLY: product_type,
    Function.DIVIDE: quotient_type,
    Function.REMAINDER: remainder_type,
}


def calculated(function: Function, left: Expression, right: Expression) -> Expression:
    """A sum, difference, product, quotient or remainder."""
    for one in (left, right):
        if not is_number(one.type) and one.type != VOID:
            raise _unfit(function.value, one, "a number", _CAST)
    of_null = function is Function.DIVIDE and left.type == VOID  # for Spark a double, whatever it is divided by
    if not of_null and (isinstance(left.type, Decimal) or isinstance(right.type, Decimal)):
        exact = _exact(left, right), _exact(right, left)
        if exact[0] is not None and exact[1] is not None:
            both = _typed(left, exact[0]), _typed(right, exact[1])
            return Call(function, both, _DECIMAL_RESULTS[function](exact[0], exact[1]))
    type = common_type(left.type, right.type) or DOUBLE
    if function is Function.DIVIDE or type == VOID or isinstance(type, Decimal):
        type = DOUBLE
    return Call(function, (coerced(left, type), coerced(right, type)), type)


_CAST = "Use CAST(… AS type)."


def _exact(one: Expression, other: Expression) -> Decimal | None:
    """The decimal that an operand is beside a decimal; a whole number that is written down is as long as it is."""
    if one.type == VOID:
        return decimal_of(other.type)
    if isinstance(one, Constant) and one.type in WHOLE and one.value is not None:
        return Decimal(len(str(abs(one.value))), 0)
    return decimal_of(one.type)


def _typed(value: Expression, type: Decimal) -> Expression:
    return coerced(value, type) if value.type == VOID else value


def negated(value: Expression) -> Expression:
    """The value with the other sign."""
    return _of_number(Function.NEGATE, value)


def absolute(value: Expression) -> Expression:
    """The value without its sign."""
    return _of_number(Function.ABS, value)


def _of_number(function: Function, value: Expression) -> Expression:
    number = _number(function, value)
    return Call(function, (number,), number.type)


def _number(function: Function, value: Expression) -> Expression:
    if value.type == VOID:
        return coerced(value, DOUBLE)
    if not is_number(value.type):
        raise _unfit(function.value, value, "a number", _CAST)
    return value


def rounded(value: Expression, digits: int) -> Expression:
    """The value rounded half away from zero."""
    number = _number(Function.ROUND, value)
    type = rounded_type(number.type, digits) if isinstance(number.type, Decimal) else number.type
    return Call(Function.ROUND, (number, Constant(digits, INT)), type)


def whole(function: Function, value: Expression) -> Expression:
    """The floor or the ceiling."""
    number = _number(function, value)
    if isinstance(number.type, Decimal):
        return Call(function, (number,), whole_type(number.type))
    return Call(function, (coerced(number, DOUBLE if number.type in FLOATING else LONG),), LONG)


def extreme(function: Function, values: Sequence[Expression]) -> Expression:
    """The greatest or the least; text is not compared with what is none."""
    if len(values) < 2:
        raise Invalid("a function lacks arguments", subject=function.value, expected="two or more", found=len(values))
    type: Type | None = VOID
    for one in values:
        type = common_type(type, one.type) if type is not None else None
    if type is None:
        raise _no_common(function.value, values)
    _check_comparable(function.value, values)
    type = BOOLEAN if type == VOID else type
    return Call(function, _all_coerced(values, type), type)


def compared(operator: Operator, left: Expression, right: Expression) -> Expression:
    """A comparison."""
    return Compared(operator, *_comparable(operator.value, left, right))


def same(left: Expression, right: Expression) -> Expression:
    """Whether both are equal or both are null."""
    return Call(Function.SAME, _comparable(Function.SAME.value, left, right), BOOLEAN)


def _comparable(name: str, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    _check_comparable(name, (left, right))
    if decimal_of(left.type) and decimal_of(right.type) and left.type != right.type:
        return left, right  # compared as they are: no common type would hold the longest of both
    type = compared_type(left.type, right.type)
    if type is None:
        raise _no_common(name, (left, right))
    type = BOOLEAN if type == VOID else type
    return coerced(left, type), coerced(right, type)


def _check_comparable(name: str, values: Iterable[Expression]) -> None:
    for one in values:
        if isinstance(one.type, List | Map | Struct):
            raise _unfit(name, one, "a value without parts", SPARK)


def one_of(value: Expression, options: Sequence[Expression]) -> Expression:
    """Whether a value is in a list."""
    _check_comparable("IN", (value, *options))
    type = all_common(one.type for one in (value, *options))
    if type is None:
        raise _no_common("IN", (value, *options))
    type = BOOLEAN if type == VOID else type
    return OneOf(coerced(value, type), _all_coerced(options, type))


def matches(value: Expression, pattern: Pattern) -> Expression:
    """Whether a text is like a pattern."""
    return Matches(as_text("LIKE", value), pattern)


def is_null(value: Expression) -> Expression:
    """Whether there is no value."""
    return Call(Function.IS_NULL, (value,), BOOLEAN)


def is_nan(value: Expression) -> Expression:
    """Whether it is not a number."""
    number = _number(Function.IS_NAN, value)
    return Call(Function.IS_NAN, (coerced(number, number.type if number.type == FLOAT else DOUBLE),), BOOLEAN)


def negation(value: Expression) -> Expression:
    """Whether it is false."""
    return Call(Function.NOT, (truth("NOT", value),), BOOLEAN)


def all_true(parts: Iterable[Expression]) -> Expression:
    """Whether all are true."""
    return AllTrue(tuple(truth("AND", one) for one in parts))


def any_true(parts: Iterable[Expression]) -> Expression:
    """Whether one is true."""
    return AnyTrue(tuple(truth("OR", one) for one in parts))


def truth(name: str, value: Expression) -> Expression:
    """The value, which has to be a boolean."""
    if value.type not in (BOOLEAN, VOID):
        raise _unfit(name, value, "a condition", "Compare it with something.")
    return coerced(value, BOOLEAN)


def case(branches: Sequence[tuple[Expression, Expression]], otherwise: Expression) -> Expression:
    """The value of the first condition that is true."""
    values = [*(value for _, value in branches), otherwise]
    type = _common("CASE", values)
    found = tuple(Branch(truth("CASE", condition), coerced(value, type)) for condition, value in branches)
    return Case(found, coerced(otherwise, type))


def coalesce(values: Sequence[Expression]) -> Expression:
    """The first that is not null."""
    return Coalesce(_all_coerced(values, _common("COALESCE", values)))


def null_if(value: Expression, other: Expression) -> Expression:
    """The value, and null where both are equal."""
    return case([(compared(Operator.EQUAL, value, other), Constant(None, value.type))], value)


def concatenated(values: Sequence[Expression]) -> Expression:
    """The texts, or the bytes, one behind the other."""
    if values and all(one.type == BINARY for one in values):
        return Call(Function.CONCAT, tuple(values), BINARY)
    return Call(Function.CONCAT, tuple(as_text("||", one) for one in values), STRING)


def of_text(function: Function, value: Expression) -> Expression:
    """A function from text to text."""
    return Call(function, (as_text(function.value, value),), STRING)


def length(value: Expression) -> Expression:
    """How many characters a text has, or how many bytes."""
    given = value if value.type == BINARY else as_text(Function.LENGTH.value, value)
    return Call(Function.LENGTH, (given,), INT)


def substring(value: Expression, start: Expression, size: Expression) -> Expression:
    """A part of a text, counted from 1, or from its end if negative."""
    for one in (start, size):
        if one.type not in (*WHOLE, VOID):
            raise _unfit(Function.SUBSTRING.value, one, "a whole number", _CAST)
    text = as_text(Function.SUBSTRING.value, value)
    return Call(Function.SUBSTRING, (text, coerced(start, INT), coerced(size, INT)), STRING)


def as_text(name: str, value: Expression) -> Expression:
    """The value as text, as SQL makes it by itself."""
    if value.type == BINARY or not can_cast(value.type, STRING):
        raise _unfit(name, value, "text", _CAST)
    return coerced(value, STRING)


def cast(value: Expression, type: Type, casting: Casting) -> Expression:
    """The value as another type."""
    if not can_cast(value.type, type):
        raise Invalid(
            "a type can't be cast to another",
            subject=str(value),
            expected=str(type),
            found=str(value.type),
            advice=SPARK,
        )
    return value if value.type == type else Cast(value, type, casting)


def stored(value: Expression, field: Field) -> Expression:
    """The value as it is put into a column; `Invalid` names a column that it can't be put into."""
    if isinstance(value, Constant) and value.value is None and field.required:
        raise Invalid("a column that is required is set to null", subject=f"column {field.name!r}")
    if not can_store(value.type, field.type):
        advice = "Use CAST(… AS type)." if can_cast(value.type, field.type) else ""
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


def coerced(value: Expression, type: Type) -> Expression:
    """The value, which SQL converts by itself."""
    if value.type == type:
        return value
    if isinstance(value, Constant) and value.value is None:
        return Constant(None, type)
    return Cast(value, type, Casting.IMPLICIT)


def _all_coerced(values: Iterable[Expression], type: Type) -> tuple[Expression, ...]:
    return tuple(coerced(one, type) for one in values)


def _common(name: str, values: Sequence[Expression]) -> Type:
    type = all_common(one.type for one in values)
    if type is None:
        raise _no_common(name, values)
    return type


def _no_common(name: str, values: Sequence[Expression]) -> Invalid:
    return Invalid(
        "values of these types do not go together",
        subject=name,
        found=", ".join(f"{one} of type {one.type}" for one in values),
        advice=_CAST,
    )


def _unfit(name: str, value: Expression, expected: str, advice: str) -> Invalid:
    return Invalid(
        "a value has a type that this is not for",
        subject=name,
        expected=expected,
        found=f"{value} of type {value.type}",
        advice=advice,
    )
