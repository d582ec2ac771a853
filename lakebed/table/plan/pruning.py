"""Pruning: whether a data file, or a row group of it, can have a row that a filter keeps, by its statistics alone."""

from lakebed.errors import Invalid
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
    leaves_of,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.column import KnownColumn, known_column


def may_match(filter: Filter, file: DataFileRef, written: Schema | None = None) -> bool:
    """Whether the file can have a row that the filter keeps; False only if it certainly has none.

    Unset statistics are unknown. So is a column without any, unless `written`, the schema of the commit that added the
    file, shows that the file is older than the column: then the column's default is compared.
    """
    match filter:
        case And(parts):
            return all(may_match(part, file, written) for part in parts)
        case Or(parts):
            return any(may_match(part, file, written) for part in parts)
        case Predicate():
            return True
        case _:
            return _leaf_may_match(filter, known_column(filter, file, written))


def row_group_matches(filter: Filter, file: DataFileRef, written: Schema | None = None) -> tuple[int, ...] | None:
    """The numbers of the row groups that may match; None if the entry lists none, as for a file with a single one.

    `written` is as in `may_match`.
    """
    if not file.blocks:
        return None
    entries = (row_group_entry(filter, file, number) for number in range(len(file.blocks)))
    return tuple(number for number, entry in enumerate(entries) if may_match(filter, entry, written))


def row_group_entry(filter: Filter, file: DataFileRef, number: int) -> DataFileRef:
    """A row group as if it were a file, with the statistics that the filter needs; a file that lists none has one."""
    if not file.blocks and number == 0:
        return file
    if not 0 <= number < len(file.blocks):
        raise Invalid(
            "a file has no such row group", subject=file.path, expected=f"below {len(file.blocks)}", found=number
        )
    row_group, tested = file.blocks[number], {leaf.field.id for leaf in leaves_of(filter)}
    known = [column for column in row_group.columns if column.field_id in tested]
    # A missing column may be younger than the file: `known_column` needs the statistics of all the others to tell.
    statistics = known if len(known) == len(tested) else row_group.columns
    return DataFileRef(path=file.path, num_rows=row_group.num_rows, statistics=statistics)


def is_within(value: Value, lower: Value | None, upper: Value | None) -> bool:
    """Whether the bounds do not rule the value out."""
    return (lower is None or lower <= value) and (upper is None or value <= upper)  # type: ignore[operator]


def may_be_like(pattern: Pattern, lower: Value | None, upper: Value | None) -> bool:
    """Whether a text between the bounds can match the pattern, by its prefix."""
    if isinstance(lower, str) and lower == upper:
        return pattern.matches(lower)
    prefix = pattern.prefix
    below = isinstance(upper, str) and upper < prefix
    above = isinstance(lower, str) and lower[: len(prefix)] > prefix
    return not (below or above)


def is_like(pattern: Pattern, lower: Value | None, upper: Value | None) -> bool:
    """Whether every text between the bounds matches the pattern: texts between two with a prefix have it too."""
    if not (isinstance(lower, str) and isinstance(upper, str)):
        return False
    if pattern.is_prefix:
        return lower.startswith(pattern.prefix) and upper.startswith(pattern.prefix)
    return lower == upper and pattern.matches(lower)


def _leaf_may_match(leaf: Leaf, known: KnownColumn) -> bool:
    match leaf:
        case IsNull():
            return known.may_be_null
        case IsNan():
            return known.may_be_nan and known.may_have_values
        case NotNull() | NotNan():
            return known.may_have_values
        case Comparison(_, operator, value):
            return known.may_have_values and _comparison_may_match(operator, value, known)
        case OneOf(_, values):
            return known.may_have_values and any(is_within(value, known.lower, known.upper) for value in values)
        case NoneOf(_, values):
            return known.may_have_values and known.only not in values
        case Like(_, pattern):
            return known.may_have_values and may_be_like(pattern, known.lower, known.upper)
        case NotLike(_, pattern):
            return known.may_have_values and not is_like(pattern, known.lower, known.upper)


def _comparison_may_match(operator: Operator, value: Value, known: KnownColumn) -> bool:
    """Whether a value between the bounds passes. Bounds may be wider than the values, never narrower."""
    lower, upper = known.lower, known.upper
    match operator:
        case Operator.EQUAL:
            return is_within(value, lower, upper)
        case Operator.NOT_EQUAL:
            return known.only != value
        case Operator.LESS:
            return lower is None or lower < value  # type: ignore[operator]
        case Operator.LESS_OR_EQUAL:
            return lower is None or lower <= value  # type: ignore[operator]
        case Operator.GREATER:
            return upper is None or upper > value  # type: ignore[operator]
        case Operator.GREATER_OR_EQUAL:
            return upper is None or upper >= value  # type: ignore[operator]
