"""Parses the statements that change rows, except MERGE."""

import re
from collections.abc import Iterator
from dataclasses import replace

from lakebed.spark.sql.cursor import QUERY, Cursor
from lakebed.spark.sql.expressions import Cutter, distinct_names, table_names
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.source_parsing import source
from lakebed.spark.sql.statements import (
    Assigned,
    Constant,
    Default,
    Delete,
    GivenDefault,
    Insert,
    InsertOverwrite,
    Matched,
    Merge,
    MergeClause,
    Update,
    Value,
)
from lakebed.spark.sql.tokens import Kind, Word, Words
from lakebed.table.expression.merge_clauses import Then, When
from lakebed.table.expression.scope import TARGET


def insert(cursor: Cursor, before: Words | None = None) -> Insert | InsertOverwrite:
    """INSERT INTO or OVERWRITE; `before` is a WITH in front of it that belongs to its query."""
    cursor.expect("INSERT")
    overwrite = cursor.take("OVERWRITE")
    if not overwrite:
        cursor.expect("INTO")
    cursor.take("TABLE")
    table = cursor.name()
    constants = _partition(cursor)
    matched = Matched.NAME if cursor.take("BY", "NAME") else Matched.POSITION
    where, cutter = None, Cutter.of(cursor.words, table, table_names(table, None, ""))
    if not overwrite and cursor.take("REPLACE", "WHERE"):
        where = cutter.cut(cursor.until(*QUERY))
    columns = _columns(cursor)
    if matched is Matched.POSITION and cursor.take("BY", "NAME"):
        matched = Matched.NAME
    if not cursor.sees_one("(", *QUERY):
        raise cursor.refused("an INSERT needs a query", expected="SELECT, VALUES, WITH, FROM, TABLE or (")
    # Spark's marks are not for the inside of queries.
    defaults = tuple(_given_defaults(Cursor(replace(cursor.words, marks=None), cursor.position)))
    made = Insert(table, _query(cursor, before), columns, matched, defaults, constants)
    return InsertOverwrite(made, where, tuple(cutter.views)) if overwrite or where is not None else made


def _partition(cursor: Cursor) -> tuple[Constant, ...]:
    """The columns of PARTITION (…) that have a value; a column without one is filled by the query."""
    found = []
    for item in cursor.inside().items() if cursor.take("PARTITION") else ():
        word = item.word
        name = item.column()
        assert word is not None
        if item.take("="):
            value = item.rest("a value")
            [first, *more] = value.words
            text = first.text if first.kind is Kind.STRING and not more else None
            found.append(Constant(name, value.own_text, word, text))
        item.end("= or a comma")
    return tuple(found)


def _given_defaults(cursor: Cursor) -> Iterator[GivenDefault]:
    """The words DEFAULT in the rows behind VALUES."""
    if not cursor.take("VALUES"):
        return
    while cursor.sees("("):
        for number, item in enumerate(cursor.inside().items()):
            if item.word is not None and item.sees("DEFAULT") and len(item.words.words) == 1:
                yield GivenDefault(item.word, number)
        cursor.take(",")


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


def update(cursor: Cursor) -> Update | Merge:
    """UPDATE … SET … [FROM …] WHERE."""
    cursor.expect("UPDATE")
    table, alias = cursor.name(), cursor.alias()
    cutter = Cutter.of(cursor.words, table, table_names(table, alias, ""))
    cursor.expect("SET")
    words = cursor.until("WHERE", "FROM", "ORDER", "LIMIT")
    if cursor.take("FROM"):
        rows, joined = _joined(cursor, table, alias, "WHERE")
        return _matched(cursor, table, rows, joined, Then.UPDATE, assignments(words, joined))
    values = assignments(words, cutter)
    return Update(table, values, _where(cursor, cutter), tuple(cutter.views))


def assignments(words: Words, cutter: Cutter) -> Assigned:
    """Columns and fields of structs, and what they are set to."""
    if not words.words:
        raise words.refused("this statement can't be read", None, expected="such as price = price * 2")
    found: dict[tuple[str, ...], tuple[tuple[str, ...], Value]] = {}
    for item in Cursor(words).items():
        word = item.word
        path = cutter.column(item.chain("a column"))
        if cutter.is_of_source(path):
            raise words.refused("a column of the source can't be set", word, expected="a column of the table")
        folded = tuple(part.casefold() for part in path)
        if any(folded[: len(other)] == other or other[: len(folded)] == folded for other in found):
            raise words.refused("a column is set twice", word, expected="each once")
        if item.sees("["):
            raise item.refused("only columns and fields of structs can be set", expected="=")
        item.expect("=")
        found[folded] = path, value(item, cutter)
    return tuple(found.values())


def value(item: Cursor, cutter: Cutter) -> Value:
    """What a column is set to."""
    if item.sees("DEFAULT") and item.position + 1 == len(item.words.words):
        return Default.DEFAULT
    return cutter.cut(item.rest("an expression"))


def delete(cursor: Cursor) -> Delete | Merge:
    """DELETE FROM … [USING …] WHERE."""
    cursor.expect("DELETE", "FROM")
    table, alias = cursor.name(), cursor.alias()
    if cursor.take("USING"):
        rows, joined = _joined(cursor, table, alias, "WHERE")
        return _matched(cursor, table, rows, joined, Then.DELETE, None)
    cutter = Cutter.of(cursor.words, table, table_names(table, alias, ""))
    return Delete(table, _where(cursor, cutter), tuple(cutter.views))


def _joined(cursor: Cursor, table: LakeName, alias: str | None, behind: str) -> tuple[Query, Cutter]:
    """The source behind USING or FROM, and what cuts expressions over both tables."""
    rows, named = source(cursor, behind)
    return rows, Cutter.of(cursor.words, table, distinct_names(table_names(table, alias, TARGET), named))


def _matched(
    cursor: Cursor, table: LakeName, rows: Query, cutter: Cutter, then: Then, values: Assigned | None
) -> Merge:
    """A change of the rows that a source matches, which is a merge with one clause."""
    on = _where(cursor, cutter)
    if on is None:
        raise cursor.refused("it is not clear which rows belong together", expected="WHERE condition")
    clauses = (MergeClause(When.MATCHED, then, values),)
    return Merge(table, rows, on, clauses, tuple(cutter.views), joined=then)


def truncate(cursor: Cursor) -> Delete:
    """TRUNCATE TABLE."""
    cursor.expect("TRUNCATE", "TABLE")
    table = cursor.name()
    if cursor.sees("PARTITION"):
        raise cursor.refused("partitions can't be truncated", expected="the end", advice="Use DELETE FROM t WHERE ….")
    cursor.end()
    return Delete(table, None)


def _where(cursor: Cursor, cutter: Cutter) -> str | None:
    if cursor.word is None:
        return None
    cursor.expect("WHERE")
    return cutter.cut(cursor.rest("a condition"))
