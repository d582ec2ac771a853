"""A table's filter as a Spark condition, over columns by the names that they have where it is used."""

import operator
from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.spark.literals import literal
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
    Value,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.types.types import DOUBLE, FLOAT, Field

NameOf = Callable[[Field], str]
_Join = Callable[[Column, Column], Column]

_COMPARED: dict[Operator, _Join] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def to_spark(filter: Filter, name_of: NameOf) -> Column:
    """The condition that is true for the rows that the filter keeps, whatever the session's time zone and ANSI mode.

    Its literals are constants of the columns' own types, so Spark pushes it down to Parquet's statistics. A condition
    that may keep NaN must not be pushed: Parquet's statistics leave NaN out, and Spark 4.3 loses such rows for `x > 1`.
    The filter's own `or x is NaN` prevents that, since Parquet has no `isnan`.
    """
    match filter:
        case And(parts):
            return _joined(operator.and_, [to_spark(part, name_of) for part in parts], empty=True)
        case Or(parts):
            return _joined(operator.or_, [to_spark(part, name_of) for part in parts], empty=False)
        case Predicate():
            raise AssertionError("Spark reads such conditions itself, as `rows.where` has it")
        case _:
            return _leaf(filter, _column([*map(name_of, filter.way)]))


def _column(names: Sequence[str]) -> Column:
    """The column of the first name, or the field inside it that the other names lead to; null if any above is null."""
    outer, *inner = names
    return reduce(Column.getField, inner, F.col(f"`{outer.replace('`', '``')}`"))


def _joined(join: _Join, parts: list[Column], empty: bool) -> Column:
    """The parts, joined in pairs, then pairs of pairs: Spark recurses, and a chain would be as deep as it is long."""
    while len(parts) > 1:
        parts = [join(*parts[at : at + 2]) if at + 1 < len(parts) else parts[at] for at in range(0, len(parts), 2)]
    return parts[0] if parts else F.lit(empty)


def _leaf(leaf: Leaf, column: Column) -> Column:
    match leaf:
        case Comparison(field, Operator.EQUAL, value):
            return _equal_to_one(field, (value,), column)
        case Comparison(field, compared, value):
            return _COMPARED[compared](column, literal(field.type, value))
        case OneOf(field, values):
            return _equal_to_one(field, values, column)
        case NoneOf(field, values):
            return ~_equal_to_one(field, values, column)
        case Like(_, pattern):
            return _like(pattern, column)
        case NotLike(_, pattern):
            return ~_like(pattern, column)
        case IsNull():
            return column.isNull()
        case NotNull():
            return column.isNotNull()
        case IsNan():
            return F.isnan(column)
        case NotNan():
            return column.isNotNull() & ~F.isnan(column)  # `isnan` of a null is false, where SQL has null


def _like(pattern: Pattern, column: Column) -> Column:
    return column.startswith(pattern.prefix) if pattern.is_prefix else column.like(pattern.text)


def _equal_to_one(field: Field, values: tuple[Value, ...], column: Column) -> Column:
    # Sets and Parquet's dictionaries use Java's equality, which separates the two zeros. IN, and for columns inside
    # structs OR too, take them for one and drop the other (Spark 4.3): only a range has both.
    zeros = [value for value in values if field.type in (FLOAT, DOUBLE) and value == 0.0]
    others = [literal(field.type, value) for value in values if value not in zeros]
    ranges = [(column <= literal(field.type, 0.0)) & (column >= literal(field.type, -0.0))] if zeros else []
    return _joined(operator.or_, [*ranges, *([column.isin(others)] if others else [])], empty=False)
