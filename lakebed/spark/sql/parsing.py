"""Parses a statement: what it is, and its parts."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lakebed.errors import Invalid
from lakebed.spark.sql.create_parsing import create, drop
from lakebed.spark.sql.cursor import QUERY, Cursor
from lakebed.spark.sql.marks import with_marks
from lakebed.spark.sql.merge_parsing import merge
from lakebed.spark.sql.queries import Query, Use, find_uses
from lakebed.spark.sql.row_parsing import delete, insert, truncate, update
from lakebed.spark.sql.statements import Select, Statement
from lakebed.spark.sql.tokens import Words, words_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CUT = ("INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "CREATE", "REPLACE")
"""The first words of statements that have expressions or queries in the middle."""

KNOWN = "SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, CREATE TABLE or DROP TABLE"

PYTHON_ONLY = {
    "ALTER": "Use table.evolve(), table.set_properties(…) or table.rename(…) in Python.",
    "SHOW": "Use catalog.tables(), catalog.namespaces(), catalog.branches() or catalog.log() in Python.",
    "CALL": "Compaction, branches and merges are methods in Python: table.compact(), catalog.merge(…).",
    "UNDROP": "Use catalog.undrop_table(…) in Python.",
    "USE": "Name the ref by ref=…, or behind the name: sales.items@dev.",
    "OPTIMIZE": "Use table.compact() in Python.",
    "RESTORE": "Use catalog.restore_table(…) in Python.",
    "COMMENT": "Use table.set_properties(…) for a table, table.evolve() for a column, in Python.",
    "EXECUTE": "Pass the statement itself.",
    "BEGIN": "Pass each statement in a call of its own; catalog.transaction() makes one commit of several.",
}
"""What to do instead, by the first words of statements that `sql` does not take."""


def parse_statement(text: str, spark: "SparkSession | None" = None, namespace: tuple[str, ...] = ()) -> Statement:
    """The statement in a text, cut where Spark's own parser does if the session can tell.

    `Invalid` points at the word that can't be read. `namespace` is the session's: names of one part are looked for in
    it.
    """
    return parse_words(words_of(text, namespace), spark)


def parse_words(words: Words, spark: "SparkSession | None" = None) -> Statement:
    """The same for the words of one statement."""
    is_cut = words.words[0].reads(*_CUT)
    cursor = Cursor(with_marks(spark, words) if is_cut and spark is not None else words)
    word = cursor.word
    if word is None or not word.reads(*_READERS):
        raise _unknown_statement(cursor)
    return _READERS[word.text.upper()](cursor)


def parse_query(text: str) -> Query:
    """The query in a text."""
    statement = parse_statement(text)
    if not isinstance(statement, Select):
        raise Invalid("this is not a query", subject=text[:80], expected="SELECT …")
    return statement.query


def _query(cursor: Cursor) -> Select:
    return Select(find_uses(cursor.rest("a query")))


def _with(cursor: Cursor) -> Statement:
    """A query with common table expressions, or an INSERT of one."""
    start = cursor.position
    cursor.take("WITH")
    cursor.until("INSERT", "UPDATE", "DELETE", "MERGE", "SELECT", "FROM", "VALUES", "TABLE")
    if cursor.sees("INSERT"):
        return insert(cursor, cursor.words.part(start, cursor.position))
    if cursor.sees_one("UPDATE", "DELETE", "MERGE"):
        raise cursor.refused("WITH may only precede a query or an INSERT", expected="SELECT or INSERT")
    cursor.position = start
    return _query(cursor)


def _explain(cursor: Cursor) -> Select:
    start = cursor.position
    cursor.take("EXPLAIN")
    if cursor.sees_one("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL"):
        cursor.position += 1
    return _about_query(cursor, start, "Explain the query that finds the rows.")


def _describe(cursor: Cursor) -> Select:
    start = cursor.position
    cursor.position += 1
    if cursor.take("QUERY") or (cursor.sees_one("(", *QUERY) and not cursor.sees("TABLE")):
        return _about_query(cursor, start, "")
    if cursor.sees_one("FUNCTION", "NAMESPACE", "DATABASE", "SCHEMA", "CATALOG"):
        raise cursor.refused("only tables and queries can be described", expected="a table")
    cursor.take("TABLE")
    if cursor.take("EXTENDED") or cursor.take("FORMATTED"):
        raise cursor.refused("sql only describes columns", advice="Use table.describe() in Python.")
    name = cursor.name()
    cursor.end()
    whole = cursor.words.part(start, len(cursor.words.words))
    return Select(Query(whole, whole.only(), (Use(name, None),)))


def _about_query(cursor: Cursor, start: int, advice: str) -> Select:
    """A statement about a query, which begins at the word `start`."""
    if not cursor.sees_one("(", *QUERY):
        raise cursor.refused("this is not a query", expected="SELECT …", advice=advice)
    query = find_uses(cursor.rest("a query"))
    whole = cursor.words.part(start, len(cursor.words.words))
    return Select(Query(query.words, whole.only(), query.uses, query.qualifiers, query.suspects))


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "SELECT": _query,
    "FROM": _query,
    "VALUES": _query,
    "TABLE": _query,
    "(": _query,
    "WITH": _with,
    "EXPLAIN": _explain,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "INSERT": insert,
    "UPDATE": update,
    "DELETE": delete,
    "TRUNCATE": truncate,
    "MERGE": merge,
    "CREATE": create,
    "REPLACE": create,
    "DROP": drop,
}


def _unknown_statement(cursor: Cursor) -> Invalid:
    word = cursor.word
    advice = PYTHON_ONLY.get(word.text.upper() if word else "", "Pass statements about the session to spark.sql(…).")
    return cursor.refused("sql does not take this statement", expected=KNOWN, advice=advice)
