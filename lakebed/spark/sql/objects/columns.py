"""Columns in ALTER TABLE: new ones, dropped ones, and changes of one."""

from dataclasses import dataclass, replace

from lakebed.spark.sql.column_parsing import column_type
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.tokens import Word, Words

_DESCRIPTIONS = ("NOT NULL", "DEFAULT", "COMMENT", "FIRST", "AFTER")
"""What may stand behind a type, or behind another of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column goes in its struct: to the front, or behind the column of a name."""

    after: str | None


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column to add; its type and default are SQL, and its path leads into structs."""

    path: tuple[str, ...]
    word: Word
    type: str
    default: str | None = None
    required: bool = False
    comment: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Columns to add, and the words that they are made of."""

    columns: tuple[NewColumn, ...]
    if_not_exists: bool
    words: Words


@dataclass(frozen=True, slots=True)
class DropColumns:
    """Columns to drop, by their paths."""

    paths: tuple[tuple[str, ...], ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """A column that gets another name."""

    path: tuple[str, ...]
    new_name: str


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What changes about one column: what is None, or False, stays.

    `type` and `default` are SQL. A default of "" is removed.
    """

    path: tuple[str, ...]
    word: Word
    type: str | None = None
    comment: str | None = None
    default: str | None = None
    optional: bool = False
    place: Place | None = None
    new_name: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """Changes of columns, and the words that they are made of."""

    changes: tuple[ColumnChange, ...]
    words: Words


def add_columns(cursor: Cursor) -> AddColumns:
    """What follows ADD COLUMN[S]."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    items = cursor.inside() if cursor.sees("(") else cursor
    columns = [_new_column(items)]
    while items.take(","):
        columns.append(_new_column(items))
    items.end("a comma")
    cursor.end()
    return AddColumns(tuple(columns), if_not_exists, cursor.words)


def _new_column(cursor: Cursor) -> NewColumn:
    """The next column, up to a comma."""
    word, path = cursor.word, cursor.chain("a column and its type")
    assert word is not None
    found = NewColumn(path, word, column_type(cursor).own_text)
    while cursor.word is not None and not cursor.sees(","):
        found = _described(cursor, found)
    return found


def _described(item: Cursor, found: NewColumn) -> NewColumn:
    """The column with the next of its descriptions."""
    if item.take("NOT", "NULL"):
        return replace(found, required=True)
    if item.take("DEFAULT"):
        default = item.until(",", *_DESCRIPTIONS)
        if not default.words:
            raise item.refused("this statement can't be read", expected="a value")
        return replace(found, default=default.own_text)
    if item.take("COMMENT"):
        return replace(found, comment=item.string())
    place = _place(item)
    if place is None:
        expected = "NOT NULL, DEFAULT, COMMENT, FIRST, AFTER or a comma"
        raise item.refused("this statement can't be read", expected=expected)
    return replace(found, place=place)


def _place(item: Cursor) -> Place | None:
    if item.take("FIRST"):
        return Place(None)
    return Place(item.column()) if item.take("AFTER") else None


def drop_columns(cursor: Cursor) -> DropColumns:
    """What follows DROP COLUMN[S]."""
    if_exists = cursor.take("IF", "EXISTS")
    items = cursor.inside() if cursor.sees("(") else cursor
    paths = []
    for item in items.items():
        paths.append(item.chain("a column"))
        item.end("a comma")
    if not paths:
        raise items.refused("this statement can't be read", expected="a column")
    cursor.end()
    return DropColumns(tuple(paths), if_exists)


def rename_column(cursor: Cursor) -> RenameColumn:
    """What follows RENAME COLUMN."""
    path = cursor.chain("a column")
    cursor.expect("TO")
    new_name = cursor.column("its new name")
    cursor.end()
    return RenameColumn(path, new_name)


def change_columns(cursor: Cursor) -> ChangeColumns:
    """What follows ALTER COLUMN or CHANGE COLUMN."""
    changes = [_column_change(cursor)]
    while cursor.take(","):
        changes.append(_column_change(cursor))
    return ChangeColumns(tuple(changes), cursor.words)


def _column_change(item: Cursor) -> ColumnChange:
    word, path = item.word, item.chain("a column")
    assert word is not None
    found = change = ColumnChange(path, word)
    if item.word is not None and item.word.names and not item.sees_one("TYPE", "SET", "DROP", *_DESCRIPTIONS):
        found = _hive_change(item, found)
    while item.word is not None and not item.sees(","):
        found = _changed(item, found)
    if found == change:
        raise item.refused("nothing about the column is to be changed", expected=_CHANGES)
    return found


_CHANGES = "TYPE, COMMENT, SET DEFAULT, DROP DEFAULT, DROP NOT NULL, FIRST or AFTER"


def _hive_change(item: Cursor, found: ColumnChange) -> ColumnChange:
    """Hive's form, `CHANGE COLUMN a b bigint`: the new name and the type."""
    new_name = item.column("its new name")
    is_type = item.word is not None and not item.sees(",")
    if not is_type:
        raise item.refused("this change of a column is not known", expected=_CHANGES)
    type = column_type(item).own_text
    return replace(found, new_name=None if new_name == found.path[-1] else new_name, type=type)


def _changed(item: Cursor, found: ColumnChange) -> ColumnChange:
    """The change with the next of its parts."""
    if item.take("TYPE"):
        return replace(found, type=column_type(item).own_text)
    if item.take("COMMENT"):
        return replace(found, comment=item.string())
    if item.take("SET", "DEFAULT"):
        default = item.until(",", *_DESCRIPTIONS)
        if not default.words:
            raise item.refused("this statement can't be read", expected="a value")
        return replace(found, default=default.own_text)
    if item.take("DROP", "DEFAULT"):
        return replace(found, default="")
    if item.take("DROP", "NOT", "NULL"):
        return replace(found, optional=True)
    if item.sees("SET", "NOT", "NULL"):
        advice = f"Use ADD CONSTRAINT name CHECK ({found.path[-1]} IS NOT NULL)."
        raise item.refused("a column can't become required: rows that exist may have nulls", advice=advice)
    place = _place(item)
    if place is None:
        raise item.refused("this change of a column is not known", expected=_CHANGES)
    return replace(found, place=place)
