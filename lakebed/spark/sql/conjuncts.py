"""Conditions in a query's WHERE that every relevant row of a table passes, so that files without such rows stay unread.

The read gets them in addition: Spark still filters by the whole WHERE. They are parts of the query's tree; conditions
that statistics can't use are left out. `lakebed.table.expression.conjuncts` cuts a text instead, and keeps every piece.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.errors import LakebedError
from lakebed.spark.sql.tokens import Kind, Words
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import AllOf, AnyOf, Compares, Condition, Flag, In, Not, Null, all_conditions
from lakebed.table.filter.literals import Kind as LiteralKind
from lakebed.table.filter.literals import Literal
from lakebed.table.filter.parse import tree_condition
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.tree import bare, chained
from lakebed.table.types.types import BOOLEAN, DATE, INT, LONG, STRING, TIMESTAMP, TIMESTAMPTZ, Decimal, Type

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

_PLAIN_TABLE = {"this", "db", "catalog", "alias"}
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?")
_DIGITS = 38


def conjuncts(words: Words, table: "Node") -> Iterator[Condition]:
    """The conditions on a table's columns alone that its SELECT joins by AND, unless an outer join may add rows."""
    from sqlglot.expressions import Column

    select = _select_of(table)
    is_unknown = any(word.reads("|>") for word in words.words)
    where = None if select is None or is_unknown else select.args.get("where")
    if select is None or where is None:
        return
    shared = _shared_columns(select)
    own = (table.alias or table.name.partition("@")[0]).casefold()
    texts = _has_plain_texts(words)
    for part in _parts(where.this):
        copy = part.copy()
        columns = list(copy.find_all(Column))
        if not all(_is_own(column, own, shared) for column in columns):
            continue
        for column in columns:
            column.set("table", None)
        condition = _condition(copy)
        if condition is not None and (texts or not any(_is_text(literal) for literal in _literals(condition))):
            yield condition


def _parts(node: "Node") -> list["Node"]:
    """The parts that AND joins, also in parentheses."""
    inner = bare(node)
    return [part for child in chained(inner) for part in _parts(child)] if inner.key == "and" else [inner]


def _select_of(table: "Node") -> "Node | None":
    """The SELECT whose WHERE sees all rows of the table, if there is one."""
    from sqlglot.expressions import Pivot, TableSample

    if {name for name, value in table.args.items() if value} - _PLAIN_TABLE:
        return None  # a sample, a pivot: these come before the filter
    if table.args.get("alias") is not None and table.args["alias"].args.get("columns"):
        return None  # its columns have other names
    parent = table.parent
    if parent is None or parent.key not in ("from", "join") or parent.parent is None or parent.parent.key != "select":
        return None
    select = parent.parent
    if select.find(Pivot, TableSample):
        return None  # in a join, which may change values of columns
    joins = select.args.get("joins") or []
    if all(_is_inner(join) for join in joins):
        return select
    return select if parent.key == "from" and all(_keeps_left(join) for join in joins) else None


def _is_inner(join: "Node") -> bool:
    return not join.args.get("side") and str(join.args.get("kind") or "").upper() in ("", "INNER", "CROSS")


def _keeps_left(join: "Node") -> bool:
    return _is_inner(join) or str(join.args.get("side") or "").upper() == "LEFT"


def _shared_columns(select: "Node") -> frozenset[str] | None:
    """The columns that USING names, which Spark takes from one side if no table stands before them; None for all."""
    joins = select.args.get("joins") or []
    if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins):
        return None
    return frozenset(name.name.casefold() for join in joins for name in join.args.get("using") or [])


def _is_own(column: "Node", own: str, shared: frozenset[str] | None) -> bool:
    if column.args.get("db"):
        return False
    qualifier = column.text("table").partition("@")[0].casefold()
    if qualifier:
        return qualifier == own
    return shared is not None and column.name.casefold() not in shared


def _condition(node: "Node") -> Condition | None:
    try:
        return tree_condition(node)
    except (LakebedError, RecursionError):
        return None  # statistics can't answer it


def _has_plain_texts(words: Words) -> bool:
    """Whether all texts mean what stands between their quotes: only Spark can read escapes and double quotes."""
    strings = [word for word in words.words if word.kind is Kind.STRING]
    texts = (words.text[word.start + 1 : word.end - 1] for word in strings)
    quotes = all(words.text[word.start] == "'" for word in strings)
    return quotes and not any("\\" in text or "'" in text for text in texts)


@dataclass(frozen=True, slots=True)
class _LiteralRules:
    """The kinds of literals that a session compares with dates and with times in the same way as Lakebed."""

    days: frozenset[LiteralKind]
    times: frozenset[LiteralKind]


def prunable(conditions: Iterable[Condition], schema: Schema, utc: bool, ansi: bool) -> Condition | None:
    """The conditions that mean exactly the same to Lakebed and to Spark; None if there are none.

    `utc` says whether the session's zone is UTC, Lakebed's zone for a time without one; `ansi` whether it compares a
    time with a text as a time.
    """
    texts = frozenset({LiteralKind.STRING}) if ansi else frozenset[LiteralKind]()
    days = texts | {LiteralKind.DATE}
    times = texts | {LiteralKind.TIMESTAMP} if utc else frozenset[LiteralKind]()
    rules = _LiteralRules(days, times)
    found = [each for each in conditions if _means_the_same(each, schema, rules) and _binds(each, schema)]
    return all_conditions(found) if found else None


def _binds(condition: Condition, schema: Schema) -> bool:
    try:
        bind(condition, schema)
    except LakebedError:
        return False
    return True


def _means_the_same(condition: Condition, schema: Schema, rules: _LiteralRules) -> bool:
    match condition:
        case Not(inner):
            return _means_the_same(inner, schema, rules)
        case AllOf(parts) | AnyOf(parts):
            return all(_means_the_same(part, schema, rules) for part in parts)
        case Compares(names, _, literal):
            return _compares_the_same(names, (literal,), schema, rules)
        case In(names, literals):
            return _compares_the_same(names, literals, schema, rules)
        case Null(names):
            return _column_type(names, schema) is not None
        case Flag(names):
            return _column_type(names, schema) == BOOLEAN
        case _:
            return False


def _column_type(names: tuple[str, ...], schema: Schema) -> Type | None:
    """The type of the column with exactly this name: in a case-sensitive session another case is another name."""
    return next((field.type for field in schema.fields if names == (field.name,)), None)


def _compares_the_same(
    names: tuple[str, ...], literals: tuple[Literal, ...], schema: Schema, rules: _LiteralRules
) -> bool:
    type = _column_type(names, schema)
    return type is not None and all(_reads_the_same(literal, type, rules) for literal in literals)


def _reads_the_same(literal: Literal, type: Type, rules: _LiteralRules) -> bool:
    text, kind = literal.text, literal.kind
    if type in (INT, LONG):
        return kind is LiteralKind.NUMBER and bool(_WHOLE.fullmatch(text))
    if isinstance(type, Decimal):
        return kind is LiteralKind.NUMBER and bool(_NUMBER.fullmatch(text)) and len(text) + type.precision <= _DIGITS
    if type == STRING:
        return kind is LiteralKind.STRING
    if type == DATE:
        return kind in rules.days and bool(_DAY.fullmatch(text))
    if type in (TIMESTAMP, TIMESTAMPTZ):
        return kind in rules.times and bool(_TIME.fullmatch(text))
    return False


def _literals(condition: Condition) -> Iterator[Literal]:
    match condition:
        case Not(inner):
            yield from _literals(inner)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _literals(part)
        case Compares(_, _, literal):
            yield literal
        case In(_, literals):
            yield from literals


def _is_text(literal: Literal) -> bool:
    return literal.kind not in (LiteralKind.NUMBER, LiteralKind.BOOLEAN, LiteralKind.NULL)
