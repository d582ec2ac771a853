"""UNDROP and RESTORE: what brings back objects and states."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName, Moment, moment_behind
from lakebed.spark.sql.objects.kinds import ObjectKind, object_kind
from lakebed.spark.sql.objects.names import RefName, namespace_name, object_name, ref_name
from lakebed.spark.sql.objects.refs import RefKind


@dataclass(frozen=True, slots=True)
class Undrop:
    """A dropped object to bring back, perhaps one of several with its name, and under another name."""

    kind: ObjectKind
    name: LakeName
    id: str | None
    new_name: LakeName | None


@dataclass(frozen=True, slots=True)
class UndropRef:
    """A dropped branch or tag to bring back."""

    kind: RefKind
    ref: RefName
    id: str | None
    new_name: RefName | None


@dataclass(frozen=True, slots=True)
class Restore:
    """A table that becomes what it was."""

    table: LakeName
    moment: Moment


def undrop(cursor: Cursor) -> Undrop | UndropRef:
    """UNDROP TABLE t [WITH ID 'id'] [AS new_name]."""
    cursor.expect("UNDROP")
    for kind in RefKind:
        if cursor.take(kind.name):
            return _undrop_ref(cursor, kind)
    own = object_kind(cursor, ObjectKind.TABLE, ObjectKind.VIEW, ObjectKind.NAMESPACE)
    name = namespace_name(cursor) if own is ObjectKind.NAMESPACE else cursor.name()
    id = cursor.string("an id as text") if cursor.take("WITH", "ID") else None
    new_name = _new_name(cursor, own) if cursor.take("AS") else None
    cursor.end("WITH ID, AS or the end")
    return Undrop(own, name, id, new_name)


def _new_name(cursor: Cursor, kind: ObjectKind) -> LakeName:
    return namespace_name(cursor) if kind is ObjectKind.NAMESPACE else object_name(cursor)


def _undrop_ref(cursor: Cursor, kind: RefKind) -> UndropRef:
    ref = ref_name(cursor)
    id = cursor.string("an id as text") if cursor.take("WITH", "ID") else None
    new_name = ref_name(cursor) if cursor.take("AS") else None
    cursor.end("WITH ID, AS or the end")
    return UndropRef(kind, ref, id, new_name)


def restore(cursor: Cursor) -> Restore:
    """RESTORE TABLE t TO VERSION AS OF 17."""
    cursor.expect("RESTORE")
    cursor.take("TABLE")
    table = object_name(cursor, "a table such as sales.orders")
    cursor.take("TO")
    when, cursor.position = moment_behind(cursor.words, cursor.position)
    if when is None:
        raise cursor.refused("this statement can't be read", expected="TO VERSION AS OF, or TO TIMESTAMP AS OF")
    cursor.end()
    return Restore(table, when)
