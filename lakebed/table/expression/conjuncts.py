"""Conditions as text, cut at their ANDs into pieces of the original text.

SQL that is written back from a tree may mean something else; text that is only cut means what it meant. This is for
conditions of which every piece counts: Spark runs the pieces that Lakebed can't read. `lakebed.spark.sql.conjuncts`
cuts the WHERE of a whole query as a tree, and may leave pieces out.
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
    """The pieces that AND joins outside of parentheses, CASE and BETWEEN; the whole text if it is not such a chain."""
    tokens = _tokens(text)
    ends = _joints(tokens)
    if not ends:
        return [text]
    starts = [0, *(place + 1 for place in ends)]
    spans = zip(starts, [*ends, len(tokens)], strict=True)
    pieces = [_span(text, tokens[start:end]) for start, end in spans]
    return pieces if all(map(_is_readable, pieces)) else [text]


def qualified(text: str, names: frozenset[str], qualifier: str) -> str:
    """The text with a qualifier before each unqualified column that has one of these names, which are folded.

    Text that can't be parsed is left as it is: running it will report the error.
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
    """Where unqualified column names begin, except in subqueries, whose columns belong to other tables."""
    for column in tree.find_all(_column_class()):
        first, *rest = column.parts
        is_qualified = bool(rest) and folded_column(first.name) in (TARGET, SOURCE)
        if is_qualified or column.find_ancestor(_query_class()) is not None:
            continue
        if folded_column(first.name) in names and "start" in first.meta:
            yield first.meta["start"]


def _column_class() -> Any:
    from sqlglot.expressions import Column  # imported here, as in sql.tree

    return Column


def _query_class() -> Any:
    from sqlglot.expressions import Query  # imported here, as in sql.tree

    return Query


def _tokens(text: str) -> list[Any]:
    from sqlglot.dialects.spark import Spark  # imported here, as in sql.tree
    from sqlglot.errors import SqlglotError

    try:
        return list(Spark().tokenize(text))
    except SqlglotError:
        return []


def _joints(tokens: list[Any]) -> list[int]:
    """The places of the ANDs that join pieces; none if there is an OR beside them, which binds less tightly."""
    joints: list[int] = []
    opened: list[str] = []
    ranges = 0  # BETWEENs whose AND is still to come
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        if place and tokens[place - 1].token_type.name == "DOT":
            continue  # a name, even if it is a keyword elsewhere
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
            joints.append(place)
    return joints


def _span(text: str, tokens: list[Any]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _is_readable(piece: str) -> bool:
    try:
        return only_tree(piece, "a condition") is not None
    except Invalid:
        return False
