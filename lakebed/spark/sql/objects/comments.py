"""COMMENT ON."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.kinds import ObjectKind, object_kind
from lakebed.spark.sql.objects.names import namespace_name


@dataclass(frozen=True, slots=True)
class CommentOn:
    """A comment of a table, a view, a namespace or a column; None removes it."""

    kind: ObjectKind
    name: LakeName
    comment: str | None


def comment_on(cursor: Cursor) -> CommentOn:
    """COMMENT ON TABLE t IS 'text'."""
    cursor.expect("COMMENT", "ON")
    kind = object_kind(cursor, ObjectKind.TABLE, ObjectKind.VIEW, ObjectKind.NAMESPACE, ObjectKind.COLUMN)
    name = namespace_name(cursor) if kind in (ObjectKind.NAMESPACE, ObjectKind.COLUMN) else cursor.name()
    if kind is ObjectKind.COLUMN and len(name.parts) < 2:
        raise cursor.words.refused("a column is named with its table", name.word, expected="such as sales.orders.price")
    cursor.expect("IS")
    comment = None if cursor.take("NULL") else cursor.string("'text' or NULL")
    cursor.end()
    return CommentOn(kind, name, comment)
