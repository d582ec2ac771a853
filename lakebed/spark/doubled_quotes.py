"""A quote inside a literal, 'it''s': Spark 4.0 reads two literals side by side, and means its."""

import re

from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.table.sql.tree import short

# What may hold quotes that are no literal's, and literals, in which a doubled quote does not end them.
_PIECES = re.compile(r"""--[^\n]*|/\*.*?\*/|`[^`]*`|"(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.|'')*)'""", re.DOTALL)


def check_quotes(session: SparkSession, text: str, told: str, table: str) -> None:
    """Refuse SQL that this session would take for something else; `told` is what errors call it."""
    if means_otherwise(session, text):
        raise Invalid(
            f"{told} has a doubled quote, which Spark {session.version} leaves out",
            subject=f"{table}: {short(text)}",
            expected=r"a quote behind a backslash: 'it\'s'",
            advice="Or use Spark 4.1.",
        )


def means_otherwise(session: SparkSession, text: str) -> bool:
    """Whether the text has a literal with a doubled quote, and the session takes it for two; no job runs."""
    return any("''" in (one[1] or "") for one in _PIECES.finditer(text)) and _splits(session)


def _splits(session: SparkSession) -> bool:
    return session.sql("SELECT 'a''b'").columns == ["ab"]
