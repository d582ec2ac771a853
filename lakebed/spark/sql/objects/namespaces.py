"""CREATE, DROP and ALTER NAMESPACE; DATABASE and SCHEMA mean the same."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.alter import RenameTo, SetProperties, UnsetProperties
from lakebed.spark.sql.objects.names import namespace_name
from lakebed.spark.sql.properties import Pairs, properties, property_names


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """A namespace to create."""

    namespace: LakeName
    properties: Pairs
    comment: str | None
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """A namespace to drop; with `cascade` all that is in it too."""

    namespace: LakeName
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class AlterNamespace:
    """A change of a namespace."""

    namespace: LakeName
    change: SetProperties | UnsetProperties | RenameTo


def create_namespace(cursor: Cursor) -> CreateNamespace:
    """What follows CREATE NAMESPACE."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = namespace_name(cursor)
    given: Pairs = ()
    comment = None
    while cursor.word is not None:
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.string()
        elif not given and (cursor.take("WITH", "PROPERTIES") or cursor.take("WITH", "DBPROPERTIES")):
            given = properties(cursor)
        elif cursor.sees("LOCATION"):
            advice = "Give tables a location, or leave it out."
            raise cursor.refused("a namespace has no folder of its own", advice=advice)
        else:
            cursor.end("COMMENT, WITH PROPERTIES or the end")
    return CreateNamespace(name, given, comment, if_not_exists)


def drop_namespace(cursor: Cursor) -> DropNamespace:
    """What follows DROP NAMESPACE."""
    if_exists = cursor.take("IF", "EXISTS")
    name = namespace_name(cursor)
    cascade = cursor.take("CASCADE")
    if not cascade:
        cursor.take("RESTRICT")
    cursor.end("CASCADE or the end")
    return DropNamespace(name, if_exists, cascade)


def alter_namespace(cursor: Cursor) -> AlterNamespace:
    """What follows ALTER NAMESPACE."""
    name = namespace_name(cursor)
    return AlterNamespace(name, _change(cursor))


def _change(cursor: Cursor) -> SetProperties | UnsetProperties | RenameTo:
    change: SetProperties | UnsetProperties | RenameTo
    if cursor.take("SET", "PROPERTIES") or cursor.take("SET", "DBPROPERTIES"):
        change = SetProperties(properties(cursor))
    elif cursor.take("UNSET", "PROPERTIES") or cursor.take("UNSET", "DBPROPERTIES"):
        change = UnsetProperties(property_names(cursor))
    elif cursor.take("RENAME", "TO"):
        change = RenameTo(namespace_name(cursor))
    else:
        expected = "SET PROPERTIES, UNSET PROPERTIES or RENAME TO"
        raise cursor.refused("this change of a namespace is not known", expected=expected)
    cursor.end()
    return change
