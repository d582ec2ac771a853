"""Conditions: filters as they are written, in SQL or in Python, before they are bound to the columns of a schema.

A condition is a value: it can be compared, hashed, pickled and kept. Its `repr` is the Python that makes it. Its `str`
is SQL that parses to the same condition, which is how a manifest stores one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Never

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import Pattern
from lakebed.table.filter.literals import Literal
from lakebed.table.filter.python_values import literal_text, value_repr

Names = tuple[str, ...]
"""The names that lead to a column: those of the structs that it is inside of, then its own."""


class Condition:
    """Which rows are asked for; made from `lakebed.col`, and combined by `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: "Condition") -> "Condition":
        """Both are true."""
        return all_conditions([self, _checked(other)])

    def __or__(self, other: "Condition") -> "Condition":
        """At least one is true."""
        return any_condition([self, _checked(other)])

    def __invert__(self) -> "Condition":
        """It is false; for a null it may be unknown, which is neither true nor false."""
        inner = self._settled()
        return inner.condition if isinstance(inner, Not) else Not(inner)

    def __rand__(self, other: Any) -> Never:
        raise _not_a_condition(other)

    __ror__ = __rand__

    def __bool__(self) -> Never:
        raise Invalid(
            "a condition is neither true nor false by itself",
            subject=repr(self),
            advice="Combine conditions by & and |, not by `and` and `or`, and negate them by ~, not by `not`. "
            "For 1 < x < 5 use `.between(…)` or two comparisons.",
        )

    def _settled(self) -> "Condition":
        """The condition as part of others: a value whose == compares, unlike a column's."""
        return self


@dataclass(frozen=True, slots=True, repr=False)
class Compares(Condition):
    """The column, compared with a literal."""

    names: Names
    operator: Operator
    literal: Literal

    def __str__(self) -> str:
        return f"{name_text(self.names)} {self.operator.value} {literal_text(self.literal)}"

    def __repr__(self) -> str:
        sign = "==" if self.operator is Operator.EQUAL else self.operator.value
        return f"{name_repr(self.names)} {sign} {value_repr(self.literal)}"


@dataclass(frozen=True, slots=True, repr=False)
class In(Condition):
    """The column equals one of the literals."""

    names: Names
    literals: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{name_text(self.names)} IN ({', '.join(map(literal_text, self.literals))})"

    def __repr__(self) -> str:
        return f"{name_repr(self.names)}.is_in([{', '.join(map(value_repr, self.literals))}])"


@dataclass(frozen=True, slots=True, repr=False)
class Null(Condition):
    """The column has no value."""

    names: Names

    def __str__(self) -> str:
        return f"{name_text(self.names)} IS NULL"

    def __repr__(self) -> str:
        return f"{name_repr(self.names)}.is_null()"


@dataclass(frozen=True, slots=True, repr=False)
class Nan(Condition):
    """The column is NaN; for a null that is false, as in Spark and Iceberg."""

    names: Names

    def __str__(self) -> str:
        return f"isnan({name_text(self.names)})"

    def __repr__(self) -> str:
        return f"{name_repr(self.names)}.is_nan()"


@dataclass(frozen=True, slots=True, repr=False)
class Matches(Condition):
    """The column's text matches a pattern."""

    names: Names
    pattern: Pattern

    def __str__(self) -> str:
        pattern = self.pattern.text.replace("\\", "\\\\").replace("'", "\\'")
        return f"{name_text(self.names)} LIKE '{pattern}'"

    def __repr__(self) -> str:
        if self.pattern.is_prefix:
            return f"{name_repr(self.names)}.starts_with({self.pattern.prefix!r})"
        return f"{name_repr(self.names)}.like({self.pattern.text!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Flag(Condition):
    """The boolean column is true."""

    names: Names

    def __str__(self) -> str:
        return name_text(self.names)

    def __repr__(self) -> str:
        return name_repr(self.names)


@dataclass(frozen=True, slots=True, repr=False)
class Not(Condition):
    """The condition is false."""

    condition: Condition

    def __str__(self) -> str:
        match self.condition:
            case Null(names):
                return f"{name_text(names)} IS NOT NULL"
            case other:
                return f"NOT ({other})"

    def __repr__(self) -> str:
        match self.condition:
            case Null(names):
                return f"{name_repr(names)}.is_not_null()"
            case other:
                return f"~({other!r})"


@dataclass(frozen=True, slots=True, repr=False)
class AllOf(Condition):
    """All parts are true; without parts it is true."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " AND ".join(_part_text(part) for part in self.parts) or "true"

    def __repr__(self) -> str:
        return " & ".join(f"({part!r})" for part in self.parts) or "AllOf(())"


@dataclass(frozen=True, slots=True, repr=False)
class AnyOf(Condition):
    """At least one part is true; without parts it is false."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " OR ".join(_part_text(part) for part in self.parts) or "false"

    def __repr__(self) -> str:
        return " | ".join(f"({part!r})" for part in self.parts) or "AnyOf(())"


def all_conditions(conditions: Iterable[Condition]) -> Condition:
    """The condition that all of these are true, without needless nesting."""
    parts = tuple(_flat(AllOf, conditions))
    return parts[0] if len(parts) == 1 else AllOf(parts)


def any_condition(conditions: Iterable[Condition]) -> Condition:
    """The condition that at least one of these is true, without needless nesting."""
    parts = tuple(_flat(AnyOf, conditions))
    return parts[0] if len(parts) == 1 else AnyOf(parts)


def name_text(names: Names) -> str:
    """A column's name in SQL. Always quoted, since any name may be a keyword of some dialect."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def name_repr(names: Names) -> str:
    """The Python that names a column."""
    if len(names) == 1 and ("." in names[0] or "`" in names[0]):
        return f"col({name_text(names)!r})"
    return f"col({', '.join(map(repr, names))})"


def _flat(kind: type[AllOf] | type[AnyOf], conditions: Iterable[Condition]) -> Iterator[Condition]:
    for condition in conditions:
        settled = condition._settled()
        if isinstance(settled, kind):
            yield from settled.parts
        else:
            yield settled


def _checked(other: Any) -> Condition:
    if isinstance(other, Condition):
        return other
    raise _not_a_condition(other)


def _not_a_condition(other: Any) -> Invalid:
    return Invalid(
        "& and | combine conditions",
        expected="a condition on each side",
        found=f"{other!r} of type {type(other).__name__}",
        advice='Put comparisons in parentheses: (col("a") > 1) & (col("b") < 2).',
    )


def _part_text(part: Condition) -> str:
    return f"({part})" if isinstance(part, AllOf | AnyOf) and part.parts else str(part)
