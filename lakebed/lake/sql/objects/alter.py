"""ALTER TABLE, by the calls of handles: one commit each."""

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.objects.columns import add_columns, change_columns, drop_columns
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
from lakebed.table.partition.parse import find_source, parse_partition_field
from lakebed.table.types.names import folded_column

CHECK = "check."
"""What the names of properties begin with that are checks."""


def alter_table(execution: Execution, statement: AlterTable) -> Commit | None:
    """Change a table."""
    table, by = execution.table(statement.table), execution.by.keywords
    with pointing(execution, statement.word):
        match statement.change:
            case AddColumns() as change:
                return add_columns(execution, table, change)
            case DropColumns() as change:
                return drop_columns(execution, table, change)
            case ChangeColumns() as change:
                return change_columns(execution, table, change)
            case RenameTo(new_name):
                return table.rename(renamed(statement.table, new_name), **by)
            case SetProperties(properties):
                return table.set_properties(dict(properties), **by)
            case UnsetProperties(names):
                return table.unset_properties(names, **by)
            case AddCheck() as change:
                return _add_check(execution, table, change)
            case DropCheck() as change:
                return _drop_check(execution, table, change)
            case _:
                return _evolve(execution, table, statement)


def renamed(name: LakeName, new_name: LakeName) -> tuple[str, ...]:
    """The parts of a new name; one of a single part stays in the namespace of the old one."""
    if new_name.place not in (None, name.place):
        raise Invalid(
            "an object stays on its branch when it is renamed",
            subject=new_name.spelled,
            expected=name.place or "a name without a ref",
            advice="MERGE BRANCH brings it to another branch.",
        )
    is_single = new_name.is_relative or (len(new_name.parts) == 1 and new_name.place is None)
    return (*name.parts[:-1], new_name.parts[-1]) if is_single else new_name.parts


def _evolve(execution: Execution, table: Table, statement: AlterTable) -> Commit | None:
    """Change what an evolution of the table changes.

    What the table has now is read after the evolution began: if another commit changes it since, it is a `Conflict`.
    """
    with table.evolve(**execution.by.keywords) as evolve:
        match statement.change:
            case RenameColumn(path, new_name):
                evolve.rename_column(path, new_name)
            case ChangePartitions() as change:
                evolve.partition_by(_terms(table, change))
            case WriteOrderedBy(terms):
                evolve.sort_by(terms)
            case SetKey(columns):
                evolve.primary_key(columns)
            case DropKeyColumns(columns):
                evolve.primary_key(_key_without(table, columns))
    return evolve.committed


def _terms(table: Table, change: ChangePartitions) -> list[str]:
    """The table's partition terms after a change."""
    terms = list(table.spec)
    place = len(terms) if change.dropped is None else _place_of(table, change.dropped)
    added = [] if change.added is None else [change.added]
    return [*terms[:place], *added, *terms[place + 1 :]]


def _place_of(table: Table, term: str) -> int:
    """The number of a partition field, by its term or by its name."""
    spec, schema = table.spec, table.schema
    names = [folded_column(field.name) for field in spec.fields]
    if folded_column(term) in names:
        return names.index(folded_column(term))
    column = parse_partition_field(term)
    wanted = (find_source(schema, column)[-1].id, column.transform)
    found = [(field.source_id, field.transform) for field in spec.fields]
    if wanted not in found:
        raise NotFound("the table is not partitioned by this", subject=term, expected=str(spec) or None)
    return found.index(wanted)


def _key_without(table: Table, columns: tuple[str, ...]) -> list[str]:
    key, gone = table.primary_key, {folded_column(column) for column in columns}
    missing = gone - {folded_column(column) for column in key}
    if missing:
        raise NotFound("this is not a column of the key", subject=min(missing), expected=", ".join(key) or None)
    return [column for column in key if folded_column(column) not in gone]


def _add_check(execution: Execution, table: Table, change: AddCheck) -> Commit | None:
    key = f"{CHECK}{change.name}"
    if key in table.properties:
        raise AlreadyExists("the table has a constraint of this name", subject=change.name, advice="Drop it first.")
    return table.set_properties({key: change.condition}, **execution.by.keywords)


def _drop_check(execution: Execution, table: Table, change: DropCheck) -> Commit | None:
    key = f"{CHECK}{change.name}"
    if key not in table.properties:
        if change.if_exists:
            return None
        checks = [name.removeprefix(CHECK) for name in table.properties if name.startswith(CHECK)]
        raise NotFound(
            "the table has no constraint of this name",
            subject=change.name,
            expected=", ".join(checks) or None,
            advice="DROP CONSTRAINT IF EXISTS does not mind.",
        )
    return table.unset_properties([key], **execution.by.keywords)
