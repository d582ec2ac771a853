"""Conditions in words, cut where a part can be told from the others: pieces of the text as it stands, never made anew.

SQL that is written back from a tree may mean something else; text that is only cut means what it meant. It is for
conditions of which every piece has to count: those that Lakebed can't read are Spark's to run. The WHERE of a whole
query is cut as a tree by `lakebed.spark.sql.conjuncts`, which may leave pieces out.
"""

from collections.abc import Iterator
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.sql.tree import only_tree
from lakebed.table.types.names import folded_column

_OPENING = {"L_PAREN", "L_BRACKET", "L_BRACE", "CASE"}
_CLOSING = {"R_PAREN": "L_PAREN", "R_BRACKET": "L_BRACKET", "R_BRACE": "L_BRACE", "END": "CASE"}


def conjuncts(text: str) -> list[str]:
    """The pieces that AND joins outside of parentheses, CASE and BETWEEN; the text alone if it is no such chain."""
    tokens = _tokens(text)
    ends = _joints(tokens)
    if not ends:
        return [text]
    starts = [0, *(place + 1 for place in ends)]
    spans = zip(starts, [*ends, len(tokens)], strict=True)
    pieces = [_span(text, tokens[start:end]) for start, end in spans]
    return pieces if all(map(_is_readable, pieces)) else [text]


def qualified(text: str, names: frozenset[str], qualifier: str) -> str:
    """The text with a qualifier before those columns that have none and one of these names, which are folded.

    What can't be read is left as it is: whoever runs it will say so.
    """
    try:
        tree = only_tree(text, "an expression")
    except Invalid:
        return text
    places = [] if tree is None else [*_plain_columns(tree, names)]
    for place in sorted(places, reverse=True):
        text = f"{text[:place]}{qualifier}.{text[place:]}"
    return text


def _plain_columns(tree: Any, names: frozenset[str]) -> Iterator[int]:
    """Where the names of columns begin that have no qualifier; those in queries inside are of the tables there."""
    for column in tree.find_all(_column_class()):
        first, *others = column.parts
        is_qualified = bool(others) and folded_column(first.name) in (TARGET, SOURCE)
        if is_qualified or column.find_ancestor(_query_class()) is not None:
            continue
        if folded_column(first.name) in names and "start" in first.meta:
            yield first.meta["start"]


def _column_class() -> Any:
    from sqlglot.expressions import Column  # inside, as in sql_tree

    return Column


def _query_class() -> Any:
    from sqlglot.expressions import Query  # inside, as in sql_tree

    return Query


def _tokens(text: str) -> list[Any]:
    from sqlglot.dialects.spark import Spark  # inside, as in sql_tree
    from sqlglot.errors import SqlglotError

    try:
        return list(Spark().tokenize(text))
    except SqlglotError:
        return []


def _joints(tokens: list[Any]) -> list[int]:
    """Where the ANDs are that join pieces; none if an OR stands beside them, which binds less."""
    found: list[int] = []
    opened: list[str] = []
    ranges = 0  # BETWEENs that wait for their AND
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        if place and tokens[place - 1].token_type.name == "DOT":
            continue  # a name, whatever it is elsewhere
        if kind in _OPENING:
            opened.append(kind)
        elif opened and _CLOSING.get(kind) == opened[-1]:
            opened.pop()
        elif opened:
            continue
        elif kind == "OR":
            return []
        elif kind == "BETWEEN":
            ranges += 1
        elif kind == "AND" and ranges:
            ranges -= 1
        elif kind == "AND":
            found.append(place)
    return found


def _span(text: str, tokens: list[Any]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _is_readable(piece: str) -> bool:
    try:
        return only_tree(piece, "a condition") is not None
    except Invalid:
        return False
