"""OPTIMIZE, and the statements that Lakebed has nothing to do for: ANALYZE and REFRESH."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName


@dataclass(frozen=True, slots=True)
class Optimize:
    """A table whose files are compacted: all, or those that may have rows that pass."""

    table: LakeName
    where: str | None


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """A statement that is satisfied as soon as its table exists."""

    table: LakeName


def optimize(cursor: Cursor) -> Optimize:
    """OPTIMIZE t [WHERE condition]."""
    cursor.expect("OPTIMIZE")
    cursor.take("TABLE")
    table = cursor.name()
    cursor.take("FULL")
    where = cursor.until("ZORDER").own_text if cursor.take("WHERE") else None
    if where == "":
        raise cursor.refused("this statement can't be read", expected="a condition")
    if cursor.sees("ZORDER"):
        advice = "Sort the files instead: table.compact(spark, strategy='sort', sort_by=[…]) in Python."
        raise cursor.refused("files are not ordered by a Z-curve", advice=advice)
    cursor.end("WHERE or the end")
    return Optimize(table, where)


def analyze(cursor: Cursor) -> NothingToDo:
    """ANALYZE TABLE t …: statistics are written with the rows."""
    cursor.expect("ANALYZE", "TABLE")
    table = cursor.name()
    cursor.position = len(cursor.words.words)
    return NothingToDo(table)


def refresh(cursor: Cursor) -> NothingToDo:
    """REFRESH [TABLE] t: every statement reads the newest version."""
    cursor.expect("REFRESH")
    cursor.take("TABLE")
    table = cursor.name()
    cursor.end()
    return NothingToDo(table)
