"""Binding a condition to a schema: its columns are found, and its literals become values of exactly their types."""

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


def compare(way: Way, operator: Operator, literal: Literal) -> Filter:
    """The rows whose column compares so with a literal: none for null, which compares with nothing."""
    if literal.kind is Kind.NULL:
        return NEVER
    place = place_of(_named(way), literal)
    if place is NAN:
        return _compared_with_nan(way, operator)
    compared = _compared(way, operator, place)
    beyond = operator in (Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL)
    return any_of([compared, is_nan(way)]) if beyond and _is_floating(way) else compared


def one_of(way: Way, literals: Iterable[Literal]) -> Filter:
    """The rows whose column equals one of the literals; nothing equals a null among them."""
    named = _named(way)
    places = [place_of(named, one) for one in literals if one.kind is not Kind.NULL]
    values = _values(places)
    listed: Filter = OneOf(way[-1], values, inside=way[:-1]) if values else NEVER
    return any_of([listed, is_nan(way)]) if NAN in places else listed


def none_of(way: Way, literals: Iterable[Literal]) -> Filter:
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


def like(way: Way, pattern: Pattern) -> Filter:
    """The rows whose text matches a pattern."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.EQUAL, pattern.prefix, inside=way[:-1])
    return not_null(way) if _is_anything(pattern) else Like(way[-1], pattern, inside=way[:-1])


def not_like(way: Way, pattern: Pattern) -> Filter:
    """The rows that have a text which does not match a pattern."""
    _check_text(way, pattern)
    if pattern.is_exact:
        return Comparison(way[-1], Operator.NOT_EQUAL, pattern.prefix, inside=way[:-1])
    return NEVER if _is_anything(pattern) else NotLike(way[-1], pattern, inside=way[:-1])


def is_null(way: Way) -> Filter:
    """The rows without a value in the column."""
    return IsNull(way[-1], inside=way[:-1])


def not_null(way: Way) -> Filter:
    """The rows with a value in the column."""
    return NotNull(way[-1], inside=way[:-1])


def is_nan(way: Way) -> Filter:
    """The rows whose column is not a number; `Invalid` if it is no column of floating-point numbers."""
    _check_floating(way)
    return IsNan(way[-1], inside=way[:-1])


def not_nan(way: Way) -> Filter:
    """The rows whose column is anything but NaN, those without a value too: of null `isnan` is false, not unknown."""
    _check_floating(way)
    return any_of([is_null(way), NotNan(way[-1], inside=way[:-1])])


def _named(way: Way) -> Field:
    """The column by its whole path, for what errors say of it."""
    return way[-1] if len(way) == 1 else replace(way[-1], name=dotted_path(way))


def _values(places: Iterable[Place]) -> tuple[Value, ...]:
    values = [place.value for place in places if place is not NAN and place.value is not None]
    return tuple(dict.fromkeys(values))


def _is_floating(way: Way) -> bool:
    return way[-1].type in (FLOAT, DOUBLE)


def _is_anything(pattern: Pattern) -> bool:
    return pattern.is_prefix and not pattern.prefix


def _check_floating(way: Way) -> None:
    if not _is_floating(way):
        raise _misplaced(way, "a column of type float or double", "NaN")


def _check_text(way: Way, pattern: Pattern) -> None:
    if way[-1].type != STRING:
        raise _misplaced(way, "a column of type string", f"LIKE '{pattern}'")


def _misplaced(way: Way, expected: str, found: str) -> Invalid:
    return Invalid(
        "a filter tests a column for what its type does not have",
        subject=f"column {dotted_path(way)!r} of type {way[-1].type}",
        expected=expected,
        found=found,
    )


def _compared_with_nan(way: Way, operator: Operator) -> Filter:
    match operator:
        case Operator.EQUAL | Operator.GREATER_OR_EQUAL:
            return is_nan(way)
        case Operator.NOT_EQUAL | Operator.LESS:
            return NotNan(way[-1], inside=way[:-1])
        case Operator.LESS_OR_EQUAL:
            return not_null(way)
        case Operator.GREATER:
            return NEVER


def _compared(way: Way, operator: Operator, place: Place) -> Filter:
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


def _up_to(way: Way, place: Place) -> Filter:
    if place.below is None:
        return NEVER
    if place.above is None:
        return not_null(way)
    return Comparison(way[-1], Operator.LESS_OR_EQUAL, place.below, inside=way[:-1])


def _from(way: Way, place: Place) -> Filter:
    if place.above is None:
        return NEVER
    if place.below is None:
        return not_null(way)
    return Comparison(way[-1], Operator.GREATER_OR_EQUAL, place.above, inside=way[:-1])


# Arrow recurses for every term, and ends the process where the stack ends: 500 pass in 512 kB, 1,000 do not.
TERMS = 500

_TRUE = Literal(Kind.BOOLEAN, "true")


def bind(condition: str | Condition, schema: Schema) -> Filter:
    """The filter that a condition, in words or built in Python, is for a schema.

    Columns' names are compared without case. A timestamp without a zone is one in UTC where the column has instants.
    `Invalid` names the column that is not there, or whose type the condition does not fit.
    """
    asked = parse_condition(condition) if isinstance(condition, str) else condition
    if not isinstance(asked, Condition):
        expected = 'text such as "price > 10", or a condition such as col("price") > 10'
        raise Invalid("this is no filter", expected=expected, found=f"{asked!r} of type {type(asked).__name__}")
    try:
        filter = _true(asked, schema)
    except RecursionError as error:
        raise TooLarge("a filter is nested too deeply") from error
    if (terms := sum(1 for _ in leaves_of(filter))) > TERMS:
        advice = "Use IN (…) for many values of one column"
        raise TooLarge("a filter has too many terms", expected=f"at most {TERMS}", found=terms, advice=advice)
    return filter


def _true(condition: Condition, schema: Schema) -> Filter:
    """The rows for which a condition is true."""
    match condition._settled():
        case Not(inner):
            return _false(inner, schema)
        case AllOf(parts):
            return all_of([_true(part, schema) for part in parts])
        case AnyOf(parts):
            return any_of([_true(part, schema) for part in parts])
        case Compares(names, operator, literal):
            return compare(_way(names, schema), operator, literal)
        case In(names, literals):
            return one_of(_way(names, schema), literals)
        case Matches(names, pattern):
            return like(_way(names, schema), pattern)
        case Null(names):
            return is_null(_way(names, schema))
        case Nan(names):
            return is_nan(_way(names, schema))
        case Flag(names):
            return compare(_flag(names, schema), Operator.EQUAL, _TRUE)
        case other:
            raise _unknown(other)


def _false(condition: Condition, schema: Schema) -> Filter:
    """The rows for which a condition is false: those for which it is unknown are in neither."""
    match condition._settled():
        case Not(inner):
            return _true(inner, schema)
        case AllOf(parts):
            return any_of([_false(part, schema) for part in parts])
        case AnyOf(parts):
            return all_of([_false(part, schema) for part in parts])
        case Compares(names, operator, literal):
            return compare(_way(names, schema), operator.negated, literal)
        case In(names, literals):
            return none_of(_way(names, schema), literals)
        case Matches(names, pattern):
            return not_like(_way(names, schema), pattern)
        case Null(names):
            return not_null(_way(names, schema))
        case Nan(names):
            return not_nan(_way(names, schema))
        case Flag(names):
            return compare(_flag(names, schema), Operator.NOT_EQUAL, _TRUE)
        case other:
            raise _unknown(other)


def _way(names: Names, schema: Schema) -> Way:
    way = (schema.field(names[0]),) if len(names) == 1 else schema.way(names)
    if any(isinstance(one.type, List | Map) for one in way[:-1]):
        raise Invalid("a filter can't look into lists and maps", subject=repr(dotted_path(way)), advice=ADVICE)
    if isinstance(way[-1].type, List | Map | Struct):
        raise Invalid(
            "a filter can't test this type of column", subject=repr(dotted_path(way)), found=way[-1].type, advice=ADVICE
        )
    return way


def _flag(names: Names, schema: Schema) -> Way:
    way = _way(names, schema)
    if way[-1].type != BOOLEAN:
        raise Invalid(
            "a column alone is a condition only if it is boolean",
            subject=f"column {dotted_path(way)!r}",
            found=way[-1].type,
            advice="Compare it with a literal, or use IS NOT NULL",
        )
    return way


def _unknown(condition: Condition) -> Invalid:
    return Invalid("this is no filter", subject=short(repr(condition)), expected="a condition made from lakebed.col")


def parse_filter(text: str, schema: Schema) -> Filter:
    """The filter that a text means for a schema; `Invalid` for what it can't say, or for columns that are not there.

    Columns' names are compared without case. A timestamp without a zone is one in UTC where the column has instants.
    """
    return bind(parse_condition(text), schema)
