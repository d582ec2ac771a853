"""ALTER TABLE, by the calls of handles: one commit each."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import Invalid
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.objects.checks import add_check, drop_check
from lakebed.lake.sql.objects.columns import add_columns, change_columns, drop_columns
from lakebed.lake.sql.objects.partitions import change_partition
from lakebed.lake.sql.objects.places import pointing
from lakebed.lake.table import Table
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.alter import (
    AddCheck,
    AlterTable,
    ChangePartitions,
    DropCheck,
    DropKeyColumns,
    RenameTo,
    SetKey,
    SetProperties,
    UnsetProperties,
    WriteOrderedBy,
)
from lakebed.spark.sql.objects.columns import AddColumns, ChangeColumns, DropColumns, RenameColumn
from lakebed.spark.sql.objects.partitions import AddPartition, DropPartition, MovePartition, RenamePartition
from lakebed.spark.sql.objects.storage import SetLocation, SetOwner, SetSerde
from lakebed.spark.sql.properties import Pairs


def alter_table(execution: Execution, statement: AlterTable) -> Commit | None:
    """Change a table."""
    if isinstance(statement.change, RenameTo):
        return _rename(execution, statement.table, statement.change)
    table, by = execution.table(statement.table), execution.by.keywords
    with pointing(execution, statement.word):
        match statement.change:
            case AddColumns() as change:
                return add_columns(execution, table, change)
            case DropColumns() as change:
                return drop_columns(execution, table, change)
            case ChangeColumns() as change:
                return change_columns(execution, table, change)
            case SetProperties(properties):
                return table.set_properties(dict(properties), **by)
            case UnsetProperties(names):
                return table.unset_properties(names, **by)
            case SetLocation(location):
                return table.set_storage(location=location, **by)
            case SetOwner(owner):
                return table.set_storage(owner=owner, **by)
            case SetSerde(serde, own):
                return table.set_storage(serde=serde, properties=_storage_properties(table, own), **by)
            case AddPartition() | DropPartition() | RenamePartition() | MovePartition() as change:
                return change_partition(execution, table, change)
            case AddCheck() as change:
                return add_check(execution, table, change)
            case DropCheck() as change:
                return drop_check(execution, table, change)
            case _:
                return _evolve(execution, table, statement)


def _storage_properties(table: Table, given: Pairs | None) -> dict[str, str] | None:
    """The properties of a table's storage with these set; None if there are none to set."""
    return None if given is None else {**table.storage.properties, **dict(given)}


def _rename(execution: Execution, name: LakeName, change: RenameTo) -> Commit | None:
    """Rename a table by its name: a call that comes again, by its event id, need not find it."""
    with pointing(execution, name.word):
        new_name = renamed(name, change.name)
        return execution.holder(name).rename_table(name.parts, new_name, **execution.by.keywords)


def renamed(name: LakeName, new_name: LakeName) -> tuple[str, ...]:
    """The parts of a new name; one of a single part stays in the namespace of the old one."""
    if new_name.place not in (None, name.place):
        raise Invalid(
            "an object stays in its catalog and on its branch when it is renamed",
            subject=new_name.spelled,
            expected=name.place or "a name without a ref",
            advice="MERGE BRANCH brings it to another branch, CREATE TABLE … AS to another catalog.",
        )
    is_single = new_name.is_relative or (len(new_name.parts) == 1 and new_name.place is None)
    return (*name.parts[:-1], new_name.parts[-1]) if is_single else new_name.parts


def _evolve(execution: Execution, table: Table, statement: AlterTable) -> Commit | None:
    """Change what an evolution of the table changes."""
    with table.evolve(**execution.by.keywords) as evolve:
        match statement.change:
            case RenameColumn(path, new_name):
                evolve.rename_column(path, new_name)
            case ChangePartitions(None, added) if added is not None:
                evolve.add_partition_field(added)
            case ChangePartitions(dropped, None) if dropped is not None:
                evolve.drop_partition_field(dropped)
            case ChangePartitions(dropped, added) if dropped is not None and added is not None:
                evolve.replace_partition_field(dropped, added)
            case WriteOrderedBy(terms):
                evolve.sort_by(terms)
            case SetKey(columns):
                evolve.primary_key(columns)
            case DropKeyColumns(columns):
                evolve.drop_key_columns(columns)
    return evolve.committed
