"""Conditions in SQL: the part of Spark's SQL that statistics can prune by and that every engine answers alike."""

from typing import TYPE_CHECKING

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
    Null,
    all_conditions,
    any_condition,
)
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import ESCAPE, parse_pattern
from lakebed.table.filter.literals import Kind, Literal
from lakebed.table.sql.tree import arguments_of, bare, chained, names_of, only_tree, short, shown_node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

ADVICE = "In a scan or read, filter the rows by it afterwards; to change rows, pass spark=."

_TYPED = {"DATE": Kind.DATE, "TIME": Kind.TIME, "TIMESTAMPTZ": Kind.TIMESTAMP}  # so sqlglot calls Spark's TIMESTAMP
_OPERATORS = {
    "eq": Operator.EQUAL,
    "neq": Operator.NOT_EQUAL,
    "lt": Operator.LESS,
    "lte": Operator.LESS_OR_EQUAL,
    "gt": Operator.GREATER,
    "gte": Operator.GREATER_OR_EQUAL,
}
_POSSIBLE = (
    "columns beside literals with =, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN, [NOT] LIKE or IS [NOT] NULL, boolean "
    "columns, isnan(column), and AND, OR, NOT and parentheses around them"
)


def parse_condition(text: str) -> Condition:
    """The condition that a text means; `Invalid` if a filter can't express it. Columns are not looked up yet."""
    try:
        tree = only_tree(text, "a filter")
        if tree is None:
            raise Invalid("a filter must be one condition", subject=short(text), expected=_POSSIBLE)
        return _condition(tree)
    except RecursionError as error:
        raise TooLarge("a filter is nested too deeply", subject=short(text)) from error


def tree_condition(tree: "Node") -> Condition:
    """The condition that a tree of sqlglot's means; `Invalid` if a filter can't express it."""
    return _condition(tree)


def _condition(node: "Node") -> Condition:
    match node.key:
        case "paren":
            return _condition(node.this)
        case "not":
            return ~_condition(node.this)
        case "and":
            return all_conditions(map(_condition, chained(node)))
        case "or":
            return any_condition(map(_condition, chained(node)))
        case "is":
            return _is_null(node)
        case "in":
            return _in(node)
        case "between":
            return _between(node)
        case "like" | "escape":
            return _like(node)
        case "isnan":
            return Nan(_names(node.this))
        case "boolean":
            return AllOf(()) if node.this else AnyOf(())
        case "column" | "dot":
            return Flag(_names(node))
        case _:
            return _comparison(node)


def _is_null(node: "Node") -> Condition:
    if bare(node.expression).key != "null":
        raise _impossible(node)
    return Null(_names(node.this))


def _in(node: "Node") -> Condition:
    _check_arguments(node, "this", "expressions")
    return In(_names(node.this), tuple(map(_literal, node.expressions)))


def _between(node: "Node") -> Condition:
    _check_arguments(node, "this", "low", "high")
    names = _names(node.this)
    low = Compares(names, Operator.GREATER_OR_EQUAL, _literal(node.args["low"]))
    return low & Compares(names, Operator.LESS_OR_EQUAL, _literal(node.args["high"]))


def _like(node: "Node") -> Condition:
    escape = ESCAPE
    if node.key == "escape":
        escape, node = _string(node.expression), node.this
    if node.key != "like" or not set(arguments_of(node)) <= {"this", "expression", "negate"}:
        raise _impossible(node)
    matches = Matches(_names(node.this), parse_pattern(_string(node.expression), escape))
    return ~matches if node.args.get("negate") else matches


def _string(node: "Node") -> str:
    literal = _literal(node)
    if literal.kind is not Kind.STRING:
        raise _impossible(node)
    return literal.text


def _comparison(node: "Node") -> Condition:
    if node.key not in _OPERATORS:
        raise _impossible(node)
    operator = _OPERATORS[node.key]
    if bare(node.this).key in ("column", "dot"):
        return Compares(_names(node.this), operator, _literal(node.expression))
    value = _literal(node.this)  # before the names: in `a % 2 = 1` the left side is what a filter can't express
    return Compares(_names(node.expression), operator.mirrored, value)


def _names(node: "Node") -> Names:
    """The names that lead to a column."""
    names = names_of(bare(node))
    if names is None:
        raise _impossible(node)
    return names


def _literal(node: "Node") -> Literal:
    node = bare(node)
    match node.key:
        case "literal":
            return Literal(Kind.STRING if node.is_string else Kind.NUMBER, node.this)
        case "neg" if node.this.key == "literal" and not node.this.is_string:
            return Literal(Kind.NUMBER, f"-{node.this.this}")
        case "boolean":
            return Literal(Kind.BOOLEAN, str(node.this).lower())
        case "null":
            return Literal(Kind.NULL, "null")
        case "hexstring":
            return Literal(Kind.BYTES, node.this)
        case "rawstring":
            return Literal(Kind.STRING, node.this)
        case "cast":
            return _typed_literal(node)
        case _:
            raise _impossible(node)


def _typed_literal(node: "Node") -> Literal:
    _check_arguments(node, "this", "to")
    kind = _TYPED.get(node.args["to"].this.name)
    if kind is None or node.this.key != "literal" or not node.this.is_string:
        raise _impossible(node)
    return Literal(kind, node.this.this)


def _check_arguments(node: "Node", *names: str) -> None:
    if set(arguments_of(node)) != set(names):
        raise _impossible(node)


def _impossible(node: "Node") -> Invalid:
    return Invalid("a filter can't express this", subject=shown_node(node), expected=_POSSIBLE, advice=ADVICE)
