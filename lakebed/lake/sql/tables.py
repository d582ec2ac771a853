"""Statements that create and drop tables, by the calls of handles."""

from typing import Any

from lakebed.catalog.transaction.commits import Commit
from lakebed.errors import NotFound
from lakebed.lake.objects import created
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Line, Objects
from lakebed.lake.sql.nearest import meant
from lakebed.lake.sql.objects.places import pointing
from lakebed.lake.table import Table
from lakebed.spark.sql.ddl import declared_schema, query_schema
from lakebed.spark.sql.statements import CreateTable, DropTable


def create_table(execution: Execution, statement: CreateTable) -> Table:
    """Create a table from columns, or from a query and its rows, in one commit; or answer the one that may be there."""
    name, container = statement.table, execution.container(statement.table)
    with pointing(execution, name.word):
        if statement.if_not_exists and container.table_exists(name.parts):
            return container.table(name.parts)
        make = _from_query if statement.query is not None else _from_columns
        return created(
            lambda: make(execution, container, statement),
            lambda: container.table(name.parts),
            statement.if_not_exists,
        )


def drop_table(execution: Execution, statement: DropTable) -> Commit | None:
    """Drop a table."""
    name, container = statement.table, execution.holder(statement.table)
    with pointing(execution, name.word):
        try:
            return container.drop_table(name.parts, if_exists=statement.if_exists, **execution.by.keywords)
        except NotFound as error:
            error.advice = meant(container, name.parts) or error.advice
            raise


def _from_columns(execution: Execution, container: Objects, statement: CreateTable) -> Table:
    columns = declared_schema(execution.spark, statement.columns, statement.words)
    create = container.create_or_replace_table if statement.replace else container.create_table
    return create(statement.table.parts, columns, **_layout(statement), **execution.by.keywords)


def _from_query(execution: Execution, container: Objects, statement: CreateTable) -> Table:
    """Create a table with a query's rows. What it reads of the table that it replaces is checked by the commit."""
    if not isinstance(container, Line):
        return _filled(execution, container, statement)
    with container.transaction(**execution.by.keywords) as transaction:
        is_there = statement.replace and transaction.table_exists(statement.table.parts)
        own = execution.inside(transaction.table(statement.table.parts)) if is_there else execution
        made = _filled(own, transaction, statement)
    return Table(made.id, container._scope)


def _filled(execution: Execution, container: Objects, statement: CreateTable) -> Table:
    assert statement.query is not None
    rows = execution.reader.frame(statement.query)
    create = container.create_or_replace_table if statement.replace else container.create_table
    made = create(statement.table.parts, query_schema(rows), **_layout(statement))
    made.append(rows)
    return made


def _layout(statement: CreateTable) -> dict[str, Any]:
    return {
        "partition_by": statement.partition_by,
        "primary_key": statement.primary_key,
        "properties": dict(statement.properties),
        "comment": statement.comment,
        "location": statement.location,
    }
