"""Conditions in a query's WHERE that hold for every row of a table that can matter: files that can't pass stay unread.

They are handed to the read in addition: Spark still filters by the whole WHERE. They are parts of the query's tree;
those that say too much are left out. `lakebed.table.expression.conjuncts` cuts a text instead, and keeps every piece.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.errors import LakebedError
from lakebed.spark.rows.where import VARIABLE
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


def conjuncts(words: Words, table: "Node") -> Iterator[Condition]:
    """The conditions on a table's columns alone that its SELECT joins by AND, if no outer join can bring rows back."""
    from sqlglot.expressions import Column

    select = _select_of(table)
    is_other = VARIABLE in words.text or any(one.reads("|>") for one in words.words)
    where = None if select is None or is_other else select.args.get("where")
    if select is None or where is None:
        return
    shared = _shared(select)
    own = (table.alias or table.name.partition("@")[0]).casefold()
    texts = _plain_texts(words)
    for part in _parts(where.this):
        copy = part.copy()
        columns = list(copy.find_all(Column))
        if not all(_is_own(one, own, shared) for one in columns):
            continue
        for one in columns:
            one.set("table", None)
        condition = _condition(copy)
        if condition is not None and (texts or not any(_is_text(one) for one in _literals(condition))):
            yield condition


def _parts(node: "Node") -> list["Node"]:
    """What AND joins, in parentheses too."""
    inner = bare(node)
    return [part for one in chained(inner) for part in _parts(one)] if inner.key == "and" else [inner]


def _select_of(table: "Node") -> "Node | None":
    """The SELECT whose WHERE sees all rows of the table, None if there is none."""
    from sqlglot.expressions import Pivot, TableSample

    if {name for name, value in table.args.items() if value} - _PLAIN_TABLE:
        return None  # a sample, a pivot: these come before the filter
    if table.args.get("alias") is not None and table.args["alias"].args.get("columns"):
        return None  # its columns are called otherwise
    parent = table.parent
    if parent is None or parent.key not in ("from", "join") or parent.parent is None or parent.parent.key != "select":
        return None
    select = parent.parent
    if select.find(Pivot, TableSample):
        return None  # of a join, which may give columns other values
    joins = select.args.get("joins") or []
    if all(_is_inner(one) for one in joins):
        return select
    return select if parent.key == "from" and all(_keeps_left(one) for one in joins) else None


def _is_inner(join: "Node") -> bool:
    return not join.args.get("side") and str(join.args.get("kind") or "").upper() in ("", "INNER", "CROSS")


def _keeps_left(join: "Node") -> bool:
    return _is_inner(join) or str(join.args.get("side") or "").upper() == "LEFT"


def _shared(select: "Node") -> frozenset[str] | None:
    """The columns that USING names: without a table before them, Spark takes them from one side. None: any may be."""
    joins = select.args.get("joins") or []
    if any(str(one.args.get("method") or "").upper() == "NATURAL" for one in joins):
        return None
    return frozenset(name.name.casefold() for one in joins for name in one.args.get("using") or [])


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
        return None  # it says more than statistics could answer


def _plain_texts(words: Words) -> bool:
    """Whether all texts mean what stands between their quotes: escapes are Spark's to read, and double quotes too."""
    texts = (words.text[one.start + 1 : one.end - 1] for one in words.words if one.kind is Kind.STRING)
    quotes = all(words.text[one.start] == "'" for one in words.words if one.kind is Kind.STRING)
    return quotes and not any("\\" in one or "'" in one for one in texts)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The kinds of literals that a session compares with days and with times as such, and as Lakebed does."""

    days: frozenset[LiteralKind]
    times: frozenset[LiteralKind]


def prunable(conditions: Iterable[Condition], schema: Schema, utc: bool, ansi: bool) -> Condition | None:
    """Of these conditions, those that mean exactly what Spark takes them for; None if there is none.

    `utc` says whether the session's zone is UTC, which a time without a zone is in here; `ansi` whether it compares
    a time with a text as a time.
    """
    texts = frozenset({LiteralKind.STRING}) if ansi else frozenset[LiteralKind]()
    days = texts | {LiteralKind.DATE}
    times = texts | {LiteralKind.TIMESTAMP} if utc else frozenset[LiteralKind]()
    reading = _Reading(days, times)
    found = [one for one in conditions if _is_alike(one, schema, reading) and _binds(one, schema)]
    return all_conditions(found) if found else None


def _binds(condition: Condition, schema: Schema) -> bool:
    try:
        bind(condition, schema)
    except LakebedError:
        return False
    return True


def _is_alike(condition: Condition, schema: Schema, reading: _Reading) -> bool:
    match condition:
        case Not(inner):
            return _is_alike(inner, schema, reading)
        case AllOf(parts) | AnyOf(parts):
            return all(_is_alike(one, schema, reading) for one in parts)
        case Compares(names, _, literal):
            return _means_alike(names, (literal,), schema, reading)
        case In(names, literals):
            return _means_alike(names, literals, schema, reading)
        case Null(names):
            return _column_type(names, schema) is not None
        case Flag(names):
            return _column_type(names, schema) == BOOLEAN
        case _:
            return False


def _column_type(names: tuple[str, ...], schema: Schema) -> Type | None:
    """The type of a column that is called exactly so: in a case-sensitive session another case is another name."""
    return next((one.type for one in schema.fields if names == (one.name,)), None)


def _means_alike(names: tuple[str, ...], literals: tuple[Literal, ...], schema: Schema, reading: _Reading) -> bool:
    type = _column_type(names, schema)
    return type is not None and all(_reads_alike(one, type, reading) for one in literals)


_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?")
_DIGITS = 38


def _reads_alike(literal: Literal, type: Type, reading: _Reading) -> bool:
    text, kind = literal.text, literal.kind
    if type in (INT, LONG):
        return kind is LiteralKind.NUMBER and bool(_WHOLE.fullmatch(text))
    if isinstance(type, Decimal):
        return kind is LiteralKind.NUMBER and bool(_NUMBER.fullmatch(text)) and len(text) + type.precision <= _DIGITS
    if type == STRING:
        return kind is LiteralKind.STRING
    if type == DATE:
        return kind in reading.days and bool(_DAY.fullmatch(text))
    if type in (TIMESTAMP, TIMESTAMPTZ):
        return kind in reading.times and bool(_TIME.fullmatch(text))
    return False


def _literals(condition: Condition) -> Iterator[Literal]:
    match condition:
        case Not(inner):
            yield from _literals(inner)
        case AllOf(parts) | AnyOf(parts):
            for one in parts:
                yield from _literals(one)
        case Compares(_, _, literal):
            yield literal
        case In(_, literals):
            yield from literals


def _is_text(literal: Literal) -> bool:
    return literal.kind not in (LiteralKind.NUMBER, LiteralKind.BOOLEAN, LiteralKind.NULL)
