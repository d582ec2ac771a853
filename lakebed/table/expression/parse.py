"""Expressions from text: the part of Spark's SQL, with its literals, that the local engine evaluates as Spark does."""

import decimal
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lakebed.errors import Invalid, TooLarge
from lakebed.table.expression import build
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.expression import VOID, Casting, Constant, Expression, Function, levels_of
from lakebed.table.expression.scope import Scope
from lakebed.table.expression.types import DIGITS
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import ESCAPE, parse_pattern
from lakebed.table.sql.casts import parse_date, parse_timestamp
from lakebed.table.sql.tree import arguments_of, bare, chained, names_of, short, shown_node, sql_tree, sql_type
from lakebed.table.types.times import DAY_MICROS
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


LEVELS = 150
"""How deeply an expression may be nested: its evaluation recurses."""

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_NUMBER_LENGTH = 400  # no type has as many digits, and Python refuses to parse very long numbers

_LONGEST = 2**31 - 1  # the length of `substring` if none is given, as in Spark

_KNOWN_FUNCTIONS = (
    "abs, ceil, coalesce, concat, current_date, current_timestamp, floor, greatest, if, isnan, isnull, isnotnull, "
    "least, length, localtimestamp, lower, ltrim, now, nullif, nvl, round, rtrim, substring, trim and upper"
)

_TRIMS = {"BOTH": Function.TRIM, "LEADING": Function.LTRIM, "TRAILING": Function.RTRIM}

_Binder = Callable[["Node", Scope], Expression]


def parse_expression(text: str, scope: Scope) -> Expression:
    """The expression that a text means in a scope; names of columns are compared without case.

    `Invalid` for text that can't be parsed, an unknown function, a missing column, or types that do not fit.
    """
    try:
        expression = _bind(sql_tree(text), scope)
    except RecursionError as error:
        raise TooLarge("an expression is nested too deeply", subject=short(text)) from error
    if (levels := levels_of(expression)) > LEVELS:
        raise TooLarge(
            "an expression is nested too deeply", subject=short(text), expected=f"{LEVELS} levels", found=levels
        )
    return expression


def parse_predicate(text: str | Condition, scope: Scope) -> Expression:
    """The expression of a condition, given as text or built from `lakebed.col`; `Invalid` if it is not a condition."""
    return build.as_boolean("a condition", parse_expression(str(text) if isinstance(text, Condition) else text, scope))


def _bind(node: "Node", scope: Scope) -> Expression:
    bind = _BINDERS.get(node.key)
    if bind is None:
        raise _unknown(node)
    return bind(node, scope)


def _check_arguments(node: "Node", *allowed: str) -> None:
    if not set(arguments_of(node)) <= {*allowed}:
        raise _unknown(node)


def _unknown(node: "Node") -> Invalid:
    return Invalid(
        "the local engine does not know this expression",
        subject=shown_node(node),
        expected=f"arithmetic, comparisons, AND, OR, NOT, IS NULL, IN, BETWEEN, LIKE, CASE, CAST, {_KNOWN_FUNCTIONS}",
        found=_name_of(node),
        advice=SPARK,
    )


def _name_of(node: "Node") -> str:
    if node.key == "anonymous":
        return node.name
    return str(node.sql_name()).lower() if hasattr(node, "sql_name") else node.key


def _column(node: "Node", scope: Scope) -> Expression:
    names = names_of(node)
    if names is None:
        raise _unknown(node)
    return scope.column(names)


def _literal(node: "Node", _: Scope) -> Expression:
    return Constant(node.this, STRING) if node.is_string else _number_literal(node.this)


def _negative(node: "Node", scope: Scope) -> Expression:
    if node.this.key == "literal" and not node.this.is_string:
        return _number_literal(f"-{node.this.this}")  # so that the smallest int can be written
    return build.negative(_bind(node.this, scope))


def _arithmetic(function: Function) -> _Binder:
    def bind(node: "Node", scope: Scope) -> Expression:
        return build.arithmetic(function, _bind(node.this, scope), _bind(node.expression, scope))

    return bind


def _comparison(operator: Operator) -> _Binder:
    def bind(node: "Node", scope: Scope) -> Expression:
        return build.comparison(operator, _bind(node.this, scope), _bind(node.expression, scope))

    return bind


def _unary(make: Callable[[Expression], Expression]) -> _Binder:
    def bind(node: "Node", scope: Scope) -> Expression:
        _check_arguments(node, "this")
        return make(_bind(node.this, scope))

    return bind


def _concatenation_operator(node: "Node", scope: Scope) -> Expression:
    if node.expression.key in ("add", "sub"):
        # Spark evaluates + and || from left to right; the parser binds + more tightly.
        raise Invalid("|| before + needs parentheses", subject=shown_node(node), advice="Add parentheses.")
    return build.concatenation([_bind(part, scope) for part in (node.this, node.expression)])


def _concat(node: "Node", scope: Scope) -> Expression:
    return build.concatenation([_bind(part, scope) for part in node.expressions])


def _is(node: "Node", scope: Scope) -> Expression:
    value, wanted = _bind(node.this, scope), bare(node.expression)
    match wanted.key:
        case "null":
            return build.is_null(value)
        case "boolean":
            return build.null_safe_equal(build.as_boolean("IS", value), Constant(bool(wanted.this), BOOLEAN))
        case _:
            raise _unknown(node)


def _same(node: "Node", scope: Scope) -> Expression:
    return build.null_safe_equal(_bind(node.this, scope), _bind(node.expression, scope))


def _membership(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "expressions")
    return build.one_of(_bind(node.this, scope), [_bind(option, scope) for option in node.expressions])


def _range(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "low", "high")
    value = _bind(node.this, scope)
    low = build.comparison(Operator.GREATER_OR_EQUAL, value, _bind(node.args["low"], scope))
    high = build.comparison(Operator.LESS_OR_EQUAL, value, _bind(node.args["high"], scope))
    return build.all_true([low, high])


def _likeness(node: "Node", scope: Scope) -> Expression:
    escape = ESCAPE
    like = node
    if node.key == "escape":
        escape, like = _text(node.expression), node.this
    if like.key != "like":
        raise _unknown(node)
    _check_arguments(like, "this", "expression", "negate")
    matches = build.matches(_bind(like.this, scope), parse_pattern(_text(like.expression), escape))
    return build.negation(matches) if like.args.get("negate") else matches


def _text(node: "Node") -> str:
    node = bare(node)
    if node.key == "rawstring" or (node.key == "literal" and node.is_string):
        return str(node.this)
    raise Invalid("a pattern has to be a text literal", subject=shown_node(node), expected="'…'", advice=SPARK)


def _case(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "ifs", "default")
    operand = _bind(node.this, scope) if node.this else None
    branches = []
    for branch in node.args["ifs"]:
        condition = _bind(branch.this, scope)
        if operand is not None:
            condition = build.comparison(Operator.EQUAL, operand, condition)
        branches.append((condition, _bind(branch.args["true"], scope)))
    return build.case(branches, _or_null(node.args.get("default"), scope))


def _if(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "true", "false")
    branch = _bind(node.this, scope), _bind(node.args["true"], scope)
    return build.case([branch], _or_null(node.args.get("false"), scope))


def _or_null(node: "Node | None", scope: Scope) -> Expression:
    return Constant(None, VOID) if node is None else _bind(node, scope)


def _coalesce(node: "Node", scope: Scope) -> Expression:
    return build.coalesce([_bind(part, scope) for part in (node.this, *node.expressions)])


def _null_if(node: "Node", scope: Scope) -> Expression:
    return build.null_if(_bind(node.this, scope), _bind(node.expression, scope))


def _cast(node: "Node", scope: Scope) -> Expression:
    type = sql_type(node.args["to"])
    if bare(node.this).key == "literal" and (literal := _typed_literal(bare(node.this), type)) is not None:
        return literal
    # sqlglot uses TryCast for Spark's CAST too, which once gave null; only TRY_CAST is marked safe.
    casting = Casting.TRY_CAST if node.args.get("safe") else Casting.CAST
    return build.cast(_bind(node.this, scope), type, casting)


def _trim(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "position")
    return build.of_text(_TRIMS[node.args.get("position") or "BOTH"], _bind(node.this, scope))


def _substring(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "start", "length")
    length = node.args.get("length")
    size = Constant(_LONGEST, INT) if length is None else _bind(length, scope)
    return build.substring(_bind(node.this, scope), _bind(node.args["start"], scope), size)


def _round(node: "Node", scope: Scope) -> Expression:
    _check_arguments(node, "this", "decimals")
    digits = Constant(0, INT) if node.args.get("decimals") is None else _bind(node.args["decimals"], scope)
    if not isinstance(digits, Constant) or digits.type != INT or digits.value is None:
        raise Invalid("round takes its digits as a literal whole number", subject=shown_node(node), advice=SPARK)
    return build.rounded_number(_bind(node.this, scope), digits.value)


def _extreme(function: Function) -> _Binder:
    def bind(node: "Node", scope: Scope) -> Expression:
        return build.extreme(function, [_bind(part, scope) for part in (node.this, *node.expressions)])

    return bind


def _anonymous(node: "Node", scope: Scope) -> Expression:
    """A function that sqlglot does not know."""
    name, values = node.name.lower(), [_bind(part, scope) for part in node.expressions]
    match name, values:
        case "now", []:
            return Constant(scope.now, TIMESTAMPTZ)
        case "isnull", [value]:
            return build.is_null(value)
        case "isnotnull", [value]:
            return build.negation(build.is_null(value))
        case _:
            raise _unknown(node)


def _number_literal(text: str) -> Constant:
    """A number: an int or a long if it fits, else a decimal; with an exponent, a double."""
    if len(text) > _NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        raise Invalid("this is not a number", subject=repr(text[:40]))
    if "e" in text.lower():
        return Constant(_double(text), DOUBLE)
    if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return Constant(int(text), INT if -(2**31) <= int(text) < 2**31 else LONG)
    return _decimal_literal(decimal.Decimal(text))


def _double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Invalid("a number is out of range for a double", subject=text)
    return number


def _decimal_literal(number: decimal.Decimal) -> Constant:
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits), scale)
    if precision > DIGITS:
        raise Invalid("a number has too many digits", subject=str(number), expected=f"at most {DIGITS}")
    return Constant(number, Decimal(precision, scale))


def _hex_literal(text: str) -> Constant:
    """Bytes, written `X'00ff'`."""
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise Invalid(
            "this is not a hexadecimal literal", subject=f"X'{text}'", expected="two digits per byte, as X'00ff'"
        )
    return Constant(bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}"), BINARY)


def _typed_literal(node: "Node", type: Type) -> Constant | None:
    """A literal under a cast, as sqlglot parses `DATE '2026-01-31'`, `1L` and `0.5D`; None if calculated."""
    if not node.is_string:
        return _suffixed_number(node.this, type)
    value = _LITERAL_PARSERS[type](node.this) if type in _LITERAL_PARSERS else None
    return None if value is None else Constant(value, type)


def _suffixed_number(text: str, type: Type) -> Constant | None:
    if len(text) > _NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    if type == DOUBLE:
        return Constant(_double(text), DOUBLE)
    if type == LONG and _WHOLE.fullmatch(text) and int(text) < 2**63:
        return Constant(int(text), LONG)
    return None


def _zoneless(text: str) -> int | None:
    timestamp = parse_timestamp(text)
    return None if timestamp is None else timestamp.local


def _instant(text: str) -> int | None:
    timestamp = parse_timestamp(text)
    return None if timestamp is None else timestamp.instant


_LITERAL_PARSERS: dict[Type, Callable[[str], int | None]] = {
    DATE: parse_date,
    TIMESTAMP: _zoneless,
    TIMESTAMPTZ: _instant,
}

# By the keys of sqlglot's nodes.
_FUNCTIONS: dict[str, _Binder] = {
    "abs": _unary(build.absolute),
    "ceil": _unary(lambda value: build.floor_or_ceiling(Function.CEIL, value)),
    "coalesce": _coalesce,
    "concat": _concat,
    "currentdate": lambda _, scope: Constant(scope.now // DAY_MICROS, DATE),
    "currenttimestamp": lambda _, scope: Constant(scope.now, TIMESTAMPTZ),
    "floor": _unary(lambda value: build.floor_or_ceiling(Function.FLOOR, value)),
    "greatest": _extreme(Function.GREATEST),
    "if": _if,
    "isnan": _unary(build.is_nan),
    "least": _extreme(Function.LEAST),
    "length": _unary(build.length),
    "localtimestamp": lambda _, scope: Constant(scope.now, TIMESTAMP),
    "lower": _unary(lambda value: build.of_text(Function.LOWER, value)),
    "nullif": _null_if,
    "round": _round,
    "substring": _substring,
    "trim": _trim,
    "upper": _unary(lambda value: build.of_text(Function.UPPER, value)),
}

_BINDERS: dict[str, _Binder] = _FUNCTIONS | {
    "paren": lambda node, scope: _bind(node.this, scope),
    "column": _column,
    "dot": _column,
    "literal": _literal,
    "rawstring": lambda node, _: Constant(node.this, STRING),
    "hexstring": lambda node, _: _hex_literal(node.this),
    "boolean": lambda node, _: Constant(bool(node.this), BOOLEAN),
    "null": lambda _, __: Constant(None, VOID),
    "neg": _negative,
    "add": _arithmetic(Function.ADD),
    "sub": _arithmetic(Function.SUBTRACT),
    "mul": _arithmetic(Function.MULTIPLY),
    "div": _arithmetic(Function.DIVIDE),
    "mod": _arithmetic(Function.REMAINDER),
    "dpipe": _concatenation_operator,
    "eq": _comparison(Operator.EQUAL),
    "neq": _comparison(Operator.NOT_EQUAL),
    "lt": _comparison(Operator.LESS),
    "lte": _comparison(Operator.LESS_OR_EQUAL),
    "gt": _comparison(Operator.GREATER),
    "gte": _comparison(Operator.GREATER_OR_EQUAL),
    "nullsafeeq": _same,
    "is": _is,
    "in": _membership,
    "between": _range,
    "like": _likeness,
    "escape": _likeness,
    "not": lambda node, scope: build.negation(_bind(node.this, scope)),
    "and": lambda node, scope: build.all_true([_bind(part, scope) for part in chained(node)]),
    "or": lambda node, scope: build.any_true([_bind(part, scope) for part in chained(node)]),
    "case": _case,
    "cast": _cast,
    "trycast": _cast,
    "anonymous": _anonymous,
}
