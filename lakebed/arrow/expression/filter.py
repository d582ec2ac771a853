"""A table's filter, evaluated on rows in memory whose columns have the names that the caller gives them."""

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
_Join = Callable[[pyarrow.Array, pyarrow.Array], pyarrow.Array]

_COMPARED: dict[Operator, Callable[[pyarrow.Array, pyarrow.Scalar], pyarrow.BooleanArray]] = {
    Operator.EQUAL: compute.equal,
    Operator.NOT_EQUAL: compute.not_equal,
    Operator.LESS: compute.less,
    Operator.LESS_OR_EQUAL: compute.less_equal,
    Operator.GREATER: compute.greater,
    Operator.GREATER_OR_EQUAL: compute.greater_equal,
}


def _own_name(field: Field) -> str:
    return field.name


def filter_mask(filter: Filter, rows: pyarrow.RecordBatch, name_of: NameOf = _own_name) -> pyarrow.BooleanArray:
    """Which rows pass the filter, which has no predicate; by Arrow's kernels, in half of the time of its plans."""
    mask = _mask(filter, rows, name_of)
    return mask.fill_null(False) if mask.null_count else mask


def _mask(filter: Filter, rows: pyarrow.RecordBatch, name_of: NameOf) -> pyarrow.BooleanArray:
    match filter:
        case And(parts):
            return _joined(compute.and_kleene, (_mask(part, rows, name_of) for part in parts), True, rows)
        case Or(parts):
            return _joined(compute.or_kleene, (_mask(part, rows, name_of) for part in parts), False, rows)
        case Predicate():
            raise AssertionError("predicates are evaluated, by `passing_rows`")
        case _:
            return _leaf(filter, _column(rows, [name_of(field) for field in filter.way]))


def _joined(
    join: _Join, parts: Iterable[pyarrow.BooleanArray], empty: bool, rows: pyarrow.RecordBatch
) -> pyarrow.BooleanArray:
    """The parts joined as they come: there may be thousands."""
    joined: pyarrow.BooleanArray | None = None
    for part in parts:
        joined = part if joined is None else join(joined, part)
    return pyarrow.repeat(empty, rows.num_rows) if joined is None else joined


def _column(rows: pyarrow.RecordBatch, names: list[str]) -> pyarrow.Array:
    column = rows.column(names[0])
    for name in names[1:]:  # by its place, since Arrow takes a name such as `.a` for a path
        column = compute.struct_field(column, column.type.get_field_index(name))
    return column


def _leaf(leaf: Leaf, column: pyarrow.Array) -> pyarrow.BooleanArray:
    match leaf:
        case Comparison(field, compared, value):
            return _COMPARED[compared](_comparable(field, column), pyarrow.scalar(value, kernel_type(field.type)))
        case OneOf(field, values):
            return compute.is_in(_comparable(field, column), _array(field, values))
        case NoneOf(field, values):
            among = compute.is_in(_comparable(field, column), _array(field, values))
            return compute.and_kleene(column.is_valid(), compute.invert(among))
        case Like(_, pattern):
            return _like(pattern, column)
        case NotLike(_, pattern):
            return compute.invert(_like(pattern, column))
        case IsNull():
            return column.is_null()
        case NotNull():
            return column.is_valid()
        case IsNan():
            return compute.is_nan(column)
        case NotNan():
            return compute.invert(compute.is_nan(column))


def _like(pattern: Pattern, column: pyarrow.Array) -> pyarrow.BooleanArray:
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


def _comparable(field: Field, column: pyarrow.Array) -> pyarrow.Array:
    return column.cast(UUID_BYTES) if field.type == UUID else column


def _array(field: Field, values: Iterable[Value]) -> pyarrow.Array:
    # `is_in` looks up values by their bits, which differ for the two zeros.
    zeros = [0.0, -0.0] if field.type in (FLOAT, DOUBLE) and 0.0 in values else []
    return pyarrow.array([*values, *zeros], kernel_type(field.type))
