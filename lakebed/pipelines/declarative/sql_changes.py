"""AUTO CDC in SQL: from which changes, by which keys, in which order."""

from typing import Literal

from lakebed.pipelines.declarative.wanted import Parts
from lakebed.pipelines.flows import Cdc
from lakebed.spark.sql.cursor import Cursor

_CLAUSES = ("APPLY AS", "SEQUENCE BY", "COLUMNS", "STORED AS", "TRACK HISTORY")


def changes(cursor: Cursor) -> tuple[Parts, Cdc]:
    """`FROM STREAM source KEYS (…) [APPLY AS DELETE WHEN …] SEQUENCE BY … [COLUMNS …] [STORED AS SCD TYPE …] …`"""
    cursor.expect("FROM")
    source = _source(cursor)
    cursor.expect("KEYS")
    keys = tuple(item.column() for item in cursor.inside().items())
    deletes = None
    if cursor.take("APPLY", "AS", "DELETE", "WHEN"):
        deletes = _expression(cursor)
    cursor.expect("SEQUENCE", "BY")
    sequence = _expression(cursor)
    columns, left_out = _selection(cursor) if cursor.take("COLUMNS") else (None, ())
    scd = _scd(cursor) if cursor.take("STORED", "AS", "SCD", "TYPE") else 1
    tracked, untracked = _selection(cursor) if cursor.take("TRACK", "HISTORY", "ON") else (None, ())
    cursor.end()
    return source, Cdc(keys, sequence, deletes, columns, left_out, scd, tracked, untracked)


def _source(cursor: Cursor) -> Parts:
    if not cursor.take("STREAM"):
        raise cursor.refused("changes are applied from a stream", expected="STREAM source")
    if not cursor.sees("("):
        return cursor.chain("a table")
    inside = cursor.inside()
    found = inside.chain("a table")
    inside.end(")")
    return found


def _expression(cursor: Cursor) -> str:
    found = cursor.until(*_CLAUSES)
    if not found.words:
        raise cursor.refused("this statement can't be read", expected="an expression")
    return found.own_text


def _selection(cursor: Cursor) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """`(a, b)` or `* EXCEPT (a, b)`."""
    if cursor.take("*"):
        cursor.expect("EXCEPT")
        return None, tuple(item.column() for item in cursor.inside().items())
    return tuple(item.column() for item in cursor.inside().items()), ()


def _scd(cursor: Cursor) -> Literal[1, 2]:
    word = cursor.word
    if word is None or word.text not in ("1", "2"):
        raise cursor.refused("there is no such type of history", expected="1 or 2")
    cursor.position += 1
    return 1 if word.text == "1" else 2
