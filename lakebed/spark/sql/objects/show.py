"""SHOW and LIST: what is there, as rows."""

from dataclasses import dataclass
from enum import Enum

from lakebed.errors import Invalid
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.names import NAMESPACE, NAMESPACES, RefName, catalog_name, namespace_name, ref_name
from lakebed.spark.sql.tokens import Kind


class Listed(Enum):
    """What a namespace or a catalog has several of."""

    TABLES = "tables"
    VIEWS = "views"
    NAMESPACES = "namespaces"
    BRANCHES = "branches"
    TAGS = "tags"
    REFERENCES = "references"
    CATALOGS = "catalogs"


@dataclass(frozen=True, slots=True)
class ShowObjects:
    """The tables, views or namespaces in a namespace, whose names are like a pattern."""

    listed: Listed
    inside: LakeName | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowRefs:
    """The branches or tags of a catalog, or the catalogs, whose names are like a pattern."""

    listed: Listed
    catalog: RefName | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """The names of a table's columns."""

    table: LakeName


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """The statement that creates a table or view."""

    table: LakeName


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """The properties of a table or view, or the one with a name."""

    table: LakeName
    key: str | None


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """The explicit partitions of a table."""

    table: LakeName


@dataclass(frozen=True, slots=True)
class ShowLog:
    """The commits of a ref, newest first."""

    ref: RefName | None
    catalog: RefName | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class ShowCurrent:
    """Where the session stands: its catalog, reference and namespace."""


Show = ShowObjects | ShowRefs | ShowColumns | ShowCreate | ShowProperties | ShowPartitions | ShowLog | ShowCurrent

_REFS = {"BRANCHES": Listed.BRANCHES, "TAGS": Listed.TAGS, "REFERENCES": Listed.REFERENCES}
_OBJECTS = {"TABLES": Listed.TABLES, "VIEWS": Listed.VIEWS, **dict.fromkeys(NAMESPACES, Listed.NAMESPACES)}

_REFUSED = {
    "TABLE": "Use DESCRIBE EXTENDED, or table.describe() in Python.",
    "SHARES": "Use catalog.shares() in Python.",
    "GRANTS": "A share shows some objects and no others: catalog.create_share(…) in Python.",
    "FUNCTIONS": "Functions are the session's: spark.sql('SHOW FUNCTIONS').",
}


def show(cursor: Cursor) -> Show:
    """SHOW … or LIST …."""
    cursor.position += 1
    word = cursor.word
    key = "" if word is None else word.text.upper()
    if word is not None and word.reads(*_OBJECTS):
        cursor.position += 1
        return _show_objects(cursor, _OBJECTS[key])
    if word is not None and word.reads(*_REFS):
        cursor.position += 1
        return ShowRefs(_REFS[key], catalog_name(cursor), _pattern(cursor))
    if cursor.take("CATALOGS"):
        return ShowRefs(Listed.CATALOGS, None, _pattern(cursor))
    if any(cursor.take("CURRENT", word) for word in NAMESPACE) or cursor.take("REFERENCE"):
        cursor.end()
        return ShowCurrent()
    return _show_of_table(cursor)


def _show_of_table(cursor: Cursor) -> Show:
    if cursor.take("COLUMNS"):
        return ShowColumns(_table_of_columns(cursor))
    if cursor.take("CREATE", "TABLE") or cursor.take("CREATE", "VIEW"):
        table = cursor.name()
        cursor.end()
        return ShowCreate(table)
    if cursor.take("TBLPROPERTIES"):
        return _show_properties(cursor)
    if cursor.take("PARTITIONS"):
        table = cursor.name()
        cursor.end()
        return ShowPartitions(table)
    if cursor.take("LOG"):
        return _show_log(cursor)
    raise _unknown(cursor)


def _show_objects(cursor: Cursor, listed: Listed) -> ShowObjects:
    inside = namespace_name(cursor) if cursor.take("IN") or cursor.take("FROM") else None
    return ShowObjects(listed, inside, _pattern(cursor))


def _pattern(cursor: Cursor) -> str | None:
    """The text behind LIKE, which may be left out."""
    if cursor.word is None:
        return None
    cursor.take("LIKE")
    pattern = cursor.string("LIKE 'pattern'")
    cursor.end()
    return pattern


def _table_of_columns(cursor: Cursor) -> LakeName:
    """The table of `SHOW COLUMNS IN orders IN sales`, or `IN sales.orders`."""
    if not (cursor.take("IN") or cursor.take("FROM")):
        raise cursor.refused("this statement can't be read", expected="IN table")
    start = cursor.position
    parts = cursor.chain("a table such as sales.orders")
    if not (cursor.take("IN") or cursor.take("FROM")):
        cursor.position = start
        name = cursor.name()
    else:
        inside = namespace_name(cursor)
        name = LakeName((*inside.parts, parts[-1]), inside.place, cursor.words.words[start], inside.end)
    cursor.end()
    return name


def _show_properties(cursor: Cursor) -> ShowProperties:
    table, key = cursor.name(), None
    if cursor.sees("("):
        item = cursor.inside()
        is_name = item.word is not None and item.word.names
        key = ".".join(item.chain("a property")) if is_name else item.string("a property")
        item.end()
    cursor.end()
    return ShowProperties(table, key)


def _show_log(cursor: Cursor) -> ShowLog:
    is_ref = cursor.word is not None and not cursor.sees_one("IN", "FROM", "LIMIT")
    ref = ref_name(cursor) if is_ref else None
    catalog, limit = catalog_name(cursor), None
    if cursor.take("LIMIT"):
        limit = whole_number(cursor)
    cursor.end("IN, LIMIT or the end")
    return ShowLog(ref, catalog, limit)


def whole_number(cursor: Cursor) -> int:
    """A number such as that behind LIMIT."""
    word = cursor.word
    if word is None or word.kind is not Kind.NUMBER or not word.text.isdigit():
        raise cursor.refused("this statement can't be read", expected="a whole number")
    cursor.position += 1
    return int(word.text)


def _unknown(cursor: Cursor) -> Invalid:
    expected = (
        "TABLES, NAMESPACES, VIEWS, BRANCHES, TAGS, CATALOGS, COLUMNS, CREATE TABLE, TBLPROPERTIES, PARTITIONS or LOG"
    )
    word = cursor.word
    advice = _REFUSED.get("" if word is None else word.text.upper(), "")
    return cursor.refused("sql can't show this", expected=expected, advice=advice)
