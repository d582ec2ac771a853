"""A table's filter as an Arrow expression, over columns by the names that the caller gives them."""

import operator
from collections.abc import Callable, Iterable

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.types import UUID_BYTES, kernel_type
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
from lakebed.table.filter.like import Pattern, Wildcard
from lakebed.table.types.types import DOUBLE, FLOAT, UUID, Field

NameOf = Callable[[Field], str]
_Join = Callable[[compute.Expression, compute.Expression], compute.Expression]

_COMPARED: dict[Operator, _Join] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def to_arrow(filter: Filter, name_of: NameOf) -> compute.Expression:
    """An expression that is true for the rows that pass the filter, which has no predicate, for rows in memory.

    Never give it to a Parquet scanner: Arrow takes a column with equal bounds as that one value, so that `is_nan(x)` is
    false for [1.0, NaN] (pyarrow 26; related to apache/arrow#34162). Row groups are skipped by `plan.pruning` instead.
    """
    match filter:
        case And(parts):
            return _joined(operator.and_, [to_arrow(part, name_of) for part in parts], empty=True)
        case Or(parts):
            return _joined(operator.or_, [to_arrow(part, name_of) for part in parts], empty=False)
        case Predicate():
            raise AssertionError("predicates are evaluated, by `passing_rows`")
        case _:
            return _leaf(filter, compute.field(*map(name_of, filter.way)))


def _joined(join: _Join, parts: list[compute.Expression], empty: bool) -> compute.Expression:
    """The parts, joined in pairs and pairs of pairs: Arrow recurses, and a chain would be as deep as it is long."""
    while len(parts) > 1:
        parts = [join(*parts[at : at + 2]) if at + 1 < len(parts) else parts[at] for at in range(0, len(parts), 2)]
    return parts[0] if parts else compute.scalar(empty)


def _leaf(leaf: Leaf, column: compute.Expression) -> compute.Expression:
    match leaf:
        case Comparison(field, compared, value):
            return _COMPARED[compared](_comparable(field, column), _scalar(field, value))
        case OneOf(field, values):
            return _comparable(field, column).isin(_array(field, values))
        case NoneOf(field, values):
            return column.is_valid() & ~_comparable(field, column).isin(_array(field, values))
        case Like(_, pattern):
            return _like(pattern, column)
        case NotLike(_, pattern):
            return ~_like(pattern, column)
        case IsNull():
            return column.is_null()
        case NotNull():
            return column.is_valid()
        case IsNan():
            return compute.is_nan(column)
        case NotNan():
            return ~compute.is_nan(column)


def _like(pattern: Pattern, column: compute.Expression) -> compute.Expression:
    match pattern.parts:
        case (str(prefix), Wildcard.ANY):
            return compute.starts_with(column, prefix)
        case (Wildcard.ANY, str(suffix)):
            return compute.ends_with(column, suffix)
        case (Wildcard.ANY, str(inner), Wildcard.ANY):
            return compute.match_substring(column, inner)
        case parts:
            # `match_like` of pyarrow 26 reads an escaped backslash at the end, as in '%a\\\\', as two.
            return compute.match_substring_regex(column, rf"(?s)\A{''.join(map(_regular, parts))}\z")


def _regular(part: str | Wildcard) -> str:
    """A part of a pattern as an RE2 regular expression."""
    if isinstance(part, Wildcard):
        return "." if part is Wildcard.ONE else ".*"
    return "".join(char if char.isalnum() or not char.isascii() else rf"\x{{{ord(char):x}}}" for char in part)


def _comparable(field: Field, column: compute.Expression) -> compute.Expression:
    return column.cast(UUID_BYTES) if field.type == UUID else column


def _scalar(field: Field, value: Value) -> compute.Expression:
    return compute.scalar(pyarrow.scalar(value, kernel_type(field.type)))


def _array(field: Field, values: Iterable[Value]) -> pyarrow.Array:
    # `is_in` looks up values by their bits, which differ for the two zeros.
    zeros = [0.0, -0.0] if field.type in (FLOAT, DOUBLE) and 0.0 in values else []
    return pyarrow.array([*values, *zeros], kernel_type(field.type))
