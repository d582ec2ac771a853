"""Parses the declaration of a column: `price DECIMAL(10, 2) DEFAULT 1 NOT NULL COMMENT 'each'`."""

from dataclasses import replace

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.statements import Column
from lakebed.spark.sql.tokens import Kind, Words

_OPTIONS = ("NOT NULL", "COMMENT", "DEFAULT", "PRIMARY KEY", "GENERATED", "CHECK", "CONSTRAINT", "FIRST", "AFTER")
"""What may stand behind a type, or behind another option."""

_ANGLES = {"<": 1, ">": -1, ">>": -2, ">>>": -3, "<>": 0}


def declared_column(cursor: Cursor) -> Column:
    """A column, its type and options; stops before PRIMARY KEY, and before what does not belong to a column."""
    word = cursor.word
    name = cursor.column("a column and its type")
    assert word is not None
    column = Column(name, column_type(cursor).own_text, word)
    while cursor.word is not None and not cursor.sees_one(",", "PRIMARY", "FIRST", "AFTER"):
        column = _with_option(cursor, column)
    return column


def _with_option(cursor: Cursor, column: Column) -> Column:
    if column.default is None and cursor.take("DEFAULT"):
        return replace(column, default=_expression(cursor))
    if cursor.take("NOT", "NULL"):
        return replace(column, required=True)
    if cursor.take("COMMENT"):
        return replace(column, comment=cursor.string())
    expected = "NOT NULL, COMMENT, DEFAULT, PRIMARY KEY or a comma"
    raise cursor.refused("this statement can't be read", expected=expected)


def column_type(cursor: Cursor) -> Words:
    """The words of a type, such as `struct<a: int, b: array<string>>`."""
    start, angles, brackets = cursor.position, 0, 0
    while cursor.word is not None:
        word = cursor.word
        is_inside = angles > 0 or brackets > 0
        if not is_inside and (word.reads(",") or any(cursor.sees(*option.split()) for option in _OPTIONS)):
            break
        brackets += word.reads("(") - word.reads(")")
        angles += _ANGLES.get(word.text, 0) if word.kind is Kind.SIGN else 0
        cursor.position += 1
    if cursor.position == start:
        raise cursor.refused("a column needs a type", expected="such as id BIGINT")
    return cursor.words.part(start, cursor.position)


def _expression(cursor: Cursor) -> str:
    found = cursor.until(",", *_OPTIONS)
    if not found.words:
        raise cursor.refused("this statement can't be read", expected="a value")
    return found.own_text
