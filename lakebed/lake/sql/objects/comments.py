"""COMMENT ON, by the calls of handles."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import NotFound
from lakebed.lake.namespace import Namespace
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Objects, Places
from lakebed.lake.sql.objects.places import pointing
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.comments import CommentOn
from lakebed.spark.sql.objects.kinds import ObjectKind

COMMENT = "comment"


def comment_on(execution: Execution, statement: CommentOn) -> Commit | None:
    """Set or remove a comment."""
    name, container = statement.name, execution.holder(statement.name)
    with pointing(execution, name.word):
        match statement.kind:
            case ObjectKind.TABLE:
                return _comment(execution, container.table(name.parts), statement.comment)
            case ObjectKind.VIEW:
                return _comment(execution, container.view(name.parts), statement.comment)
            case ObjectKind.NAMESPACE:
                return _comment(execution, container.namespace(name.parts), statement.comment)
            case ObjectKind.COLUMN:
                return _comment_column(execution, container, statement)


def _comment(execution: Execution, handle: Table | View | Namespace, comment: str | None) -> Commit | None:
    by = execution.by.keywords
    if comment is None:
        return handle.unset_properties([COMMENT], **by)
    return handle.set_properties({COMMENT: comment}, **by)


def _comment_column(execution: Execution, container: Objects, statement: CommentOn) -> Commit | None:
    table, path = _column(container, statement.name, execution.places)
    with table.evolve(**execution.by.keywords) as evolve:
        evolve.set_comment(path, statement.comment or "")
    return evolve.committed


def _column(container: Objects, name: LakeName, places: Places) -> tuple[Table, tuple[str, ...]]:
    """The table and the path of a column: the longest of the name's beginnings that is a table's name."""
    namespace, at_top = places.namespace, name.place is not None or places.is_attached
    for size in range(len(name.parts) - 1, 0, -1):
        for own in (name.parts[:size], (*namespace, *name.parts[:size])):
            if (len(own) > 1 or at_top) and container.table_exists(own):
                return container.table(own), name.parts[size:]
    raise NotFound(
        "there is no table with such a column", subject=name.spelled, expected="a table's name, then a column's"
    )
