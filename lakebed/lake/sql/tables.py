"""Statements that create and drop tables, by the calls of handles."""

from pyspark.sql import DataFrame

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.sql.execution import NOBODY, Execution
from lakebed.lake.sql.names import Attribution, Line, Objects
from lakebed.lake.table import Table
from lakebed.spark.sql.ddl import declared_schema, query_schema
from lakebed.spark.sql.statements import CreateTable, DropTable
from lakebed.table.schema.schema import Schema


def create_table(execution: Execution, statement: CreateTable) -> Table:
    """Create a table from columns, or from a query and its rows in one commit."""
    container = execution.places.write(statement.table)
    is_there = container.table_exists(statement.table.parts)
    if is_there and statement.if_not_exists:
        return container.table(statement.table.parts)
    if is_there and statement.replace:
        return _replace_table(execution, container, statement)
    if statement.query is None:
        columns = declared_schema(execution.spark, statement.columns, statement.words)
        return _create(container, statement, columns, execution.by)
    rows = execution.reader.frame(statement.query)
    if not isinstance(container, Line):
        return _create_filled(execution, container, statement, rows)
    by = execution.by
    with container.transaction(by.message, author=by.author, event_id=by.event_id) as transaction:
        made = _create_filled(execution, transaction, statement, rows)
    return Table(made.id, container._scope)


def drop_table(execution: Execution, statement: DropTable) -> Commit | None:
    """Drop a table."""
    container, by = execution.places.write(statement.table), execution.by
    if statement.if_exists and not container.table_exists(statement.table.parts):
        return None
    execution.table(statement.table)
    return container.drop_table(statement.table.parts, message=by.message, author=by.author, event_id=by.event_id)


def _replace_table(execution: Execution, container: Objects, statement: CreateTable) -> Table:
    """Create a table that replaces another, whose rows its query may read, in one commit."""
    if not isinstance(container, Line):
        return _create_again(execution, container, statement)
    by = execution.by
    with container.transaction(by.message, author=by.author, event_id=by.event_id) as transaction:
        old = transaction.table(statement.table.parts)
        made = _create_again(execution.inside(old), transaction, statement)
    return Table(made.id, container._scope)


def _create_again(execution: Execution, container: Objects, statement: CreateTable) -> Table:
    rows = None if statement.query is None else execution.reader.frame(statement.query)
    container.drop_table(statement.table.parts)
    return _create_filled(execution, container, statement, rows)


def _create_filled(execution: Execution, container: Objects, statement: CreateTable, rows: DataFrame | None) -> Table:
    if rows is None:
        columns = declared_schema(execution.spark, statement.columns, statement.words)
        return _create(container, statement, columns, NOBODY)
    made = _create(container, statement, query_schema(rows), NOBODY)
    made.append(rows)
    return made


def _create(container: Objects, statement: CreateTable, columns: Schema, by: Attribution) -> Table:
    return container.create_table(
        statement.table.parts,
        columns,
        partition_by=statement.partition_by,
        primary_key=statement.primary_key,
        properties=dict(statement.properties),
        comment=statement.comment,
        location=statement.location,
        message=by.message,
        author=by.author,
        event_id=by.event_id,
    )
