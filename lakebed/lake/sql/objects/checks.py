"""ADD and DROP CONSTRAINT: checks, which are properties of a table."""

from lakebed.catalog.objects.properties import properties_of, unset_properties
from lakebed.catalog.tables.properties import CHECK_PREFIX
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.lake.sql.changes import change_at_one_version
from lakebed.lake.sql.execution import Execution
from lakebed.lake.table import Table
from lakebed.spark.sql.objects.alter import AddCheck, DropCheck
from lakebed.spark.variables import written_expression


def add_check(execution: Execution, table: Table, change: AddCheck) -> Commit | None:
    """Set a check that all rows of the table pass: none that breaks it can come in between."""
    by = execution.by
    request = Request("add_check", (table.id, change.name, change.condition), by.message, by.author, by.event_id)
    if execution.places.transaction is not None:
        return _add(execution, table, change)

    def add() -> Commit:
        return change_at_one_version(execution, table, lambda own, inside: _add(own, inside, change), request)

    return once(table._scope, request, add)


def _add(execution: Execution, table: Table, change: AddCheck) -> Commit | None:
    key = f"{CHECK_PREFIX}{change.name}"
    if key in table.properties:
        raise AlreadyExists("the table has a constraint of this name", subject=change.name, advice="Drop it first.")
    commit = table.set_properties({key: change.condition}, **execution.by.keywords)
    is_broken = written_expression(execution.spark, f"NOT ({change.condition})")
    broken = table.read(execution.spark).where(is_broken).limit(1).collect()
    if broken:
        raise Invalid(
            "a row of the table breaks this constraint",
            subject=change.name,
            expected=change.condition,
            found=str(broken[0].asDict()),
            advice="Change or delete such rows first.",
        )
    return commit


def drop_check(execution: Execution, table: Table, change: DropCheck) -> Commit | None:
    """Remove a check; None if it is not there, and need not be."""
    by = execution.by
    request = Request("drop_check", (table.id, change.name), by.message, by.author, by.event_id)
    try:
        return table._scope.change(lambda work: _drop(work, table.id, change.name), request)
    except NotFound:
        if change.if_exists:
            return None
        raise


def _drop(work: Work, table: str, name: str) -> None:
    properties = properties_of(work, table)
    if f"{CHECK_PREFIX}{name}" not in properties:
        checks = [key.removeprefix(CHECK_PREFIX) for key in properties if key.startswith(CHECK_PREFIX)]
        raise NotFound("the table has no constraint of this name", subject=name, expected=", ".join(checks) or None)
    unset_properties(work, table, [f"{CHECK_PREFIX}{name}"])
