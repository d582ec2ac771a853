"""The query of a view in DuckDB's SQL: its own text in that dialect, or Spark's, if it means the same to both.

A query that sqlglot writes again for another engine may silently have other rows: divisions, casts, times without a
zone and most functions differ. So only a small part of SQL is translated, and the rest is refused.
"""

import re
from typing import TYPE_CHECKING

from lakebed.catalog.tables.views import SPARK
from lakebed.errors import Invalid
from lakebed.lake.view import View
from lakebed.table.sql.tree import short, shown_node

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

DUCKDB = "duckdb"

_ALIKE = frozenset(
    (
        *("select", "from", "join", "where", "group", "having", "order", "ordered", "limit", "distinct", "star"),
        *("union", "except", "intersect", "subquery", "with", "cte", "exists", "table", "tablealias", "alias"),
        *("column", "identifier", "literal", "boolean", "null", "paren", "and", "or", "not", "neg"),
        *("eq", "neq", "gt", "gte", "lt", "lte", "is", "in", "between", "like", "case", "if", "coalesce"),
        *("add", "sub", "mul", "count", "min", "max", "sum"),
    )
)
"""Kinds of sqlglot's nodes that mean the same to Spark and DuckDB."""

_QUERIES = ("select", "union", "except", "intersect", "subquery")

_UNLIKE_TEXT = re.compile(r"\\|[\x00-\x1f]|\s*\d{4}-\d")
"""Texts that may not mean the same: with escapes, and times and days, which depend on a session's zone."""


def duckdb_text(view: View) -> str:
    """The query of a view for DuckDB; `Invalid` if its text for Spark could mean something else to it."""
    texts = view.sql
    return texts[DUCKDB] if DUCKDB in texts else translated(texts[SPARK]) if SPARK in texts else view.sql_for(DUCKDB)


def translated(text: str) -> str:
    """A query of Spark's SQL in DuckDB's."""
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    if "@" in text:  # sqlglot takes a ref for an alias
        raise _unlike("a name with a ref")
    try:
        trees = parse(text, dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise _unlike(short(text)) from error
    if len(trees) != 1 or trees[0] is None or trees[0].key not in _QUERIES:
        raise _unlike(short(text))
    for node in trees[0].walk():
        _check_alike(node)
    return trees[0].sql(dialect=DUCKDB, identify=True, comments=False)


def _check_alike(node: "Node") -> None:
    is_text = node.key == "literal" and node.args.get("is_string")
    if node.key not in _ALIKE or (is_text and _UNLIKE_TEXT.search(node.name)):
        raise _unlike(shown_node(node))
    if node.key == "join" and (node.args.get("using") or node.args.get("method")):
        raise _unlike(shown_node(node))  # of the columns of *, each has an order of its own
    if node.key == "like" and node.expression.key != "literal":
        raise _unlike(shown_node(node))
    if node.key == "star" and node.args.get("except_"):
        raise _unlike(shown_node(node))


def _unlike(found: str) -> Invalid:
    return Invalid(
        "the query of this view may mean something else to DuckDB than to Spark",
        found=found,
        advice="set_sql({'spark': …, 'duckdb': …}) gives it a text for each. Or use lake.sql(spark, …).",
    )
