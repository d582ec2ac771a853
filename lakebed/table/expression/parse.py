"""Expressions in words: the part of Spark's SQL that the local engine calculates as Spark does."""

import decimal
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lakebed.errors import Invalid, TooLarge
from lakebed.table.expression import build as building
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.expression import VOID, Casting, Constant, Expression, Function, levels_of
from lakebed.table.expression.scope import Scope
from lakebed.table.expression.types import DIGITS
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import ESCAPE, parse_pattern
from lakebed.table.sql.casts import parse_date, parse_timestamp
from lakebed.table.sql.tree import arguments_of, bare, chained, names_of, short, shown_node, sql_tree, sql_type
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Type,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node


_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_LENGTH = 400  # no type holds so many digits, and Python refuses to read them without a limit


def number_literal(text: str) -> Constant:
    """A number: an int if it is one, a long, else a decimal; with an exponent a double."""
    if len(text) > _LENGTH or not _NUMBER.fullmatch(text):
        raise Invalid("this is no number", subject=repr(text[:40]))
    if "e" in text.lower():
        return Constant(_double(text), DOUBLE)
    if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return Constant(int(text), INT if -(2**31) <= int(text) < 2**31 else LONG)
    return _decimal_literal(decimal.Decimal(text))


def _double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Invalid("a number is beyond those of a double", subject=text)
    return number


def _decimal_literal(number: decimal.Decimal) -> Constant:
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits), scale)
    if precision > DIGITS:
        raise Invalid("a number has too many digits", subject=str(number), expected=f"at most {DIGITS}")
    return Constant(number, Decimal(precision, scale))


def hex_literal(text: str) -> Constant:
    """Bytes, written `X'00ff'`."""
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise Invalid("these are no bytes", subject=f"X'{text}'", expected="two digits for each, as X'00ff'")
    return Constant(bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}"), BINARY)


def typed_literal(node: "Node", type: Type) -> Constant | None:
    """A literal that is cast, as sqlglot has `DATE '2026-01-31'`, `1L` and `0.5D`; None for what is calculated."""
    if not node.is_string:
        return _suffixed(node.this, type)
    value = _READ[type](node.this) if type in _READ else None
    return None if value is None else Constant(value, type)


def _suffixed(text: str, type: Type) -> Constant | None:
    if len(text) > _LENGTH or not _NUMBER.fullmatch(text):
        return None
    if type == DOUBLE:
        return Constant(_double(text), DOUBLE)
    if type == LONG and _WHOLE.fullmatch(text) and int(text) < 2**63:
        return Constant(int(text), LONG)
    return None


def _zoneless(text: str) -> int | None:
    found = parse_timestamp(text)
    return None if found is None else found.local


def _instant(text: str) -> int | None:
    found = parse_timestamp(text)
    return None if found is None else found.instant


_READ: dict[Type, Callable[[str], int | None]] = {DATE: parse_date, TIMESTAMP: _zoneless, TIMESTAMPTZ: _instant}


LEVELS = 150
"""How deep expressions may be inside one another: whoever calculates them recurses."""

_DAY_MICROS = 86_400_000_000
_LONGEST = 2**31 - 1  # what `substring` without a length means, as Spark has it


def parse_expression(text: str, scope: Scope) -> Expression:
    """The expression that a text means for some columns.

    `Invalid` for what can't be read, for a function that is not known, for columns that are not there, and for types
    that do not fit. Columns' names are compared without case.
    """
    try:
        found = _bound(sql_tree(text), scope)
    except RecursionError as error:
        raise TooLarge("an expression is nested too deeply", subject=short(text)) from error
    if (levels := levels_of(found)) > LEVELS:
        raise TooLarge(
            "an expression is nested too deeply", subject=short(text), expected=f"{LEVELS} levels", found=levels
        )
    return found


def parse_predicate(text: str | Condition, scope: Scope) -> Expression:
    """The expression that a condition means, in words or built from `lakebed.col`; `Invalid` if it is no condition."""
    return building.truth("a condition", parse_expression(str(text) if isinstance(text, Condition) else text, scope))


def _bound(node: "Node", scope: Scope) -> Expression:
    bind = _FORMS.get(node.key)
    if bind is None:
        raise _unknown(node)
    return bind(node, scope)


def _check(node: "Node", *allowed: str) -> None:
    if not set(arguments_of(node)) <= {*allowed}:
        raise _unknown(node)


def _unknown(node: "Node") -> Invalid:
    return Invalid(
        "the local engine does not know this expression",
        subject=shown_node(node),
        expected=f"arithmetic, comparisons, AND, OR, NOT, IS NULL, IN, BETWEEN, LIKE, CASE, CAST, {_KNOWN}",
        found=_name(node),
        advice=SPARK,
    )


def _name(node: "Node") -> str:
    if node.key == "anonymous":
        return node.name
    return str(node.sql_name()).lower() if hasattr(node, "sql_name") else node.key


_KNOWN = (
    "abs, ceil, coalesce, concat, current_date, current_timestamp, floor, greatest, if, isnan, isnull, isnotnull, "
    "least, length, localtimestamp, lower, ltrim, now, nullif, nvl, round, rtrim, substring, trim and upper"
)


def _column(node: "Node", scope: Scope) -> Expression:
    names = names_of(node)
    if names is None:
        raise _unknown(node)
    return scope.column(names)


def _literal(node: "Node", _: Scope) -> Expression:
    return Constant(node.this, STRING) if node.is_string else number_literal(node.this)


def _negative(node: "Node", scope: Scope) -> Expression:
    if node.this.key == "literal" and not node.this.is_string:
        return number_literal(f"-{node.this.this}")  # so that the least of all ints can be written
    return building.negated(_bound(node.this, scope))


def _calculated(function: Function) -> "_Form":
    def bind(node: "Node", scope: Scope) -> Expression:
        return building.calculated(function, _bound(node.this, scope), _bound(node.expression, scope))

    return bind


def _compared(operator: Operator) -> "_Form":
    def bind(node: "Node", scope: Scope) -> Expression:
        return building.compared(operator, _bound(node.this, scope), _bound(node.expression, scope))

    return bind


def _of_one(build: Callable[[Expression], Expression]) -> "_Form":
    def bind(node: "Node", scope: Scope) -> Expression:
        _check(node, "this")
        return build(_bound(node.this, scope))

    return bind


def _piped(node: "Node", scope: Scope) -> Expression:
    if node.expression.key in ("add", "sub"):
        # Spark takes + and || from left to right; the parser takes + first.
        raise Invalid("|| stands before + without parentheses", subject=shown_node(node), advice="Put them in.")
    return building.concatenated([_bound(one, scope) for one in (node.this, node.expression)])


def _concatenated(node: "Node", scope: Scope) -> Expression:
    return building.concatenated([_bound(one, scope) for one in node.expressions])


def _is(node: "Node", scope: Scope) -> Expression:
    value, wanted = _bound(node.this, scope), bare(node.expression)
    match wanted.key:
        case "null":
            return building.is_null(value)
        case "boolean":
            return building.same(building.truth("IS", value), Constant(bool(wanted.this), BOOLEAN))
        case _:
            raise _unknown(node)


def _same(node: "Node", scope: Scope) -> Expression:
    return building.same(_bound(node.this, scope), _bound(node.expression, scope))


def _membership(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "expressions")
    return building.one_of(_bound(node.this, scope), [_bound(one, scope) for one in node.expressions])


def _range(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "low", "high")
    value = _bound(node.this, scope)
    low = building.compared(Operator.GREATER_OR_EQUAL, value, _bound(node.args["low"], scope))
    high = building.compared(Operator.LESS_OR_EQUAL, value, _bound(node.args["high"], scope))
    return building.all_true([low, high])


def _likeness(node: "Node", scope: Scope) -> Expression:
    escape = ESCAPE
    like = node
    if node.key == "escape":
        escape, like = _text(node.expression), node.this
    if like.key != "like":
        raise _unknown(node)
    _check(like, "this", "expression", "negate")
    found = building.matches(_bound(like.this, scope), parse_pattern(_text(like.expression), escape))
    return building.negation(found) if like.args.get("negate") else found


def _text(node: "Node") -> str:
    node = bare(node)
    if node.key == "rawstring" or (node.key == "literal" and node.is_string):
        return str(node.this)
    raise Invalid("a pattern is a text", subject=shown_node(node), expected="'…'", advice=SPARK)


def _case(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "ifs", "default")
    given = _bound(node.this, scope) if node.this else None
    branches = []
    for one in node.args["ifs"]:
        condition = _bound(one.this, scope)
        if given is not None:
            condition = building.compared(Operator.EQUAL, given, condition)
        branches.append((condition, _bound(one.args["true"], scope)))
    return building.case(branches, _or_null(node.args.get("default"), scope))


def _if(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "true", "false")
    chosen = _bound(node.this, scope), _bound(node.args["true"], scope)
    return building.case([chosen], _or_null(node.args.get("false"), scope))


def _or_null(node: "Node | None", scope: Scope) -> Expression:
    return Constant(None, VOID) if node is None else _bound(node, scope)


def _coalesce(node: "Node", scope: Scope) -> Expression:
    return building.coalesce([_bound(one, scope) for one in (node.this, *node.expressions)])


def _null_if(node: "Node", scope: Scope) -> Expression:
    return building.null_if(_bound(node.this, scope), _bound(node.expression, scope))


def _cast(node: "Node", scope: Scope) -> Expression:
    type = sql_type(node.args["to"])
    if bare(node.this).key == "literal" and (literal := typed_literal(bare(node.this), type)) is not None:
        return literal
    # sqlglot's TryCast is Spark's CAST as well, which once gave null; only TRY_CAST is called safe.
    casting = Casting.TRY_CAST if node.args.get("safe") else Casting.CAST
    return building.cast(_bound(node.this, scope), type, casting)


def _trimmed(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "position")
    return building.of_text(_TRIMS[node.args.get("position") or "BOTH"], _bound(node.this, scope))


_TRIMS = {"BOTH": Function.TRIM, "LEADING": Function.LTRIM, "TRAILING": Function.RTRIM}


def _substring(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "start", "length")
    size = node.args.get("length")
    longest = Constant(_LONGEST, INT) if size is None else _bound(size, scope)
    return building.substring(_bound(node.this, scope), _bound(node.args["start"], scope), longest)


def _rounded(node: "Node", scope: Scope) -> Expression:
    _check(node, "this", "decimals")
    digits = Constant(0, INT) if node.args.get("decimals") is None else _bound(node.args["decimals"], scope)
    if not isinstance(digits, Constant) or digits.type != INT or digits.value is None:
        raise Invalid("a number is rounded to digits that are written down", subject=shown_node(node), advice=SPARK)
    return building.rounded(_bound(node.this, scope), digits.value)


def _extreme(function: Function) -> "_Form":
    def bind(node: "Node", scope: Scope) -> Expression:
        return building.extreme(function, [_bound(one, scope) for one in (node.this, *node.expressions)])

    return bind


def _named(node: "Node", scope: Scope) -> Expression:
    """A function that sqlglot does not know."""
    name, values = node.name.lower(), [_bound(one, scope) for one in node.expressions]
    match name, values:
        case "now", []:
            return Constant(scope.now, TIMESTAMPTZ)
        case "isnull", [value]:
            return building.is_null(value)
        case "isnotnull", [value]:
            return building.negation(building.is_null(value))
        case _:
            raise _unknown(node)


_Form = Callable[["Node", Scope], Expression]

# By the keys of sqlglot's tree.
_FUNCTIONS: dict[str, _Form] = {
    "abs": _of_one(building.absolute),
    "ceil": _of_one(lambda value: building.whole(Function.CEIL, value)),
    "coalesce": _coalesce,
    "concat": _concatenated,
    "currentdate": lambda _, scope: Constant(scope.now // _DAY_MICROS, DATE),
    "currenttimestamp": lambda _, scope: Constant(scope.now, TIMESTAMPTZ),
    "floor": _of_one(lambda value: building.whole(Function.FLOOR, value)),
    "greatest": _extreme(Function.GREATEST),
    "if": _if,
    "isnan": _of_one(building.is_nan),
    "least": _extreme(Function.LEAST),
    "length": _of_one(building.length),
    "localtimestamp": lambda _, scope: Constant(scope.now, TIMESTAMP),
    "lower": _of_one(lambda value: building.of_text(Function.LOWER, value)),
    "nullif": _null_if,
    "round": _rounded,
    "substring": _substring,
    "trim": _trimmed,
    "upper": _of_one(lambda value: building.of_text(Function.UPPER, value)),
}

_FORMS: dict[str, _Form] = _FUNCTIONS | {
    "paren": lambda node, scope: _bound(node.this, scope),
    "column": _column,
    "dot": _column,
    "literal": _literal,
    "rawstring": lambda node, _: Constant(node.this, STRING),
    "hexstring": lambda node, _: hex_literal(node.this),
    "boolean": lambda node, _: Constant(bool(node.this), BOOLEAN),
    "null": lambda _, __: Constant(None, VOID),
    "neg": _negative,
    "add": _calculated(Function.ADD),
    "sub": _calculated(Function.SUBTRACT),
    "mul": _calculated(Function.MULTIPLY),
    "div": _calculated(Function.DIVIDE),
    "mod": _calculated(Function.REMAINDER),
    "dpipe": _piped,
    "eq": _compared(Operator.EQUAL),
    "neq": _compared(Operator.NOT_EQUAL),
    "lt": _compared(Operator.LESS),
    "lte": _compared(Operator.LESS_OR_EQUAL),
    "gt": _compared(Operator.GREATER),
    "gte": _compared(Operator.GREATER_OR_EQUAL),
    "nullsafeeq": _same,
    "is": _is,
    "in": _membership,
    "between": _range,
    "like": _likeness,
    "escape": _likeness,
    "not": lambda node, scope: building.negation(_bound(node.this, scope)),
    "and": lambda node, scope: building.all_true([_bound(one, scope) for one in chained(node)]),
    "or": lambda node, scope: building.any_true([_bound(one, scope) for one in chained(node)]),
    "case": _case,
    "cast": _cast,
    "trycast": _cast,
    "anonymous": _named,
}
