"""Filters in words: the part of Spark's SQL that statistics can prune by, and that every engine answers alike."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter import ALWAYS, NEVER, Filter, IsNull, NotNull, Operator, all_of, any_of, leaves_of
from lakebed.table.filter_literals import Kind, Literal
from lakebed.table.filter_terms import compare, none_of, one_of
from lakebed.table.schema import Schema
from lakebed.table.types import BOOLEAN, Decimal, Field, Primitive

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

# Arrow recurses for every term, and ends the process where the stack ends: 500 pass in 512 kB, 1,000 do not.
TERMS = 500

_POSSIBLE = (
    "columns beside literals with =, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN or IS [NOT] NULL, boolean columns, "
    "and AND, OR, NOT and parentheses around them"
)
_ADVICE = "Filter the DataFrame or the Arrow table by the rest after reading"


def parse_filter(text: str, schema: Schema) -> Filter:
    """The filter that a text means for a schema; `Invalid` for what it can't say, or for columns that are not there.

    Columns' names are compared without case. Only columns at the top can be named, not those inside structs, lists and
    maps. A timestamp without a zone is one in UTC where the column has instants.
    """
    try:
        filter = _true(_tree(text), schema)
    except RecursionError as error:
        raise TooLarge("a filter is nested too deeply", subject=_short(text)) from error
    if (terms := sum(1 for _ in leaves_of(filter))) > TERMS:
        advice = "Use IN (…) for many values of one column"
        raise TooLarge("a filter has too many terms", expected=f"at most {TERMS}", found=terms, advice=advice)
    return filter


def _tree(text: str) -> "Node":
    # Inside, because sqlglot takes over 100 ms to import: those who only append never need it.
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Condition

    if not isinstance(text, str):
        raise Invalid("a filter is text", expected="str", found=type(text).__name__)
    dialect = Spark()
    try:
        # As a condition: a statement may begin with a column's name, such as comment or set.
        trees = dialect.parser().parse_into(Condition, list(_whole_strings(dialect.tokenize(text), text)), text)
    except SqlglotError as error:
        raise _malformed(text, error) from error
    if len(trees) != 1 or trees[0] is None:
        raise Invalid("a filter is one condition", subject=_short(text), expected=_POSSIBLE)
    return trees[0]


def _whole_strings(tokens: list[Any], text: str) -> Iterator[Any]:
    """The tokens, with 'it''s' as one string: sqlglot reads two to concatenate, as Spark did before 4.0."""
    last = None
    for token in tokens:
        if last and _continues(last, token, text):
            quote = text[token.start]
            last = type(token)(
                token.token_type, last.text + quote + token.text, last.line, last.col, last.start, token.end
            )
            continue
        if last:
            yield last
        last = token
    if last:
        yield last


def _continues(last: Any, token: Any, text: str) -> bool:
    strings = last.token_type.name == token.token_type.name == "STRING"
    return strings and last.end + 1 == token.start and text[last.end] == text[token.start]


def _malformed(text: str, error: Any) -> Invalid:
    place = next(iter(getattr(error, "errors", ())), None)
    found = f"{place['highlight']!r} at line {place['line']}, column {place['col']}" if place else "a quote without end"
    return Invalid("a filter can't be read", subject=_short(text), found=found)


_OPERATORS = {
    "eq": Operator.EQUAL,
    "neq": Operator.NOT_EQUAL,
    "lt": Operator.LESS,
    "lte": Operator.LESS_OR_EQUAL,
    "gt": Operator.GREATER,
    "gte": Operator.GREATER_OR_EQUAL,
}


def _true(node: "Node", schema: Schema) -> Filter:
    """The rows for which a condition is true."""
    match node.key:
        case "paren":
            return _true(node.this, schema)
        case "not":
            return _false(node.this, schema)
        case "and":
            return all_of([_true(part, schema) for part in _parts(node)])
        case "or":
            return any_of([_true(part, schema) for part in _parts(node)])
        case "is":
            return IsNull(_nullable(node, schema))
        case "in":
            return one_of(*_membership(node, schema))
        case "between":
            field, low, high = _range(node, schema)
            return all_of(
                [compare(field, Operator.GREATER_OR_EQUAL, low), compare(field, Operator.LESS_OR_EQUAL, high)]
            )
        case "boolean":
            return ALWAYS if node.this else NEVER
        case _:
            return compare(*_comparison(node, schema))


def _false(node: "Node", schema: Schema) -> Filter:
    """The rows for which a condition is false: those for which it is unknown are in neither."""
    match node.key:
        case "paren":
            return _false(node.this, schema)
        case "not":
            return _true(node.this, schema)
        case "and":
            return any_of([_false(part, schema) for part in _parts(node)])
        case "or":
            return all_of([_false(part, schema) for part in _parts(node)])
        case "is":
            return NotNull(_nullable(node, schema))
        case "in":
            return none_of(*_membership(node, schema))
        case "between":
            field, low, high = _range(node, schema)
            return any_of([compare(field, Operator.LESS, low), compare(field, Operator.GREATER, high)])
        case "boolean":
            return NEVER if node.this else ALWAYS
        case _:
            field, operator, literal = _comparison(node, schema)
            return compare(field, operator.negated, literal)


def _parts(node: "Node") -> list["Node"]:
    """What a chain of ANDs, or of ORs, connects; such chains lean to the left, as deep as they are long."""
    parts, pending = [], [node]
    while pending:
        one = pending.pop()
        if one.key == node.key:
            pending += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def _nullable(node: "Node", schema: Schema) -> Field:
    if _bare(node.expression).key != "null":
        raise _impossible(node)
    return _field(node.this, schema)


def _membership(node: "Node", schema: Schema) -> tuple[Field, list[Literal]]:
    _check_arguments(node, "this", "expressions")
    return _field(node.this, schema), [_literal(one) for one in node.expressions]


def _range(node: "Node", schema: Schema) -> tuple[Field, Literal, Literal]:
    _check_arguments(node, "this", "low", "high")
    return _field(node.this, schema), _literal(node.args["low"]), _literal(node.args["high"])


def _comparison(node: "Node", schema: Schema) -> tuple[Field, Operator, Literal]:
    if node.key == "column":
        return _flag(node, schema), Operator.EQUAL, Literal(Kind.BOOLEAN, "true")
    if node.key not in _OPERATORS:
        raise _impossible(node)
    operator = _OPERATORS[node.key]
    if _bare(node.this).key == "column":
        return _field(node.this, schema), operator, _literal(node.expression)
    return _field(node.expression, schema), operator.mirrored, _literal(node.this)


def _flag(node: "Node", schema: Schema) -> Field:
    field = _field(node, schema)
    if field.type != BOOLEAN:
        raise Invalid(
            "a column alone is a condition only if it is boolean",
            subject=f"column {field.name!r}",
            found=field.type,
            advice="Compare it with a literal, or use IS NOT NULL",
        )
    return field


def _field(node: "Node", schema: Schema) -> Field:
    node = _bare(node)
    if node.key != "column" or node.this.key != "identifier":
        raise _impossible(node)
    if set(_arguments(node)) != {"this"}:
        raise Invalid(
            "a filter names a field inside a column", subject=_text(node), expected="a column", advice=_ADVICE
        )
    field = schema.field(node.this.this)
    if not isinstance(field.type, Primitive | Decimal):
        raise Invalid(
            "a filter can't test this type of column", subject=repr(field.name), found=field.type, advice=_ADVICE
        )
    return field


def _literal(node: "Node") -> Literal:
    node = _bare(node)
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


_TYPED = {"DATE": Kind.DATE, "TIMESTAMPTZ": Kind.TIMESTAMP}  # so sqlglot calls Spark's TIMESTAMP


def _typed_literal(node: "Node") -> Literal:
    _check_arguments(node, "this", "to")
    kind = _TYPED.get(node.args["to"].this.name)
    if kind is None or node.this.key != "literal" or not node.this.is_string:
        raise _impossible(node)
    return Literal(kind, node.this.this)


def _bare(node: "Node") -> "Node":
    while node.key == "paren":
        node = node.this
    return node


def _check_arguments(node: "Node", *names: str) -> None:
    if set(_arguments(node)) != set(names):
        raise _impossible(node)


def _arguments(node: "Node") -> list[str]:
    return [name for name, value in node.args.items() if value]


def _impossible(node: "Node") -> Invalid:
    return Invalid("a filter can't say this", subject=_text(node), expected=_POSSIBLE, advice=_ADVICE)


def _text(node: "Node") -> str:
    return _short(node.sql(dialect="spark"))


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
