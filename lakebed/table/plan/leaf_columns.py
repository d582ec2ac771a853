"""One condition of a filter, looked at in the statistics of many files at once."""

import numpy

from lakebed.table.filter.filter import (
    Comparison,
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
    Value,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.plan.file_rows import FileRows
from lakebed.table.statistics.bound_arrays import Bounds, Mask, Texts, within_any

_LOWER = (Operator.LESS, Operator.LESS_OR_EQUAL)


def leaf_may_match(leaf: Leaf, files: FileRows) -> Mask | None:
    """Where the leaf may match by the files' own statistics; None if its column's bounds don't compare here."""
    match leaf:
        case IsNull(field):
            return ~files.is_count(f"nulls.{field.id}", 0)
        case IsNan(field):
            return ~files.is_count(f"nans.{field.id}", 0) & files.may_have_values(field.id)
        case NotNull(field) | NotNan(field):
            return files.may_have_values(field.id)
        case _:
            found = _by_bounds(leaf, files)
            return None if found is None else found & files.may_have_values(leaf.field.id)


def _by_bounds(leaf: Comparison | OneOf | NoneOf | Like | NotLike, files: FileRows) -> Mask | None:
    match leaf:
        case Comparison(_, Operator.EQUAL, value):
            return _one_of(leaf, (value,), files)
        case Comparison(_, Operator.NOT_EQUAL, value):
            return _none_of(leaf, (value,), files)
        case Comparison(_, operator, value):
            bound = files.bounds("lower" if operator in _LOWER else "upper", leaf)
            return None if bound is None else bound.may_hold(operator, value)
        case OneOf(_, values):
            return _one_of(leaf, values, files)
        case NoneOf(_, values):
            return _none_of(leaf, values, files)
        case Like(_, pattern):
            return _like(leaf, pattern, files)
        case NotLike(_, pattern):
            return _not_like(leaf, pattern, files)


def _both(leaf: Leaf, files: FileRows) -> tuple[Bounds, Bounds] | None:
    lower, upper = files.bounds("lower", leaf), files.bounds("upper", leaf)
    return None if lower is None or upper is None else (lower, upper)


def _one_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    bounds = _both(leaf, files)
    return None if bounds is None else within_any(values, *bounds)


def _none_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    """Where not all rows have one and the same of these values."""
    bounds = _both(leaf, files)
    if bounds is None:
        return None
    single = numpy.zeros(len(files), bool)
    for value in values:
        single |= bounds[0].holds(Operator.EQUAL, value) & bounds[1].holds(Operator.EQUAL, value)
    return ~single


def _texts(leaf: Leaf, files: FileRows) -> tuple[Texts, Texts] | None:
    match _both(leaf, files):
        case (Texts() as lower, Texts() as upper):
            return lower, upper
        case _:
            return None


def _like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where what the texts begin with lets one match; a file that has one text alone is told by that."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    beyond = lower.holds(Operator.GREATER, pattern.prefix) & ~lower.starts_with(pattern.prefix)
    found = upper.may_hold(Operator.GREATER_OR_EQUAL, pattern.prefix) & ~beyond
    if not pattern.is_prefix:
        single = lower.same(upper) & found
        found &= ~single | lower.passes(single, pattern.matches)
    return found


def _not_like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where not every text between the bounds matches: what lies between two of one prefix has it too."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    if pattern.is_prefix:
        return ~(lower.starts_with(pattern.prefix) & upper.starts_with(pattern.prefix))
    return ~lower.passes(lower.same(upper), pattern.matches)
