"""UNDROP and RESTORE, by the calls of handles."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import Invalid
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line
from lakebed.lake.sql.objects.alter import renamed
from lakebed.lake.sql.objects.places import check_outside, line_then, pointing
from lakebed.spark.sql.objects.kinds import ObjectKind
from lakebed.spark.sql.objects.returns import Restore, Undrop


def undrop(execution: Execution, statement: Undrop) -> Commit | None:
    """Bring back a dropped table, view or namespace."""
    name, container = statement.name, execution.container(statement.name)
    with pointing(execution, name.word):
        given = statement.new_name
        new_name = None if given is None else _new_name(statement)
        match statement.kind:
            case ObjectKind.VIEW:
                return container.undrop_view(name.parts, statement.id, new_name, **execution.by.keywords)
            case ObjectKind.NAMESPACE:
                return container.undrop_namespace(name.parts, statement.id, new_name, **execution.by.keywords)
            case _:
                return container.undrop_table(name.parts, statement.id, new_name, **execution.by.keywords)


def _new_name(statement: Undrop) -> tuple[str, ...]:
    assert statement.new_name is not None
    if statement.kind is ObjectKind.NAMESPACE:
        return statement.new_name.parts
    return renamed(statement.name, statement.new_name)


def restore(execution: Execution, statement: Restore) -> Commit | None:
    """Make a table what it was."""
    check_outside(execution, "restore a table")
    name, line = statement.table, execution.holder(statement.table)
    if not isinstance(line, Line):
        raise Invalid("a transaction can't restore a table")
    with pointing(execution, name.word):
        then = line_then(execution, line, statement.moment)
        return line.restore_table(name.parts, then.version, **execution.by.keywords)
