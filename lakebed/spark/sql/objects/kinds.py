"""The kinds of objects that a statement is about."""

from enum import Enum

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.objects.names import NAMESPACE


class ObjectKind(Enum):
    """What a statement is about."""

    TABLE = "table"
    VIEW = "view"
    NAMESPACE = "namespace"
    COLUMN = "column"


def object_kind(cursor: Cursor, *kinds: ObjectKind) -> ObjectKind:
    names = {kind.name: kind for kind in kinds}
    names |= dict.fromkeys(NAMESPACE, ObjectKind.NAMESPACE)
    word = cursor.word
    if word is None or not word.reads(*names):
        expected = " or ".join(kind.name for kind in kinds)
        raise cursor.refused("this statement can't be read", expected=expected)
    cursor.position += 1
    return names[word.text.upper()]
