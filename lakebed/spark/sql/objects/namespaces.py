"""CREATE, DROP and ALTER NAMESPACE; DATABASE and SCHEMA mean the same."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.alter import RenameTo, SetProperties, UnsetProperties
from lakebed.spark.sql.objects.names import namespace_name
from lakebed.spark.sql.objects.storage import SetLocation, SetOwner, owner_name
from lakebed.spark.sql.properties import Pairs, properties, property_names


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """A namespace to create."""

    namespace: LakeName
    properties: Pairs
    comment: str | None
    location: str | None
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """A namespace to drop; with `cascade` all that is in it too."""

    namespace: LakeName
    if_exists: bool
    cascade: bool


NamespaceChange = SetProperties | UnsetProperties | RenameTo | SetLocation | SetOwner


@dataclass(frozen=True, slots=True)
class AlterNamespace:
    """A change of a namespace."""

    namespace: LakeName
    change: NamespaceChange


def create_namespace(cursor: Cursor) -> CreateNamespace:
    """What follows CREATE NAMESPACE."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = namespace_name(cursor)
    given: Pairs = ()
    comment = location = None
    while cursor.word is not None:
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.string()
        elif not given and (cursor.take("WITH", "PROPERTIES") or cursor.take("WITH", "DBPROPERTIES")):
            given = properties(cursor)
        elif location is None and cursor.take("LOCATION"):
            location = cursor.string()
        else:
            cursor.end("COMMENT, LOCATION, WITH PROPERTIES or the end")
    return CreateNamespace(name, given, comment, location, if_not_exists)


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


def _change(cursor: Cursor) -> NamespaceChange:
    change: NamespaceChange
    if cursor.take("SET", "PROPERTIES") or cursor.take("SET", "DBPROPERTIES"):
        change = SetProperties(properties(cursor))
    elif cursor.take("UNSET", "PROPERTIES") or cursor.take("UNSET", "DBPROPERTIES"):
        change = UnsetProperties(property_names(cursor))
    elif cursor.take("RENAME", "TO"):
        change = RenameTo(namespace_name(cursor))
    elif cursor.take("SET", "LOCATION"):
        change = SetLocation(cursor.string())
    elif cursor.take("SET", "OWNER", "TO") or cursor.take("OWNER", "TO"):
        change = SetOwner(owner_name(cursor))
    else:
        expected = "SET PROPERTIES, UNSET PROPERTIES, SET LOCATION, OWNER TO or RENAME TO"
        raise cursor.refused("this change of a namespace is not known", expected=expected)
    cursor.end()
    return change
