"""Statements about explicit partitions, by the calls of handles."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.sql.execution import Execution
from lakebed.lake.table import Table
from lakebed.spark.sql.objects.partitions import (
    AddPartition,
    DropPartition,
    MovePartition,
    PartitionChange,
    RenamePartition,
)


def change_partition(execution: Execution, table: Table, change: PartitionChange) -> Commit | None:
    """Change an explicit partition of a table; the answer of what creates one is the table's newest commit."""
    by, values = execution.by.keywords, dict(change.values)
    match change:
        case AddPartition(_, location, if_not_exists):
            table.create_partition(values, location, if_not_exists=if_not_exists, **by)
            return table.history()[0]
        case DropPartition(_, if_exists):
            return table.drop_partition(values, if_exists=if_exists, **by)
        case RenamePartition(_, new_values):
            renamed: Commit | None = table.partition(values).rename(dict(new_values), execution.spark, **by)
            return renamed
        case MovePartition(_, location):
            moved: Commit | None = table.partition(values).alter(location=location, **by)
            return moved
