"""Names in double quotes, which are texts in Spark's SQL: most other databases take them for columns."""

from collections.abc import Iterable
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.filter.condition import name_text
from lakebed.table.sql.tree import bare, only_tree, short
from lakebed.table.types.names import folded_column


def check_quoted_names(text: str, names: Iterable[str]) -> None:
    """Refuse an expression without columns that has one of these names in double quotes: a text alone is fine."""
    known = {folded_column(name): name for name in names}
    quoted = _quoted_names(text, known)
    if quoted and _is_calculated_without_columns(text):
        raise Invalid(
            "double quotes are for texts, not for names of columns",
            subject=short(text),
            found=", ".join(f'"{name}"' for name in quoted),
            advice=f"Write the column in backticks: {name_text((quoted[0],))}.",
        )


def _quoted_names(text: str, known: dict[str, str]) -> list[str]:
    if '"' not in text:
        return []
    from sqlglot.dialects.spark import Spark  # imported here, as in sql.tree
    from sqlglot.errors import SqlglotError

    try:
        tokens: list[Any] = list(Spark().tokenize(text))
    except SqlglotError:
        return []
    texts = [token.text for token in tokens if token.token_type.name == "STRING" and text[token.start] == '"']
    return [known[folded_column(found)] for found in texts if folded_column(found) in known]


def _is_calculated_without_columns(text: str) -> bool:
    from sqlglot.expressions import Column  # imported here, as in sql.tree

    try:
        tree = only_tree(text, "an expression")
    except Invalid:
        return False
    return tree is not None and bare(tree).key != "literal" and tree.find(Column) is None
