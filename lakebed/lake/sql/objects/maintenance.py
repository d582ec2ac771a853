"""OPTIMIZE, and the statements that are done as soon as their table exists, by the calls of handles."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.objects.places import pointing
from lakebed.spark.sql.objects.maintenance import NothingToDo, Optimize


def optimize(execution: Execution, statement: Optimize) -> Commit | None:
    """Compact a table's files on Spark. None if there is nothing to do."""
    table = execution.table(statement.table)
    with pointing(execution, statement.table.word):
        return table.compact(execution.spark, where=statement.where, **execution.by.keywords)


def check_exists(execution: Execution, statement: NothingToDo) -> None:
    """Check that the table exists: its statistics are written with its rows, and every read is of the newest."""
    execution.check_unattributed()
    execution.table(statement.table)
