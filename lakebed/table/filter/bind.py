"""Binding a condition to a schema: its columns are found, and its literals become values of exactly their types."""

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter.condition import (
    AllOf,
    AnyOf,
    Compares,
    Condition,
    Flag,
    In,
    Matches,
    Names,
    Nan,
    Not,
    Null,
)
from lakebed.table.filter.filter import Filter, Operator, all_of, any_of, leaves_of
from lakebed.table.filter.literals import Kind, Literal
from lakebed.table.filter.parse import ADVICE, parse_condition
from lakebed.table.filter.terms import (
    compare,
    is_nan,
    is_null,
    like,
    none_of,
    not_like,
    not_nan,
    not_null,
    one_of,
)
from lakebed.table.schema.schema import Schema, shown
from lakebed.table.sql.tree import short
from lakebed.table.types.parts import Parts
from lakebed.table.types.types import BOOLEAN, List, Map, Struct

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


def _way(names: Names, schema: Schema) -> Parts:
    way = (schema.field(names[0]),) if len(names) == 1 else schema.way(names)
    if any(isinstance(one.type, List | Map) for one in way[:-1]):
        raise Invalid("a filter can't look into lists and maps", subject=repr(shown(way)), advice=ADVICE)
    if isinstance(way[-1].type, List | Map | Struct):
        raise Invalid(
            "a filter can't test this type of column", subject=repr(shown(way)), found=way[-1].type, advice=ADVICE
        )
    return way


def _flag(names: Names, schema: Schema) -> Parts:
    way = _way(names, schema)
    if way[-1].type != BOOLEAN:
        raise Invalid(
            "a column alone is a condition only if it is boolean",
            subject=f"column {shown(way)!r}",
            found=way[-1].type,
            advice="Compare it with a literal, or use IS NOT NULL",
        )
    return way


def _unknown(condition: Condition) -> Invalid:
    return Invalid("this is no filter", subject=short(repr(condition)), expected="a condition made from lakebed.col")
