"""Parses a statement: what it is, and its parts."""

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lakebed.errors import Invalid
from lakebed.spark.sql.cursor import QUERY, Cursor
from lakebed.spark.sql.marks import with_marks
from lakebed.spark.sql.merge_parsing import merge
from lakebed.spark.sql.objects.comments import comment_on
from lakebed.spark.sql.objects.describe import describe, describes_query
from lakebed.spark.sql.objects.maintenance import analyze, optimize, refresh
from lakebed.spark.sql.objects.parsing import ObjectStatement, alter, create, drop
from lakebed.spark.sql.objects.refs import merge_branch, set_catalog, use
from lakebed.spark.sql.objects.returns import restore, undrop
from lakebed.spark.sql.objects.show import show
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.row_parsing import delete, insert, truncate, update
from lakebed.spark.sql.statements import Delete, Select, Statement, Update
from lakebed.spark.sql.tokens import Words, words_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CUT = ("INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "CREATE", "REPLACE")
"""The first words of statements that have expressions or queries in the middle."""

KNOWN = "a query, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, CREATE, ALTER, DROP, SHOW, DESCRIBE, USE, …"

AnyStatement = Statement | ObjectStatement

PYTHON_ONLY = {
    "CALL": "Compaction, branches and merges are statements: OPTIMIZE, CREATE BRANCH, MERGE BRANCH.",
    "EXECUTE": "Pass the statement itself.",
    "BEGIN": "catalog.transaction() makes one commit of several statements.",
    "COMMIT": "catalog.transaction() makes one commit of several statements.",
    "ROLLBACK": "catalog.transaction() makes one commit of several statements; catalog.revert(…) undoes a commit.",
    "VACUUM": "Every version keeps its files. catalog.purge_table(…) erases a dropped table with its files.",
    "GRANT": "A share shows some objects and no others: catalog.create_share(…) in Python.",
    "REVOKE": "A share shows some objects and no others: catalog.create_share(…) in Python.",
    "CACHE": "Create a temporary view of a query, and pass CACHE TABLE with its name to spark.sql(…).",
    "UNCACHE": "Pass UNCACHE TABLE with a temporary view's name to spark.sql(…).",
    "MSCK": "Add files that exist with table.add_files(…) in Python.",
    "REPAIR": "Add files that exist with table.add_files(…) in Python.",
    "LOAD": "Add files that exist with table.add_files(…) in Python, or INSERT INTO … SELECT * FROM parquet.`path`.",
    "COPY": "Add files that exist with table.add_files(…) in Python, or INSERT INTO … SELECT * FROM parquet.`path`.",
    "RESET": "Pass settings of the session to spark.sql(…).",
    "DECLARE": "Pass statements about the session's variables to spark.sql(…).",
    "ASSIGN": "catalog.reset(…) makes a branch what it was at a version, and MERGE BRANCH brings it another's changes.",
}
"""What to do instead, by the first words of statements that `sql` does not take."""


def parse_statement(
    text: str, spark: "SparkSession | None" = None, namespace: tuple[str, ...] | None = None
) -> AnyStatement:
    """The statement in a text, cut where Spark's own parser does if the session can tell.

    `Invalid` points at the word that can't be read. `namespace` is the session's: names of one part are looked for in
    it, unless it is None.
    """
    return parse_words(words_of(text, namespace), spark)


def parse_words(words: Words, spark: "SparkSession | None" = None) -> AnyStatement:
    """The same for the words of one statement."""
    is_cut = words.words[0].reads(*_CUT)
    cursor = Cursor(with_marks(spark, words) if is_cut and spark is not None else words)
    word = cursor.word
    if word is None or not word.reads(*_READERS):
        raise _unknown_statement(cursor)
    statement = _READERS[word.text.upper()](cursor)
    if isinstance(statement, Update | Delete) and cursor.words.stuck is not None:
        raise _unreadable(cursor.words, cursor.words.stuck)
    return statement


def _unreadable(words: Words, stuck: int) -> Invalid:
    """What ours reads and Spark's parser does not: a misspelt WHERE would become a part of the value before it."""
    at = next((word for word in words.words if word.end > stuck), None)
    return words.refused("Spark can't read this statement from here on", at)


def parse_query(text: str, namespace: tuple[str, ...] | None = None) -> Query:
    """The query in a text; names of one part are looked for in the namespace, unless it is None."""
    statement = parse_statement(text, namespace=namespace)
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


def _describe(cursor: Cursor) -> AnyStatement:
    start = cursor.position
    cursor.position += 1
    return _about_query(cursor, start, "") if describes_query(cursor) else describe(cursor)


def _merge(cursor: Cursor) -> AnyStatement:
    """MERGE INTO of rows, or MERGE BRANCH."""
    return merge_branch(cursor) if cursor.sees("MERGE", "BRANCH") or cursor.sees("MERGE", "TAG") else merge(cursor)


def _about_query(cursor: Cursor, start: int, advice: str) -> Select:
    """A statement about a query, which begins at the word `start`."""
    if not cursor.sees_one("(", *QUERY):
        raise cursor.refused("this is not a query", expected="SELECT …", advice=advice)
    query = find_uses(cursor.rest("a query"))
    whole = cursor.words.part(start, len(cursor.words.words))
    return Select(replace(query, text=whole.only(), called=frozenset()))


_READERS: dict[str, Callable[[Cursor], AnyStatement]] = {
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
    "MERGE": _merge,
    "CREATE": create,
    "REPLACE": create,
    "DROP": drop,
    "ALTER": alter,
    "SHOW": show,
    "LIST": show,
    "USE": use,
    "SET": set_catalog,
    "COMMENT": comment_on,
    "UNDROP": undrop,
    "RESTORE": restore,
    "OPTIMIZE": optimize,
    "ANALYZE": analyze,
    "REFRESH": refresh,
}


def _unknown_statement(cursor: Cursor) -> Invalid:
    """The error for a text that begins with no statement's first word: what to do instead, or what may be meant."""
    word = "" if cursor.word is None else cursor.word.text.upper()
    near = get_close_matches(word, _READERS, 1)
    advice = PYTHON_ONLY.get(word) or (f"Is {near[0]} meant?" if near else "docs/guide/sql.md lists the statements.")
    return cursor.refused("sql does not take this statement", expected=KNOWN, advice=advice)
