"""Statements that change rows, by the calls of handles: INSERT, UPDATE, DELETE, MERGE."""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open, once
from lakebed.errors import Invalid
from lakebed.lake.rows import writes
from lakebed.lake.sql.execution import Execution
from lakebed.lake.table import Table
from lakebed.spark.expressions import is_utc, value_errors
from lakebed.spark.rows.where import SessionText
from lakebed.spark.sql.assignments import column_values
from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.insert import constants_condition, stored_rows, with_defaults
from lakebed.spark.sql.merge_clauses import merge_clause, new_source_columns
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.statements import Delete, Insert, InsertOverwrite, Merge, MergeClause, Update
from lakebed.table.expression.statement_text import as_written

ATTEMPTS = 5
"""How often a statement runs that others make out of date before it commits; each time runs its jobs again."""

Change = Callable[[Execution, Table], Commit | None]
"""What a statement does to its table."""


def insert(execution: Execution, statement: Insert) -> Commit | None:
    """Append the rows of a query."""

    def change(own: Execution, table: Table) -> Commit | None:
        rows, by = _rows(own, statement, table), own.by
        with value_errors(statement.table.spelled):
            return table.append(rows, message=by.message, author=by.author, event_id=by.event_id)

    return _change(execution, statement.table, change, statement.query)


def insert_overwrite(execution: Execution, statement: InsertOverwrite) -> Commit | None:
    """Replace rows that pass a condition, whole partitions, or all rows, by the rows of a query."""
    inserted = statement.insert

    def change(own: Execution, table: Table) -> Commit | None:
        rows, by = _rows(own, inserted, table), own.by
        with value_errors(inserted.table.spelled), own.inner_views(statement.views):
            condition = statement.where or constants_condition(inserted)
            if condition is None and len(table.spec):
                return table.overwrite_partitions(rows, message=by.message, author=by.author, event_id=by.event_id)
            where = None if condition is None else _session_condition(own, condition)
            return table.overwrite(rows, where, message=by.message, author=by.author, event_id=by.event_id)

    return _change(execution, inserted.table, change, inserted.query, statement.views)


def update(execution: Execution, statement: Update) -> Commit | None:
    """Set columns of rows that pass a condition."""

    def change(own: Execution, table: Table) -> Commit | None:
        where, by = None if statement.where is None else _session_condition(own, statement.where), own.by
        values = column_values(statement.values, table.schema)
        with own.inner_views(statement.views):
            return table.update(
                values, where, spark=own.spark, message=by.message, author=by.author, event_id=by.event_id
            )

    return _change(execution, statement.table, change, None, statement.views)


def delete(execution: Execution, statement: Delete) -> Commit | None:
    """Delete rows that pass a condition, or all."""

    def change(own: Execution, table: Table) -> Commit | None:
        by = own.by
        if statement.where is None:
            return table.truncate(message=by.message, author=by.author, event_id=by.event_id)
        where = _session_condition(own, statement.where)
        with own.inner_views(statement.views):
            return table.delete(where, spark=own.spark, message=by.message, author=by.author, event_id=by.event_id)

    return _change(execution, statement.table, change, None, statement.views)


def merge(execution: Execution, statement: Merge) -> Commit | None:
    """Update, delete and insert rows by the rows of a query."""

    def change(own: Execution, table: Table) -> Commit | None:
        rows, by = own.reader.frame(statement.source), own.by
        if statement.evolves:
            add_source_columns(table, statement.clauses, rows)
        schema, evolves = table.schema, statement.evolves
        clauses = [merge_clause(clause, schema, rows.columns, evolves=evolves) for clause in statement.clauses]
        with own.inner_views(statement.views):
            if statement.joined is None:
                return table.merge(rows, statement.on, *clauses, **by.keywords)
            request = writes.merge_request(table.id, statement.on, clauses, by.message, by.author, by.event_id)
            joined = writes.Joined(statement.joined, as_written(statement.on))
            return writes.merge(table._scope, table.id, rows, statement.on, clauses, request, joined)

    if statement.evolves and execution.places.transaction is None:
        return _change_in_one_commit(execution, statement.table, change, statement.views)
    return _change(execution, statement.table, change, statement.source, statement.views)


def add_source_columns(table: Table, clauses: Sequence[MergeClause], rows: DataFrame) -> None:
    """Add the columns that the clauses of a merge bring to its table."""
    columns = new_source_columns(clauses, table.schema, rows)
    if columns:
        with table.evolve() as evolve:
            for path, type in columns:
                evolve.add_column(path, type)


def _change(
    execution: Execution, name: LakeName, change: Change, query: Query | None = None, views: Sequence[InnerView] = ()
) -> Commit | None:
    """Make a change. What it reads of the lake is read at the version that it changes, and again if that is lost.

    Otherwise a row that came in between would be changed or deleted, though no query of the statement has seen it.
    """
    table = execution.table(name)
    _check_repeatable(execution, views)
    reads = bool(views) or (query is not None and bool(query.uses or query.suspects))
    if execution.places.transaction is not None or not reads:
        return change(execution, table)
    return _change_in_one_commit(execution, name, change, views)


def _change_in_one_commit(
    execution: Execution, name: LakeName, change: Change, views: Sequence[InnerView]
) -> Commit | None:
    """Make a change of several steps, which all see one version."""
    table, by = execution.table(name), execution.by
    _check_repeatable(execution, views)
    request = Request("sql", (table.id, execution.text), by.message, by.author, by.event_id)
    return once(table._scope, request, lambda: change_at_one_version(execution, table, change, request))


def change_at_one_version(execution: Execution, table: Table, change: Change, request: Request) -> Commit:
    """Make a change of a table in a transaction of its own, and again if others make it out of date."""

    def attempt() -> Commit:
        scope = Open(table._scope.context, table._scope.ref, request)
        scope.begin()
        try:
            own = Table(table.id, scope)
            change(execution.inside(own), own)
            return scope.commit_or_newest()
        finally:
            scope.close()

    return retried(ATTEMPTS, attempt)


def _session_condition(execution: Execution, where: str) -> str:
    """A condition that means what the session takes it for, as that of a query does."""
    return where if is_utc(execution.spark) else SessionText(where, as_written(where))


def _check_repeatable(execution: Execution, views: Sequence[InnerView]) -> None:
    if views and execution.by.event_id is not None:
        # Its request would differ each time, since it has the names that are made up here.
        problem = "a statement with a query inside an expression can't have an event id"
        raise Invalid(problem, advice="Use MERGE INTO … USING (SELECT …).")


def _rows(execution: Execution, inserted: Insert, table: Table) -> DataFrame:
    query = with_defaults(inserted, table.schema)
    return stored_rows(execution.reader.frame(query), inserted, table.schema)
