"""Coverage: whether every row of a data file passes a filter, by its statistics alone.

Then a delete by this filter removes the file, and a scan tests none of its rows. Truncated bounds need no special case:
they are wider than the values, so whatever holds for everything between them holds for the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.pruning import is_like, is_within, may_be_like
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.column import KnownColumn, known_column
from lakebed.table.types.types import DOUBLE, FLOAT


def covers(filter: Filter, file: DataFileRef, written: Schema | None = None) -> bool:
    """Whether every row of the file passes; True only if it is certain. `written` is as in `may_match`."""
    return _covers(filter, _Rows(file, written))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a file, except those that pass for being null, or NaN, in a column with one of these ids.

    `x > 1 OR x IS NaN`, which `x > 1` becomes, may cover a file although neither term covers all its rows.
    """

    file: DataFileRef
    written: Schema | None
    passing_nulls: frozenset[int] = frozenset()
    passing_nans: frozenset[int] = frozenset()

    def without(self, parts: Sequence[Filter]) -> "_Rows":
        nulls = {part.field.id for part in parts if isinstance(part, IsNull)}
        nans = {part.field.id for part in parts if isinstance(part, IsNan)}
        return _Rows(self.file, self.written, self.passing_nulls | nulls, self.passing_nans | nans)


def _covers(filter: Filter, rows: _Rows) -> bool:
    match filter:
        case And(parts):
            return all(_covers(part, rows) for part in parts)
        case Or(parts):
            rest = rows.without(parts)
            return any(_covers(part, rest) for part in parts)
        case Predicate():
            return False
        case _:
            return _leaf_covers(filter, rows)


def _leaf_covers(leaf: Leaf, rows: _Rows) -> bool:
    known = known_column(leaf, rows.file, rows.written)
    match leaf:
        case IsNull():
            return not known.may_have_values
        case IsNan():
            return known.is_all_nan
    if known.may_be_null and leaf.field.id not in rows.passing_nulls:
        return False
    if isinstance(leaf, NotNull) or not known.may_have_values:
        return True
    if leaf.field.type in (FLOAT, DOUBLE) and known.may_be_nan and leaf.field.id not in rows.passing_nans:
        return False
    return True if isinstance(leaf, NotNan) else _values_cover(leaf, known)


def _values_cover(leaf: Comparison | OneOf | NoneOf | Like | NotLike, known: KnownColumn) -> bool:
    """Whether every value between the bounds passes."""
    match leaf:
        case Comparison(_, operator, value):
            return _comparison_covers(operator, value, known)
        case OneOf(_, values):
            return known.only is not None and known.only in values
        case NoneOf(_, values):
            return not any(is_within(value, known.lower, known.upper) for value in values)
        case Like(_, pattern):
            return is_like(pattern, known.lower, known.upper)
        case NotLike(_, pattern):
            return not may_be_like(pattern, known.lower, known.upper)


def _comparison_covers(operator: Operator, value: Value, known: KnownColumn) -> bool:
    lower, upper = known.lower, known.upper
    match operator:
        case Operator.EQUAL:
            return known.only == value
        case Operator.NOT_EQUAL:
            return not is_within(value, lower, upper)
        case Operator.LESS:
            return upper is not None and upper < value  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return upper is not None and upper <= value  # type: ignore[operator]
        case Operator.GREATER:
            return lower is not None and lower > value  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return lower is not None and lower >= value  # type: ignore[operator]
