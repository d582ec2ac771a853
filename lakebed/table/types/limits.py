"""Limits of what people write: how long a text may be, and how deeply nested."""

import re
from typing import Final

from lakebed.errors import Invalid, TooLarge

LEVELS: Final = 32
"""Of columns in columns, in Parquet's schema above a column's values: a struct is one level, a list or a map two.

Arrow's Parquet reader ends at 100 levels of that schema, its streams (inline rows) at 64 types in types, and DuckDB's
time doubles with every list: for 16 lists in lists it takes 0.3 s, for 20 1.3 s, for 25 more than 20 s.
"""

EXPRESSION_CHARACTERS: Final = 250_000
"""Of a filter, an expression, a check or a type: 20,000 numbers after IN take sqlglot a second."""

STATEMENT_CHARACTERS: Final = 2_000_000
"""Of SQL statements, among them INSERT with its rows, and of a view's text."""

BRACKETS: Final = 100
"""In brackets, of one text. Python's stack ends sqlglot's recursion before that."""

_AS_ROWS = "Give many values as rows: merge, upsert and joins take any number of them."

# What is not closed runs to the end: it would be looked for again from every other quote otherwise.
_QUOTED = r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|`[^`]*`?|--[^\n]*|/\*.*?(?:\*/|\Z)"""
_BRACKETS = re.compile(rf"{_QUOTED}|([(\[])|([)\]])", re.DOTALL)
_ANGLES = re.compile(rf"{_QUOTED}|(<)|(>)", re.DOTALL)


def check_expression(text: str, what: str) -> None:
    """Refuse a text that would take long to read, at once; errors call it `what`."""
    check_length(text, what, EXPRESSION_CHARACTERS, _AS_ROWS)
    _check_brackets(text, what)


def check_statement(text: str) -> None:
    """The same for SQL statements."""
    check_length(text, "SQL", STATEMENT_CHARACTERS, _AS_ROWS)
    _check_brackets(text, "SQL")


def check_type_text(name: str, text: str) -> None:
    """The same for the type of a column, whose text another parser is to read by recursion."""
    check_length(text, "a type", EXPRESSION_CHARACTERS)
    if (found := _depth(text, _ANGLES)) > LEVELS:  # each is one level or two
        raise too_deep(name, found)


def check_length(text: str, what: str, most: int, advice: str = "") -> None:
    """Refuse a text with more characters than `most`."""
    if len(text) > most:
        raise TooLarge(
            f"{what} is too long",
            subject=shown(text),
            expected=f"at most {most:,} characters",
            found=f"{len(text):,}",
            advice=advice,
        )


def too_deep(path: str, found: int) -> Invalid:
    """The error for a column with this many levels."""
    return Invalid(
        "a column is nested too deeply",
        subject=shown(path) if len(path) > 80 else path,
        expected=f"at most {LEVELS} levels, where a struct is one, a list or a map two",
        found=f"{found} levels",
        advice="Flatten it, or keep its inner part as text in JSON.",
    )


def shown(text: str) -> str:
    """A text as errors show it."""
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _check_brackets(text: str, what: str) -> None:
    if _depth(text, _BRACKETS) > BRACKETS:
        raise TooLarge(
            f"{what} is nested too deeply",
            subject=shown(text),
            expected=f"at most {BRACKETS} brackets in brackets",
            advice="Split it into steps.",
        )


def _depth(text: str, brackets: re.Pattern[str]) -> int:
    """How deep a text's brackets are in each other, outside of quotes and comments."""
    depth = deepest = 0
    for match in brackets.finditer(text):
        depth = max(0, depth + (match[1] is not None) - (match[2] is not None))
        deepest = max(deepest, depth)
    return deepest
