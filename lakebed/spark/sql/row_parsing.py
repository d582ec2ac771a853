"""Parses the statements that change rows, except MERGE."""

import re
from dataclasses import replace

from lakebed.spark.sql.cursor import QUERY, Cursor
from lakebed.spark.sql.expressions import Cutter, table_names
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.statements import Delete, Insert, InsertOverwrite, Matched, Update
from lakebed.spark.sql.tokens import Word, Words


def insert(cursor: Cursor, before: Words | None = None) -> Insert | InsertOverwrite:
    """INSERT INTO or OVERWRITE; `before` is a WITH in front of it that belongs to its query."""
    cursor.expect("INSERT")
    overwrite = cursor.take("OVERWRITE")
    if not overwrite:
        cursor.expect("INTO")
    cursor.take("TABLE")
    table = cursor.name()
    _refuse_partition(cursor)
    matched = Matched.NAME if cursor.take("BY", "NAME") else Matched.POSITION
    where, cutter = None, Cutter(table_names(table, None, ""))
    if not overwrite and cursor.take("REPLACE", "WHERE"):
        where = cutter.cut(cursor.until(*QUERY))
    columns = _columns(cursor)
    if matched is Matched.POSITION and cursor.take("BY", "NAME"):
        matched = Matched.NAME
    if not cursor.sees_one("(", *QUERY):
        raise cursor.refused("an INSERT needs a query", expected="SELECT, VALUES, WITH, FROM, TABLE or (")
    made = Insert(table, _query(cursor, before), columns, matched)
    return InsertOverwrite(made, where, tuple(cutter.views)) if overwrite or where is not None else made


def _refuse_partition(cursor: Cursor) -> None:
    if cursor.sees("PARTITION"):
        advice = "Rows find their own partitions. To replace some, use INSERT INTO t REPLACE WHERE condition query."
        raise cursor.refused("partitions can't be named", expected="a query", advice=advice)


def _columns(cursor: Cursor) -> tuple[tuple[str, Word], ...]:
    """The columns in parentheses, unless there is a query in them."""
    ahead = Cursor(cursor.words, cursor.position)
    if not cursor.sees("(") or ahead.inside().sees_one("(", *QUERY):
        return ()
    found = []
    for item in cursor.inside().items():
        word = item.word
        name = item.column("a column")
        item.end("a comma")
        assert word is not None
        found.append((name, word))
    return tuple(found)


def _query(cursor: Cursor, before: Words | None) -> Query:
    """The remaining query, with blanks for the statement around it."""
    rest = cursor.rest("a query")
    if before is None:
        return find_uses(rest)
    text = rest.text
    gap = re.sub(r"[^\n]", " ", text[before.end : rest.start])
    words = replace(rest, words=(*before.words, *rest.words))
    return find_uses(words, before.only() + gap + rest.own_text)


def update(cursor: Cursor) -> Update:
    """UPDATE … SET … WHERE."""
    cursor.expect("UPDATE")
    table = cursor.name()
    cutter = Cutter(table_names(table, cursor.alias(), ""))
    cursor.expect("SET")
    values = assignments(cursor.until("WHERE", "FROM", "ORDER", "LIMIT"), cutter)
    return Update(table, values, _where(cursor, cutter), tuple(cutter.views))


def assignments(words: Words, cutter: Cutter) -> tuple[tuple[str, str], ...]:
    """Columns, and what they are set to."""
    if not words.words:
        raise words.refused("this statement can't be read", None, expected="such as price = price * 2")
    found: dict[str, tuple[str, str]] = {}
    for item in Cursor(words).items():
        word = item.word
        name, value = _assignment(item, cutter)
        if name.casefold() in found:
            raise words.refused("a column is set twice", word, expected="each once")
        found[name.casefold()] = name, value
    return tuple(found.values())


def _assignment(item: Cursor, cutter: Cutter) -> tuple[str, str]:
    word = item.word
    parts = cutter.column(item.chain("a column"))
    if len(parts) != 1:
        raise item.words.refused("only whole columns can be set", word, expected="a column of the table")
    item.expect("=")
    if item.sees("DEFAULT") and item.position + 1 == len(item.words.words):
        raise item.refused("DEFAULT can't be used here", expected="an expression", advice="Write the value itself.")
    return parts[0], cutter.cut(item.rest("an expression"))


def delete(cursor: Cursor) -> Delete:
    """DELETE FROM … WHERE."""
    cursor.expect("DELETE", "FROM")
    table = cursor.name()
    cutter = Cutter(table_names(table, cursor.alias(), ""))
    return Delete(table, _where(cursor, cutter), tuple(cutter.views))


def truncate(cursor: Cursor) -> Delete:
    """TRUNCATE TABLE."""
    cursor.expect("TRUNCATE", "TABLE")
    table = cursor.name()
    _refuse_partition(cursor)
    cursor.end()
    return Delete(table, None)


def _where(cursor: Cursor, cutter: Cutter) -> str | None:
    if cursor.word is None:
        return None
    cursor.expect("WHERE")
    return cutter.cut(cursor.rest("a condition"))
