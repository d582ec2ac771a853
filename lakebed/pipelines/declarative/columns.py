"""Columns as Spark's decorators hand them over: since 4.2 those of Spark Connect, in a classic session too.

There an expression's text is inside; columns of a classic session stay as they are.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Column

from lakebed.errors import Invalid
from lakebed.spark.sql.tokens import words_of


def names_of(columns: Iterable[Any]) -> Iterator[str]:
    """The names of plain columns."""
    return map(name_of, columns)


def name_of(column: Any) -> str:
    """The name of a plain column, given as text or as Column."""
    text = column if isinstance(column, str) else _named(column)
    words = () if text is None else words_of(text).words
    if len(words) != 1 or not words[0].names:
        raise Invalid("a column is named without a table or an expression", found=str(column), expected="such as id")
    return words[0].text


def expression(column: Any) -> Any:
    """An expression as text where that is known, or as the Column that it is."""
    if isinstance(column, str):
        return column
    own = getattr(column, "_expr", None)
    for attribute in ("_expr", "_unparsed_identifier"):
        text = getattr(own, attribute, None)
        if isinstance(text, str):
            return text
    if own is not None:
        raise Invalid(
            "an expression of Spark Connect can't be used in a classic session",
            found=str(column),
            advice="Write it as text, or make it with pyspark.sql.functions.",
        )
    return column


def _named(column: Column) -> str | None:
    found = expression(column)
    if isinstance(found, str):
        return found
    text = str(column)  # Column<'id'>
    return text[8:-2] if text.startswith("Column<'") and text.endswith("'>") else None
