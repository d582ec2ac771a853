"""Terms of a filter: a column beside literals, as leaves whose values are exactly of the column's type.

The column is given as the way to it: the structs that it is inside of, then itself.
"""

from collections.abc import Iterable
from dataclasses import replace

from lakebed.errors import Invalid
from lakebed.table.filter.filter import (
    NEVER,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Value,
    all_of,
    any_of,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.filter.literals import NAN, Kind, Literal, Place, place_of
from lakebed.table.schema.schema import shown
from lakebed.table.types.parts import Parts
from lakebed.table.types.types import DOUBLE, FLOAT, STRING, Field


def compare(way: Parts, operator: Operator, literal: Literal) -> Filter:
    """The rows whose column compares so with a literal: none for null, which compares with nothing."""
    if literal.kind is Kind.NULL:
        return NEVER
    place = place_of(_named(way), literal)
    if place is NAN:
        return _compared_with_nan(way, operator)
    compared = _compared(way, operator, place)
    beyond = operator in (Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)
    return any_of([compared, is_nan(way)]) if beyond and _is_floating(way) else compared


def one_of(way: Parts, literals: Iterable[Literal]) -> Filter:
    """The rows whose column equals one of the literals; nothing equals a null among them."""
    named = _named(way)
    places = [place_of(named, one) for one in literals if one.kind is not Kind.NULL]
    values = _values(places)
    listed: Filter = OneOf(way[-1], values, inside=way[:-1]) if values else NEVER
    return any_of([listed, is_nan(way)]) if NAN in places else listed


def none_of(way: Parts, literals: Iterable[Literal]) -> Filter:
    """The rows whose column differs from every literal: none if one of them is null, as SQL has it."""
    given, named = list(literals), _named(way)
    places = [place_of(named, one) for one in given if one.kind is not Kind.NULL]
    values = _values(places)
    unlisted: Filter = NoneOf(way[-1], values, inside=way[:-1]) if values else not_null(way)
    if len(places) < len(given):
        return NEVER
    if NAN in places:
        return all_of([unlisted, NotNan(way[-1], inside=way[:-1])])
    return any_of([unlisted, is_nan(way)]) if _is_floating(way) else unlisted


def like(way: Parts, pattern: Pattern) -> Filter:
    """The rows whose text matches a pattern."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.EQUAL, pattern.prefix, inside=way[:-1])
    return not_null(way) if _is_anything(pattern) else Like(way[-1], pattern, inside=way[:-1])


def not_like(way: Parts, pattern: Pattern) -> Filter:
    """The rows that have a text which does not match a pattern."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.NOT_EQUAL, pattern.prefix, inside=way[:-1])
    return NEVER if _is_anything(pattern) else NotLike(way[-1], pattern, inside=way[:-1])


def is_null(way: Parts) -> Filter:
    """The rows without a value in the column."""
    return IsNull(way[-1], inside=way[:-1])


def not_null(way: Parts) -> Filter:
    """The rows with a value in the column."""
    return NotNull(way[-1], inside=way[:-1])


def is_nan(way: Parts) -> Filter:
    """The rows whose column is not a number; `Invalid` if it is no column of floating-point numbers."""
    _check_floating(way)
    return IsNan(way[-1], inside=way[:-1])


def not_nan(way: Parts) -> Filter:
    """The rows whose column is anything but NaN, those without a value too: of null `isnan` is false, not unknown."""
    _check_floating(way)
    return any_of([is_null(way), NotNan(way[-1], inside=way[:-1])])


def _named(way: Parts) -> Field:
    """The column by its whole path, for what errors say of it."""
    return way[-1] if len(way) == 1 else replace(way[-1], name=shown(way))


def _values(places: Iterable[Place]) -> tuple[Value, ...]:
    values = [place.value for place in places if place is not NAN and place.value is not None]
    return tuple(dict.fromkeys(values))


def _is_floating(way: Parts) -> bool:
    return way[-1].type in (FLOAT, DOUBLE)


def _is_anything(pattern: Pattern) -> bool:
    return pattern.is_prefix and not pattern.prefix


def _check_floating(way: Parts) -> None:
    if not _is_floating(way):
        raise _misplaced(way, "a column of type float or double", "NaN")


def _check_text(way: Parts, pattern: Pattern) -> None:
    if way[-1].type != STRING:
        raise _misplaced(way, "a column of type string", f"LIKE '{pattern}'")


def _misplaced(way: Parts, expected: str, found: str) -> Invalid:
    return Invalid(
        "a filter tests a column for what its type does not have",
        subject=f"column {shown(way)!r} of type {way[-1].type}",
        expected=expected,
        found=found,
    )


def _compared_with_nan(way: Parts, operator: Operator) -> Filter:
    match operator:
        case Operator.EQUAL | Operator.GREATER_OR_EQUAL:
            return is_nan(way)
        case Operator.NOT_EQUAL | Operator.LESS:
            return NotNan(way[-1], inside=way[:-1])
        case Operator.LESS_OR_EQUAL:
            return not_null(way)
        case Operator.GREATER:
            return NEVER


def _compared(way: Parts, operator: Operator, place: Place) -> Filter:
    if place.value is not None:
        return Comparison(way[-1], operator, place.value, inside=way[:-1])
    match operator:
        case Operator.EQUAL:
            return NEVER
        case Operator.NOT_EQUAL:
            return not_null(way)
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return _up_to(way, place)
        case Operator.GREATER | Operator.GREATER_OR_EQUAL:
            return _from(way, place)


def _up_to(way: Parts, place: Place) -> Filter:
    if place.below is None:
        return NEVER
    if place.above is None:
        return not_null(way)
    return Comparison(way[-1], Operator.LESS_OR_EQUAL, place.below, inside=way[:-1])


def _from(way: Parts, place: Place) -> Filter:
    if place.above is None:
        return NEVER
    if place.below is None:
        return not_null(way)
    return Comparison(way[-1], Operator.GREATER_OR_EQUAL, place.above, inside=way[:-1])
