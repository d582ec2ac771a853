"""Finds which statement about objects a text is, by its first words."""

from dataclasses import replace

from lakebed.spark.sql import create_parsing
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.objects.alter import AlterTable, alter_table
from lakebed.spark.sql.objects.comments import CommentOn
from lakebed.spark.sql.objects.describe import DescribeDetail, DescribeHistory, DescribeNamespace, DescribeTable
from lakebed.spark.sql.objects.like import CreateTableLike, create_table_like
from lakebed.spark.sql.objects.maintenance import NothingToDo, Optimize
from lakebed.spark.sql.objects.names import NAMESPACE
from lakebed.spark.sql.objects.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
    alter_namespace,
    create_namespace,
    drop_namespace,
)
from lakebed.spark.sql.objects.refs import (
    CreateRef,
    DropRef,
    MergeBranch,
    RefKind,
    UseCatalog,
    UseNamespace,
    UseReference,
    create_ref,
    drop_ref,
)
from lakebed.spark.sql.objects.returns import Restore, Undrop, UndropRef
from lakebed.spark.sql.objects.show import Show
from lakebed.spark.sql.objects.views import (
    AlterView,
    CreateView,
    DropView,
    alter_view,
    create_view,
    drop_view,
)
from lakebed.spark.sql.statements import CreateTable, CreateTemporaryView, DropTable

ObjectStatement = (
    AlterTable
    | AlterView
    | AlterNamespace
    | CreateTableLike
    | CreateView
    | CreateNamespace
    | CreateRef
    | DropView
    | DropNamespace
    | DropRef
    | MergeBranch
    | UseReference
    | UseNamespace
    | UseCatalog
    | CommentOn
    | Undrop
    | UndropRef
    | Restore
    | Optimize
    | NothingToDo
    | Show
    | DescribeTable
    | DescribeHistory
    | DescribeDetail
    | DescribeNamespace
)

_PYTHON_ONLY = {
    ("CREATE", "CATALOG"): "Use lake.create_catalog(…) in Python.",
    ("CREATE", "SHARE"): "Use catalog.create_share(…) in Python.",
    ("CREATE", "FUNCTION"): "Functions are the session's: pass it to spark.sql(…).",
    ("DROP", "CATALOG"): "Use lake.drop_catalog(…) in Python.",
    ("DROP", "SHARE"): "Use catalog.drop_share(…) in Python.",
    ("DROP", "FUNCTION"): "Functions are the session's: pass it to spark.sql(…).",
    ("ALTER", "CATALOG"): "Use lake.rename_catalog(…) in Python.",
    ("ALTER", "BRANCH"): "Use catalog.rename_branch(…) in Python.",
    ("ALTER", "TAG"): "Use catalog.rename_tag(…) in Python.",
    ("ALTER", "SHARE"): "Use catalog.rename_share(…) in Python.",
}
"""What to do with kinds of objects that only Python creates, drops and changes."""


def create(cursor: Cursor) -> CreateTable | CreateTemporaryView | ObjectStatement:
    """CREATE of any kind of object."""
    own = Cursor(replace(cursor.words, marks=None), cursor.position)
    like = create_table_like(own) if own.sees("CREATE", "TABLE") else None
    if like is not None:
        return like
    own.take("CREATE")
    is_replaced = own.take("OR", "REPLACE")
    if own.take("VIEW"):
        return create_view(own, is_replaced)
    if not is_replaced and own.sees_one(*NAMESPACE):
        own.position += 1
        return create_namespace(own)
    kind = None if is_replaced else _ref_kind(own)
    if kind is not None:
        return create_ref(own, kind)
    _check_known(own, "CREATE")
    return create_parsing.create(cursor)


def drop(cursor: Cursor) -> DropTable | ObjectStatement:
    """DROP of any kind of object."""
    start = cursor.position
    cursor.expect("DROP")
    if cursor.take("VIEW"):
        return drop_view(cursor)
    if cursor.sees_one(*NAMESPACE):
        cursor.position += 1
        return drop_namespace(cursor)
    kind = _ref_kind(cursor)
    if kind is not None:
        return drop_ref(cursor, kind)
    _check_known(cursor, "DROP")
    cursor.position = start
    return create_parsing.drop(cursor)


def alter(cursor: Cursor) -> ObjectStatement:
    """ALTER of any kind of object."""
    cursor.expect("ALTER")
    if cursor.take("TABLE"):
        return alter_table(cursor)
    if cursor.take("VIEW"):
        return alter_view(cursor)
    if cursor.sees_one(*NAMESPACE):
        cursor.position += 1
        return alter_namespace(cursor)
    _check_known(cursor, "ALTER")
    raise cursor.refused("sql can't alter this", expected="TABLE, VIEW or NAMESPACE")


def _ref_kind(cursor: Cursor) -> RefKind | None:
    return next((kind for kind in RefKind if cursor.take(kind.name)), None)


def _check_known(cursor: Cursor, verb: str) -> None:
    """Refuse the kinds of objects that only Python creates, drops and changes."""
    advice = _PYTHON_ONLY.get((verb, "" if cursor.word is None else cursor.word.text.upper()))
    if advice is not None:
        raise cursor.refused(f"sql can't {verb.lower()} this", expected=create_parsing.KINDS, advice=advice)
