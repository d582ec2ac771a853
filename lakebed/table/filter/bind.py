"""Binding a condition to a schema: columns are found by name, and literals become values of exactly their types.

NOT is carried to the leaves on the way, so a condition is bound either to the rows for which it is true or to those for
which it is false; rows for which it is unknown are in neither. `filter` has the rules for nulls and NaN.
"""

from collections.abc import Iterable
from dataclasses import replace

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter.condition import AllOf, AnyOf, Compares, Condition, Flag, In, Matches, Names, Nan, Not, Null
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
    leaves_of,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.filter.literals import NAN, Kind, Literal, Place, place_of
from lakebed.table.filter.parse import ADVICE, parse_condition
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.sql.tree import short
from lakebed.table.types.types import BOOLEAN, DOUBLE, FLOAT, STRING, Field, List, Map, Struct, Way

TERMS = 500  # Arrow recurses for every term and crashes at the stack's end: 500 pass in 512 kB, 1,000 do not

_TRUE = Literal(Kind.BOOLEAN, "true")


def bind(condition: str | Condition, schema: Schema) -> Filter:
    """The filter that a condition, given as text or built in Python, is for a schema.

    Columns' names are compared without case. A timestamp without a zone is UTC where the column holds instants.
    `Invalid` names a column that does not exist, or whose type does not fit the condition.
    """
    asked = parse_condition(condition) if isinstance(condition, str) else condition
    if not isinstance(asked, Condition):
        expected = 'text such as "price > 10", or a condition such as col("price") > 10'
        raise Invalid("this is not a filter", expected=expected, found=f"{asked!r} of type {type(asked).__name__}")
    try:
        filter = _where_true(asked, schema)
    except RecursionError as error:
        raise TooLarge("a filter is nested too deeply") from error
    if (terms := sum(1 for _ in leaves_of(filter))) > TERMS:
        advice = "Use IN (…) for many values of one column."
        raise TooLarge("a filter has too many terms", expected=f"at most {TERMS}", found=terms, advice=advice)
    return filter


def parse_filter(text: str, schema: Schema) -> Filter:
    """The filter that a text means for a schema; `Invalid` for text that can't be a filter, and as `bind` has it."""
    return bind(parse_condition(text), schema)


def _where_true(condition: Condition, schema: Schema) -> Filter:
    """The rows for which a condition is true."""
    match condition._settled():
        case Not(inner):
            return _where_false(inner, schema)
        case AllOf(parts):
            return all_of([_where_true(part, schema) for part in parts])
        case AnyOf(parts):
            return any_of([_where_true(part, schema) for part in parts])
        case Compares(names, operator, literal):
            return _compare(_way(names, schema), operator, literal)
        case In(names, literals):
            return _one_of(_way(names, schema), literals)
        case Matches(names, pattern):
            return _like(_way(names, schema), pattern)
        case Null(names):
            return _is_null(_way(names, schema))
        case Nan(names):
            return _is_nan(_way(names, schema))
        case Flag(names):
            return _compare(_flag_way(names, schema), Operator.EQUAL, _TRUE)
        case other:
            raise _unknown(other)


def _where_false(condition: Condition, schema: Schema) -> Filter:
    """The rows for which a condition is false."""
    match condition._settled():
        case Not(inner):
            return _where_true(inner, schema)
        case AllOf(parts):
            return any_of([_where_false(part, schema) for part in parts])
        case AnyOf(parts):
            return all_of([_where_false(part, schema) for part in parts])
        case Compares(names, operator, literal):
            return _compare(_way(names, schema), operator.negated, literal)
        case In(names, literals):
            return _none_of(_way(names, schema), literals)
        case Matches(names, pattern):
            return _not_like(_way(names, schema), pattern)
        case Null(names):
            return _not_null(_way(names, schema))
        case Nan(names):
            return _not_nan(_way(names, schema))
        case Flag(names):
            return _compare(_flag_way(names, schema), Operator.NOT_EQUAL, _TRUE)
        case other:
            raise _unknown(other)


def _unknown(condition: Condition) -> Invalid:
    return Invalid("this is not a filter", subject=short(repr(condition)), expected="a condition made from lakebed.col")


def _way(names: Names, schema: Schema) -> Way:
    way = (schema.field(names[0]),) if len(names) == 1 else schema.way(names)
    if any(isinstance(outer.type, List | Map) for outer in way[:-1]):
        raise Invalid("a filter can't look into lists and maps", subject=repr(dotted_path(way)), advice=ADVICE)
    if isinstance(way[-1].type, List | Map | Struct):
        raise Invalid(
            "a filter can't test this type of column", subject=repr(dotted_path(way)), found=way[-1].type, advice=ADVICE
        )
    return way


def _flag_way(names: Names, schema: Schema) -> Way:
    way = _way(names, schema)
    if way[-1].type != BOOLEAN:
        raise Invalid(
            "a column alone is a condition only if it is boolean",
            subject=f"column {dotted_path(way)!r}",
            found=way[-1].type,
            advice="Compare it with a literal, or use IS NOT NULL.",
        )
    return way


def _compare(way: Way, operator: Operator, literal: Literal) -> Filter:
    """The rows whose column compares so with a literal: none for null, which compares with nothing."""
    if literal.kind is Kind.NULL:
        return NEVER
    place = place_of(_with_full_name(way), literal)
    if place is NAN:
        return _compare_with_nan(way, operator)
    compared = _compare_with_place(way, operator, place)
    includes_nan = operator in (Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)
    return any_of([compared, _is_nan(way)]) if includes_nan and _is_floating(way) else compared


def _compare_with_nan(way: Way, operator: Operator) -> Filter:
    match operator:
        case Operator.EQUAL | Operator.GREATER_OR_EQUAL:
            return _is_nan(way)
        case Operator.NOT_EQUAL | Operator.LESS:
            return NotNan(way[-1], inside=way[:-1])
        case Operator.LESS_OR_EQUAL:
            return _not_null(way)
        case Operator.GREATER:
            return NEVER


def _compare_with_place(way: Way, operator: Operator, place: Place) -> Filter:
    if place.value is not None:
        return Comparison(way[-1], operator, place.value, inside=way[:-1])
    match operator:
        case Operator.EQUAL:
            return NEVER
        case Operator.NOT_EQUAL:
            return _not_null(way)
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return _below(way, place)
        case Operator.GREATER | Operator.GREATER_OR_EQUAL:
            return _above(way, place)


def _below(way: Way, place: Place) -> Filter:
    if place.below is None:
        return NEVER
    if place.above is None:
        return _not_null(way)
    return Comparison(way[-1], Operator.LESS_OR_EQUAL, place.below, inside=way[:-1])


def _above(way: Way, place: Place) -> Filter:
    if place.above is None:
        return NEVER
    if place.below is None:
        return _not_null(way)
    return Comparison(way[-1], Operator.GREATER_OR_EQUAL, place.above, inside=way[:-1])


def _one_of(way: Way, literals: Iterable[Literal]) -> Filter:
    """The rows whose column equals one of the literals; nothing equals a null among them."""
    column = _with_full_name(way)
    places = [place_of(column, literal) for literal in literals if literal.kind is not Kind.NULL]
    values = _values(places)
    listed: Filter = OneOf(way[-1], values, inside=way[:-1]) if values else NEVER
    return any_of([listed, _is_nan(way)]) if NAN in places else listed


def _none_of(way: Way, literals: Iterable[Literal]) -> Filter:
    """The rows whose column differs from every literal: no rows if a literal is null, as in SQL."""
    given, column = list(literals), _with_full_name(way)
    places = [place_of(column, literal) for literal in given if literal.kind is not Kind.NULL]
    values = _values(places)
    unlisted: Filter = NoneOf(way[-1], values, inside=way[:-1]) if values else _not_null(way)
    if len(places) < len(given):
        return NEVER
    if NAN in places:
        return all_of([unlisted, NotNan(way[-1], inside=way[:-1])])
    return any_of([unlisted, _is_nan(way)]) if _is_floating(way) else unlisted


def _like(way: Way, pattern: Pattern) -> Filter:
    """The rows whose text matches a pattern."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.EQUAL, pattern.prefix, inside=way[:-1])
    return _not_null(way) if _matches_all(pattern) else Like(way[-1], pattern, inside=way[:-1])


def _not_like(way: Way, pattern: Pattern) -> Filter:
    """The rows whose text does not match a pattern; null does neither."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.NOT_EQUAL, pattern.prefix, inside=way[:-1])
    return NEVER if _matches_all(pattern) else NotLike(way[-1], pattern, inside=way[:-1])


def _is_null(way: Way) -> Filter:
    return IsNull(way[-1], inside=way[:-1])


def _not_null(way: Way) -> Filter:
    return NotNull(way[-1], inside=way[:-1])


def _is_nan(way: Way) -> Filter:
    _check_floating(way)
    return IsNan(way[-1], inside=way[:-1])


def _not_nan(way: Way) -> Filter:
    """The rows whose column is not NaN, nulls included: `isnan` of null is false, not unknown."""
    _check_floating(way)
    return any_of([_is_null(way), NotNan(way[-1], inside=way[:-1])])


def _with_full_name(way: Way) -> Field:
    """The column, named by its whole path for the sake of errors."""
    return way[-1] if len(way) == 1 else replace(way[-1], name=dotted_path(way))


def _values(places: Iterable[Place]) -> tuple[Value, ...]:
    values = [place.value for place in places if place is not NAN and place.value is not None]
    return tuple(dict.fromkeys(values))


def _is_floating(way: Way) -> bool:
    return way[-1].type in (FLOAT, DOUBLE)


def _matches_all(pattern: Pattern) -> bool:
    return pattern.is_prefix and not pattern.prefix


def _check_floating(way: Way) -> None:
    if not _is_floating(way):
        raise _unfit(way, "a column of type float or double", "NaN")


def _check_text(way: Way, pattern: Pattern) -> None:
    if way[-1].type != STRING:
        raise _unfit(way, "a column of type string", f"LIKE '{pattern}'")


def _unfit(way: Way, expected: str, found: str) -> Invalid:
    return Invalid(
        "a filter's test does not fit the column's type",
        subject=f"column {dotted_path(way)!r} of type {way[-1].type}",
        expected=expected,
        found=found,
    )
