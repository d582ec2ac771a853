"""SQL text as sqlglot's tree, and the names of types in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid
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


def sql_tree(text: str) -> "Node":
    """The tree of one expression; `Invalid` if there is none in the text, or more than one."""
    tree = only_tree(text, "an expression")
    if tree is None:
        raise Invalid("this is not one expression", subject=short(text))
    return tree


def only_tree(text: str, what: str) -> "Node | None":
    """The tree of a text, None if there is none in it, or more than one; `what` is what errors call it."""
    # Inside, because sqlglot takes over 100 ms to import: those who only append never need it.
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Condition

    if not isinstance(text, str):
        raise Invalid(f"{what} is text", expected="str", found=type(text).__name__)
    dialect = Spark()
    try:
        # As a condition: a statement may begin with a column's name, such as comment or set.
        trees = dialect.parser().parse_into(Condition, list(_whole_strings(dialect.tokenize(text), text)), text)
    except SqlglotError as error:
        raise _malformed(what, text, error) from error
    return trees[0] if len(trees) == 1 else None


def short(text: str) -> str:
    """A text as errors show it."""
    return repr(text if len(text) <= 80 else text[:79] + "…")


def shown_node(node: "Node") -> str:
    """A part of a tree as errors show it."""
    return short(node.sql(dialect="spark"))


def names_of(node: "Node") -> tuple[str, ...] | None:
    """The names that lead to a column, None if it is none: sqlglot takes four of them for a catalog's and a table's."""
    match node.key:
        case "identifier":
            return (node.this,)
        case "dot":
            first, last = names_of(bare(node.this)), names_of(node.expression)
            return (*first, *last) if first and last else None
        case "column" if set(arguments_of(node)) <= {"this", "table", "db", "catalog"}:
            parts = [node.args[one] for one in ("catalog", "db", "table", "this") if node.args.get(one)]
            return tuple(one.this for one in parts) if all(one.key == "identifier" for one in parts) else None
        case _:
            return None


def arguments_of(node: "Node") -> list[str]:
    """The names of the arguments that a node has."""
    return [name for name, value in node.args.items() if value]


def bare(node: "Node") -> "Node":
    """What is inside parentheses."""
    while node.key == "paren":
        node = node.this
    return node


def chained(node: "Node") -> list["Node"]:
    """What a chain of one operator connects; such chains lean to the left, as deep as they are long."""
    parts, pending = [], [node]
    while pending:
        one = pending.pop()
        if one.key == node.key:
            pending += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


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


def _malformed(what: str, text: str, error: Any) -> Invalid:
    place = next(iter(getattr(error, "errors", ())), None)
    found = f"{place['highlight']!r} at line {place['line']}, column {place['col']}" if place else "a quote without end"
    return Invalid(f"{what} can't be read", subject=short(text), found=found)


# By sqlglot's names. Spark's TIMESTAMP is an instant; of a zone-less moment it says TIMESTAMP_NTZ.
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


def sql_type(node: "Node") -> Type:
    """The type that CAST names; `Invalid` for one that no table has, or that only Spark casts to."""
    name = getattr(node.this, "name", "")
    if name == "DECIMAL":
        return _decimal(node)
    found = _TYPES.get(name)
    if found is None or node.expressions:
        raise Invalid(
            "the local engine does not cast to this type",
            subject=shown_node(node),
            expected="boolean, int, bigint, float, double, decimal(p, s), string, binary, date, timestamp or "
            "timestamp_ntz",
            advice="The local engine can not: read with Spark, change the rows there, and overwrite.",
        )
    return found


def _decimal(node: "Node") -> Decimal:
    given = [int(one.this.this) for one in node.expressions]
    precision, scale = (*given, *_DECIMAL[len(given) :])
    return Decimal(precision, scale)
