"""SQL expressions over the columns of rows, bound and typed.

The types and the rules for null, overflow and rounding are Spark's default since 4.0 (ANSI mode): an expression without
a value is an error, never a wrong value. An implicit conversion of SQL is a `Cast` in the tree. `AllTrue`, `AnyTrue`,
`Case` and `Coalesce` evaluate a part only where the parts before it have not decided, so `IF(n = 0, 0, 1 / n)` never
divides by zero.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakebed.table.filter.condition import name_text
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import Pattern
from lakebed.table.sql.casts import day_text, moment_text
from lakebed.table.types.types import BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ, Primitive, Type, Way

VOID = Primitive("void")
"""Spark's type of NULL itself; no column has it."""


class Function(Enum):
    """A function of one row's values; null if one of them is null, unless noted."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    CONCAT = "||"
    NEGATE = "negative"
    NOT = "not"
    IS_NULL = "isnull"  # never null itself
    IS_NAN = "isnan"  # false for null
    SAME = "<=>"  # equal, or both null
    ABS = "abs"
    ROUND = "round"
    FLOOR = "floor"
    CEIL = "ceil"
    GREATEST = "greatest"  # ignores nulls, as does `least`
    LEAST = "least"
    UPPER = "upper"
    LOWER = "lower"
    TRIM = "trim"
    LTRIM = "ltrim"
    RTRIM = "rtrim"
    LENGTH = "length"
    SUBSTRING = "substring"


class Casting(Enum):
    """The purpose of a cast."""

    CAST = "CAST"
    TRY_CAST = "TRY_CAST"  # null if the value can't be cast
    IMPLICIT = "implicit"
    STORE = "store"  # into a column


@dataclass(frozen=True, slots=True)
class Constant:
    """The same plain value in every row; None for null."""

    value: Any
    type: Type

    def __str__(self) -> str:
        match self.value:
            case None:
                return "NULL"
            case bytes():
                return f"X'{self.value.hex()}'"
            case int() if self.type == DATE:
                return f"DATE '{day_text(self.value)}'"
            case int() if self.type in (TIMESTAMP, TIMESTAMPTZ):
                return f"{'TIMESTAMP_NTZ' if self.type == TIMESTAMP else 'TIMESTAMP'} '{moment_text(self.value)}'"
            case str():
                return repr(self.value)
            case _:
                return str(self.value)


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """A column of one of the sources of rows, or a field inside it; `way` is outermost first."""

    source: str
    way: Way

    @property
    def type(self) -> Type:
        return self.way[-1].type

    def __str__(self) -> str:
        names = (self.source, *(field.name for field in self.way))
        return ".".join(name if name.isidentifier() else name_text((name,)) for name in names if name)


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to values."""

    function: Function
    arguments: tuple["Expression", ...]
    type: Type

    def __str__(self) -> str:
        name = self.function.value
        if name.isalpha():
            return f"{name}({', '.join(map(str, self.arguments))})"
        return f" {name} ".join(map(_operand, self.arguments))


@dataclass(frozen=True, slots=True)
class Compared:
    """Two values of one type, or two decimals. As in Spark, NaN equals itself and is above all other numbers."""

    operator: Operator
    left: "Expression"
    right: "Expression"

    type = BOOLEAN

    def __str__(self) -> str:
        return f"{_operand(self.left)} {self.operator.value} {_operand(self.right)}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value equals one of the options; unknown if it equals none and there is a null among them or it is null."""

    value: "Expression"
    options: tuple["Expression", ...]

    type = BOOLEAN

    def __str__(self) -> str:
        return f"{self.value} IN ({', '.join(map(str, self.options))})"


@dataclass(frozen=True, slots=True)
class Matches:
    """The text matches a pattern."""

    value: "Expression"
    pattern: Pattern

    type = BOOLEAN

    def __str__(self) -> str:
        return f"{self.value} LIKE {self.pattern.text!r}"


@dataclass(frozen=True, slots=True)
class AllTrue:
    """SQL's AND: false if a part is false, else unknown if a part is unknown."""

    parts: tuple["Expression", ...]

    type = BOOLEAN

    def __str__(self) -> str:
        return " AND ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyTrue:
    """SQL's OR: true if a part is true, else unknown if a part is unknown."""

    parts: tuple["Expression", ...]

    type = BOOLEAN

    def __str__(self) -> str:
        return " OR ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Branch:
    """The value of a `Case` where this condition is the first that is true."""

    condition: "Expression"
    value: "Expression"

    def __str__(self) -> str:
        return f"WHEN {self.condition} THEN {self.value}"


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true; all values have one type."""

    branches: tuple[Branch, ...]
    otherwise: "Expression"

    @property
    def type(self) -> Type:
        return self.otherwise.type

    def __str__(self) -> str:
        return f"CASE {' '.join(map(str, self.branches))} ELSE {self.otherwise} END"


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first value that is not null; all have one type."""

    parts: tuple["Expression", ...]

    @property
    def type(self) -> Type:
        return self.parts[0].type

    def __str__(self) -> str:
        return f"coalesce({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Cast:
    """The value as another type; `column`, where it is stored, is for errors."""

    value: "Expression"
    type: Type
    casting: Casting
    column: str = ""

    def __str__(self) -> str:
        if self.casting in (Casting.CAST, Casting.TRY_CAST):
            return f"{self.casting.value}({self.value} AS {self.type})"
        return str(self.value)


Expression = Constant | ColumnOf | Call | Compared | OneOf | Matches | AllTrue | AnyTrue | Case | Coalesce | Cast


def _operand(expression: Expression) -> str:
    """The text of an expression beside an operator: in parentheses if it has an operator itself."""
    match expression:
        case Cast(value, _, Casting.IMPLICIT):
            return _operand(value)
        case Compared() | OneOf() | Matches() | AllTrue() | AnyTrue():
            return f"({expression})"
        case Call(function) if not function.value.isalpha():
            return f"({expression})"
        case _:
            return str(expression)


def inside(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression."""
    match expression:
        case Constant() | ColumnOf():
            return ()
        case Call(_, arguments):
            return arguments
        case Compared(_, left, right):
            return (left, right)
        case OneOf(value, options):
            return (value, *options)
        case Matches(value, _) | Cast(value):
            return (value,)
        case AllTrue(parts) | AnyTrue(parts) | Coalesce(parts):
            return parts
        case Case(branches, otherwise):
            return (*(part for branch in branches for part in (branch.condition, branch.value)), otherwise)


def columns_of(expression: Expression) -> frozenset[ColumnOf]:
    """The columns that an expression reads."""
    columns, pending = set(), [expression]
    while pending:
        part = pending.pop()
        if isinstance(part, ColumnOf):
            columns.add(part)
        pending += inside(part)
    return frozenset(columns)


def levels_of(expression: Expression) -> int:
    """How deeply the expression is nested."""
    deepest, level = 0, [expression]
    while level:
        deepest, level = deepest + 1, [part for outer in level for part in inside(outer)]
    return deepest
