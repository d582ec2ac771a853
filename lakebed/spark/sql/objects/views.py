"""CREATE, DROP and ALTER VIEW."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.alter import RenameTo, SetProperties, UnsetProperties, property_change
from lakebed.spark.sql.objects.names import object_name
from lakebed.spark.sql.properties import Pairs, properties
from lakebed.spark.sql.queries import Query, find_uses

VIEW = "a view such as sales.totals"


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column's name in a view, and its comment."""

    name: str
    comment: str


@dataclass(frozen=True, slots=True)
class CreateView:
    """A view to create, or to replace."""

    view: LakeName
    columns: tuple[ViewColumn, ...]
    query: Query
    properties: Pairs
    comment: str | None
    if_not_exists: bool
    replace: bool


@dataclass(frozen=True, slots=True)
class DropView:
    """A view to drop; one of a single part may be a temporary view of the session."""

    view: LakeName
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AlterView:
    """A change of a view: another query, a name, properties."""

    view: LakeName
    change: Query | SetProperties | UnsetProperties | RenameTo


def create_view(cursor: Cursor, replace: bool) -> CreateView:
    """What follows CREATE [OR REPLACE] VIEW."""
    if_not_exists = not replace and cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name(VIEW)
    columns = tuple(_column(item) for item in cursor.inside().items()) if cursor.sees("(") else ()
    given: Pairs = ()
    comment = None
    while not cursor.take("AS"):
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.string()
        elif not given and cursor.take("TBLPROPERTIES"):
            given = properties(cursor)
        else:
            raise cursor.refused("this statement can't be read", expected="COMMENT, TBLPROPERTIES or AS query")
    query = find_uses(cursor.rest("a query"))
    return CreateView(name, columns, query, given, comment, if_not_exists, replace)


def _column(item: Cursor) -> ViewColumn:
    name = item.column()
    comment = item.string() if item.take("COMMENT") else ""
    item.end("COMMENT or a comma")
    return ViewColumn(name, comment)


def drop_view(cursor: Cursor) -> DropView:
    """What follows DROP VIEW."""
    if_exists = cursor.take("IF", "EXISTS")
    name = object_name(cursor, VIEW)
    cursor.end()
    return DropView(name, if_exists)


def alter_view(cursor: Cursor) -> AlterView:
    """What follows ALTER VIEW."""
    name = cursor.name(VIEW)
    return AlterView(name, _change(cursor))


def _change(cursor: Cursor) -> Query | SetProperties | UnsetProperties | RenameTo:
    if cursor.take("AS"):
        return find_uses(cursor.rest("a query"))
    change = property_change(cursor)
    if change is None and cursor.take("RENAME", "TO"):
        change = RenameTo(object_name(cursor))
    if change is None:
        expected = "AS query, RENAME TO, SET TBLPROPERTIES or UNSET TBLPROPERTIES"
        raise cursor.refused("this change of a view is not known", expected=expected)
    cursor.end()
    return change
