"""SQL text as sqlglot's tree, and what the nodes of a tree name: columns and types."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid, TooLarge
from lakebed.table.types.limits import check_expression
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
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

# By sqlglot's names. Spark's TIMESTAMP is an instant; TIMESTAMP_NTZ is without a zone.
_TYPES: dict[str, Type] = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "BIGINT": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMPTZ,
    "TIMESTAMPTZ": TIMESTAMPTZ,
    "TIMESTAMPLTZ": TIMESTAMPTZ,
    "TIMESTAMPNTZ": TIMESTAMP,
}
_DECIMAL = (10, 0)  # Spark's DECIMAL without numbers


def sql_tree(text: str) -> "Node":
    """The tree of one expression; `Invalid` if the text has none, or more than one."""
    tree = only_tree(text, "an expression")
    if tree is None:
        raise Invalid("this is not one expression", subject=short(text))
    return tree


def only_tree(text: str, what: str) -> "Node | None":
    """The tree of a text, None if it has none, or more than one; errors call the text `what`."""
    # Imported here: sqlglot takes over 100 ms to import, and callers that only append never need it.
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Condition

    if not isinstance(text, str):
        raise Invalid(f"{what} must be text", expected="str", found=type(text).__name__)
    check_expression(text, what)
    dialect = Spark()
    try:
        # As a condition: a statement may begin with a column's name, such as comment or set.
        trees = dialect.parser().parse_into(Condition, list(_whole_strings(dialect.tokenize(text), text)), text)
    except SqlglotError as error:
        raise _unparsable(what, text, error) from error
    except RecursionError as error:
        raise TooLarge(f"{what} is nested too deeply", subject=short(text)) from error
    return trees[0] if len(trees) == 1 else None


def short(text: str) -> str:
    """A text as errors show it."""
    return repr(text if len(text) <= 80 else text[:79] + "…")


def shown_node(node: "Node") -> str:
    """A part of a tree as errors show it."""
    return short(node.sql(dialect="spark"))


def bare(node: "Node") -> "Node":
    """The node inside parentheses."""
    while node.key == "paren":
        node = node.this
    return node


def chained(node: "Node") -> list["Node"]:
    """The operands of a chain of one operator; such chains lean to the left, as deep as they are long."""
    operands, pending = [], [node]
    while pending:
        next_node = pending.pop()
        if next_node.key == node.key:
            pending += [next_node.expression, next_node.this]
        else:
            operands.append(next_node)
    return operands


def arguments_of(node: "Node") -> list[str]:
    """The names of the arguments that a node has."""
    return [name for name, value in node.args.items() if value]


def names_of(node: "Node") -> tuple[str, ...] | None:
    """The names that lead to a column, None if it is not a column.

    sqlglot takes the first three of four names for those of a catalog, a database and a table.
    """
    match node.key:
        case "identifier":
            return (node.this,)
        case "dot":
            first, last = names_of(bare(node.this)), names_of(node.expression)
            return (*first, *last) if first and last else None
        case "column" if set(arguments_of(node)) <= {"this", "table", "db", "catalog"}:
            names = [node.args[key] for key in ("catalog", "db", "table", "this") if node.args.get(key)]
            return tuple(name.this for name in names) if all(name.key == "identifier" for name in names) else None
        case _:
            return None


def sql_type(node: "Node") -> Type:
    """The type that CAST names; `Invalid` for a type that tables don't have, or that only Spark casts to."""
    name = getattr(node.this, "name", "")
    if name == "DECIMAL":
        return _decimal(node)
    type = _TYPES.get(name)
    if type is None or node.expressions:
        raise Invalid(
            "the local engine does not cast to this type",
            subject=shown_node(node),
            expected="boolean, int, bigint, float, double, decimal(p, s), string, binary, date, timestamp or "
            "timestamp_ntz",
            advice="Only Spark casts to it: pass spark= or a Spark DataFrame.",
        )
    return type


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


def _unparsable(what: str, text: str, error: Any) -> Invalid:
    place = next(iter(getattr(error, "errors", ())), None)
    found = f"{place['highlight']!r} at line {place['line']}, column {place['col']}" if place else "a quote without end"
    return Invalid(f"{what} can't be read", subject=short(text), found=found)


def _decimal(node: "Node") -> Decimal:
    given = [int(number.this.this) for number in node.expressions]
    precision, scale = (*given, *_DECIMAL[len(given) :])
    return Decimal(precision, scale)
