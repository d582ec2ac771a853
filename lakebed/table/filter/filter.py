"""A filter: which rows are asked for, bound to the columns of one schema.

A row is kept if its filter is true. SQL's third truth value, unknown, is not true, so no filter here is ever negated:
NOT is carried to the leaves while a filter is made. There `x = 1` becomes `x != 1`, which nulls don't pass either.

Floating point follows Spark: NaN equals NaN and is greater than any other value, and the two zeros are equal. Only
`IsNan` and `NotNan` have to know about it. A comparison never has NaN as its value. Where NaN belongs to the answer
(`x > 1`, `x != 1`) the filter says so itself: `x > 1 or x is NaN`. A column inside structs is null where one of
them is.
"""

import decimal
from collections.abc import Collection, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Final

from lakebed.table.filter.like import Pattern
from lakebed.table.types.types import Field, Fields, Way

Value = bool | int | float | decimal.Decimal | str | bytes
"""One value of a column, as Python has it: dates are days and timestamps microseconds since 1970."""

LISTED: Final = 200
"""A plan looks up at most this many keys one by one; of more it uses only the least and the greatest."""


class Operator(Enum):
    """How a column is compared with a value."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def negated(self) -> "Operator":
        """The operator that is true of two values whenever this one is false."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> "Operator":
        """The same comparison with its sides swapped: `1 < x` is `x > 1`."""
        return _MIRRORED[self]


_NEGATED = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}
_MIRRORED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.NOT_EQUAL: Operator.NOT_EQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}


@dataclass(frozen=True, slots=True)
class ColumnTest:
    """A test of one column, `field`, and the structs that it is `inside` of, the outermost first."""

    field: Field
    _: KW_ONLY
    inside: tuple[Field, ...] = ()

    @property
    def way(self) -> Way:
        """The structs and the column itself."""
        return (*self.inside, self.field)

    @property
    def column(self) -> Field:
        """The schema's column: the field itself, or the outermost struct that it is inside of."""
        return self.way[0]


@dataclass(frozen=True, slots=True)
class Comparison(ColumnTest):
    """The column, compared with a value of exactly its type."""

    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf(ColumnTest):
    """The column has one of these values, each exactly of its type."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class NoneOf(ColumnTest):
    """The column has a value, and none of these."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Like(ColumnTest):
    """The column's text matches a pattern that has a wildcard."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class NotLike(ColumnTest):
    """The column has a text, which does not match a pattern that has a wildcard."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class IsNull(ColumnTest):
    """The column has no value."""


@dataclass(frozen=True, slots=True)
class NotNull(ColumnTest):
    """The column has a value."""


@dataclass(frozen=True, slots=True)
class IsNan(ColumnTest):
    """The floating-point column is not a number."""


@dataclass(frozen=True, slots=True)
class NotNan(ColumnTest):
    """The floating-point column has a value, and it is a number or an infinity."""


@dataclass(frozen=True, slots=True)
class And:
    """All parts are true; without parts it keeps every row."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part is true; without parts it keeps no row."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """An expression of SQL is true, which nothing is known about without the rows; only whole conjuncts are such.

    `expression` is one of `table.expression`, or one of Arrow's that another engine pushed, over the schema's columns
    `fields`; `text` is what was written.
    """

    expression: object
    fields: Fields
    text: str


Leaf = Comparison | OneOf | NoneOf | Like | NotLike | IsNull | NotNull | IsNan | NotNan
Filter = Leaf | Predicate | And | Or

ALWAYS = And(())
NEVER = Or(())


def all_of(filters: Iterable[Filter]) -> Filter:
    """The rows that pass all filters, without needless nesting."""
    parts = tuple(_flat(And, filters))
    if NEVER in parts:
        return NEVER
    return parts[0] if len(parts) == 1 else And(parts)


def any_of(filters: Iterable[Filter]) -> Filter:
    """The rows that pass at least one filter, without needless nesting."""
    parts = tuple(_flat(Or, filters))
    if ALWAYS in parts:
        return ALWAYS
    return parts[0] if len(parts) == 1 else Or(parts)


def one_of_values(field: Field, values: Collection[Value]) -> Filter:
    """The rows whose column has one of these values."""
    return OneOf(field, tuple(values))


def between(field: Field, low: Value, high: Value) -> Filter:
    """The rows whose column has a value from `low` to `high`, both included."""
    return all_of([Comparison(field, Operator.GREATER_OR_EQUAL, low), Comparison(field, Operator.LESS_OR_EQUAL, high)])


def leaves_of(filter: Filter) -> Iterator[Leaf]:
    """The filter's leaves, from left to right; without predicates."""
    if isinstance(filter, And | Or):
        for part in filter.parts:
            yield from leaves_of(part)
    elif not isinstance(filter, Predicate):
        yield filter


def predicates_of(filter: Filter) -> tuple[Predicate, ...]:
    """The predicates among the filter's conjuncts."""
    parts = filter.parts if isinstance(filter, And) else (filter,)
    return tuple(part for part in parts if isinstance(part, Predicate))


def without_predicates(filter: Filter) -> Filter:
    """The rest of the filter, which all rows pass that pass the filter."""
    parts = filter.parts if isinstance(filter, And) else (filter,)
    return all_of([part for part in parts if not isinstance(part, Predicate)])


def fields_of(filter: Filter) -> Fields:
    """The schema's columns that a filter needs, each once; a field inside a struct needs the whole struct."""
    columns = {leaf.column.id: leaf.column for leaf in leaves_of(filter)}
    others = {field.id: field for predicate in predicates_of(filter) for field in predicate.fields}
    return tuple({**columns, **others}.values())


def _flat(kind: type[And] | type[Or], filters: Iterable[Filter]) -> Iterator[Filter]:
    for filter in filters:
        if isinstance(filter, kind):
            yield from filter.parts
        else:
            yield filter
