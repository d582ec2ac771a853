"""Terms of a filter: a column beside literals, as leaves whose values are exactly of the column's type."""

from collections.abc import Iterable

from lakebed.table.filter import (
    NEVER,
    Comparison,
    Filter,
    IsNan,
    NoneOf,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Value,
    all_of,
    any_of,
)
from lakebed.table.filter_literals import NAN, Kind, Literal, Place, place_of
from lakebed.table.types import DOUBLE, FLOAT, Field


def compare(field: Field, operator: Operator, literal: Literal) -> Filter:
    """The rows whose column compares so with a literal: none for null, which compares with nothing."""
    if literal.kind is Kind.NULL:
        return NEVER
    place = place_of(field, literal)
    if place is NAN:
        return _compared_with_nan(field, operator)
    compared = _compared(field, operator, place)
    beyond = operator in (Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)
    return any_of([compared, IsNan(field)]) if beyond and _is_floating(field) else compared


def one_of(field: Field, literals: Iterable[Literal]) -> Filter:
    """The rows whose column equals one of the literals; nothing equals a null among them."""
    places = [place_of(field, one) for one in literals if one.kind is not Kind.NULL]
    values = _values(places)
    listed: Filter = OneOf(field, values) if values else NEVER
    return any_of([listed, IsNan(field)]) if NAN in places else listed


def none_of(field: Field, literals: Iterable[Literal]) -> Filter:
    """The rows whose column differs from every literal: none if one of them is null, as SQL has it."""
    given = list(literals)
    places = [place_of(field, one) for one in given if one.kind is not Kind.NULL]
    values = _values(places)
    unlisted: Filter = NoneOf(field, values) if values else NotNull(field)
    if len(places) < len(given):
        return NEVER
    if NAN in places:
        return all_of([unlisted, NotNan(field)])
    return any_of([unlisted, IsNan(field)]) if _is_floating(field) else unlisted


def _values(places: Iterable[Place]) -> tuple[Value, ...]:
    values = [place.value for place in places if place is not NAN and place.value is not None]
    return tuple(dict.fromkeys(values))


def _is_floating(field: Field) -> bool:
    return field.type in (FLOAT, DOUBLE)


def _compared_with_nan(field: Field, operator: Operator) -> Filter:
    match operator:
        case Operator.EQUAL | Operator.GREATER_OR_EQUAL:
            return IsNan(field)
        case Operator.NOT_EQUAL | Operator.LESS:
            return NotNan(field)
        case Operator.LESS_OR_EQUAL:
            return NotNull(field)
        case Operator.GREATER:
            return NEVER


def _compared(field: Field, operator: Operator, place: Place) -> Filter:
    if place.value is not None:
        return Comparison(field, operator, place.value)
    match operator:
        case Operator.EQUAL:
            return NEVER
        case Operator.NOT_EQUAL:
            return NotNull(field)
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return _up_to(field, place)
        case Operator.GREATER | Operator.GREATER_OR_EQUAL:
            return _from(field, place)


def _up_to(field: Field, place: Place) -> Filter:
    if place.below is None:
        return NEVER
    return Comparison(field, Operator.LESS_OR_EQUAL, place.below) if place.above is not None else NotNull(field)


def _from(field: Field, place: Place) -> Filter:
    if place.above is None:
        return NEVER
    return Comparison(field, Operator.GREATER_OR_EQUAL, place.above) if place.below is not None else NotNull(field)
