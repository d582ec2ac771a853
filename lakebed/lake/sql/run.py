"""Statements in SQL, run by the handles. Loaded with the first statement: it needs PySpark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open
from lakebed.errors import Invalid, NotFound
from lakebed.lake.sql.names import Attribution, Line, Objects, Places, pointed
from lakebed.lake.sql.read import Reader
from lakebed.lake.table import Table
from lakebed.spark.expressions import is_utc, value_errors
from lakebed.spark.rows.where import VARIABLE, SessionText
from lakebed.spark.sql.ddl import declared_schema, query_schema
from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.insert import stored_rows
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.parsing import parse_statement
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.statements import (
    CreateTable,
    CreateTemporaryView,
    Delete,
    DropTable,
    Insert,
    InsertOverwrite,
    Merge,
    Select,
    Update,
)
from lakebed.spark.sql.tokens import place
from lakebed.table.schema.schema import Schema

ATTEMPTS = 5
"""How often a statement runs that others make out of date before it commits; each time runs its jobs again."""

Change = Callable[["StatementRunner", Table], Commit | None]
"""What a statement does to its table."""

NOBODY = Attribution()


def run(spark: SparkSession, text: str, places: Places, attribution: Attribution) -> DataFrame | Commit | Table | None:
    """Run the statement in a text: of a query the DataFrame, of a change the commit, of a new table its handle."""
    runner = StatementRunner(spark, places, attribution, text)
    match parse_statement(text):
        case Select() as select:
            return runner.select(select)
        case CreateTemporaryView() as view:
            return runner.create_temporary_view(view)
        case Insert() as insert:
            return runner.insert(insert)
        case InsertOverwrite() as overwrite:
            return runner.insert_overwrite(overwrite)
        case Update() as update:
            return runner.update(update)
        case Delete() as delete:
            return runner.delete(delete)
        case Merge() as merge:
            return runner.merge(merge)
        case CreateTable() as create:
            return runner.create_table(create)
        case DropTable() as drop:
            return runner.drop_table(drop)


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Runs one statement: reads through the reader, changes through handles."""

    spark: SparkSession
    places: Places
    by: Attribution
    text: str

    def select(self, statement: Select) -> DataFrame:
        self._check_unattributed()
        return self._reader.frame(statement.query)

    def create_temporary_view(self, statement: CreateTemporaryView) -> DataFrame:
        self._check_unattributed()
        frame = self._reader.frame(statement.query)
        named = frame.toDF(*statement.columns) if statement.columns else frame
        statement.make(named)
        return named

    def insert(self, statement: Insert) -> Commit | None:
        def change(runner: StatementRunner, table: Table) -> Commit | None:
            rows, by = runner._rows(statement, table), runner.by
            with value_errors(statement.table.spelled):
                return table.append(rows, message=by.message, author=by.author, event_id=by.event_id)

        return self._change(statement.table, change, statement.query)

    def insert_overwrite(self, statement: InsertOverwrite) -> Commit | None:
        insert = statement.insert

        def change(runner: StatementRunner, table: Table) -> Commit | None:
            rows, by = runner._rows(insert, table), runner.by
            with value_errors(insert.table.spelled), runner._inner_views(statement.views):
                if statement.where is None and len(table.spec):
                    return table.overwrite_partitions(rows, message=by.message, author=by.author, event_id=by.event_id)
                where = None if statement.where is None else runner._session_condition(statement.where)
                return table.overwrite(rows, where, message=by.message, author=by.author, event_id=by.event_id)

        return self._change(insert.table, change, insert.query, statement.views)

    def update(self, statement: Update) -> Commit | None:
        def change(runner: StatementRunner, table: Table) -> Commit | None:
            where, by = None if statement.where is None else runner._session_condition(statement.where), runner.by
            values = dict(statement.values)
            with runner._inner_views(statement.views):
                return table.update(
                    values, where, spark=self.spark, message=by.message, author=by.author, event_id=by.event_id
                )

        return self._change(statement.table, change, None, statement.views)

    def delete(self, statement: Delete) -> Commit | None:
        def change(runner: StatementRunner, table: Table) -> Commit | None:
            by = runner.by
            if statement.where is None:
                return table.truncate(message=by.message, author=by.author, event_id=by.event_id)
            where = runner._session_condition(statement.where)
            with runner._inner_views(statement.views):
                return table.delete(where, spark=self.spark, message=by.message, author=by.author, event_id=by.event_id)

        return self._change(statement.table, change, None, statement.views)

    def merge(self, statement: Merge) -> Commit | None:
        def change(runner: StatementRunner, table: Table) -> Commit | None:
            source, by = runner._reader.frame(statement.source), runner.by
            with runner._inner_views(statement.views):
                return table.merge(
                    source,
                    statement.on,
                    *statement.clauses,
                    message=by.message,
                    author=by.author,
                    event_id=by.event_id,
                )

        return self._change(statement.table, change, statement.source, statement.views)

    def create_table(self, statement: CreateTable) -> Table:
        container = self.places.write(statement.table)
        is_there = container.table_exists(statement.table.parts)
        if is_there and statement.if_not_exists:
            return container.table(statement.table.parts)
        if is_there and statement.replace:
            return self._replace_table(container, statement)
        if statement.query is None:
            columns = declared_schema(self.spark, statement.columns, statement.words)
            return self._create(container, statement, columns, self.by)
        rows = self._reader.frame(statement.query)
        if not isinstance(container, Line):
            return self._create_filled(container, statement, rows)
        by = self.by
        with container.transaction(by.message, author=by.author, event_id=by.event_id) as transaction:
            made = self._create_filled(transaction, statement, rows)
        return Table(made.id, container._scope)

    def drop_table(self, statement: DropTable) -> Commit | None:
        container, by = self.places.write(statement.table), self.by
        if statement.if_exists and not container.table_exists(statement.table.parts):
            return None
        self._table(statement.table)
        return container.drop_table(statement.table.parts, message=by.message, author=by.author, event_id=by.event_id)

    def _change(
        self, name: LakeName, change: Change, query: Query | None = None, views: Sequence[InnerView] = ()
    ) -> Commit | None:
        """Make a change. What it reads of the lake is read at the version that it changes, and again if that is lost.

        Otherwise a row that came in between would be changed or deleted, though no query of the statement has seen it.
        """
        table = self._table(name)
        self._check_repeatable(views)
        reads = bool(views) or (query is not None and bool(query.uses or query.suspects))
        if self.places.transaction is not None or not reads:
            return change(self, table)
        request = Request("sql", (table.id, self.text), self.by.message, self.by.author, self.by.event_id)
        known = table._scope.replayed(request)
        return self._change_at_one_version(table, change, request) if known is None else known

    def _change_at_one_version(self, table: Table, change: Change, request: Request) -> Commit:
        def attempt() -> Commit:
            scope = Open(table._scope.context, table._scope.ref, request)
            scope.begin()
            try:
                own = Table(table.id, scope)
                change(self._inside(own), own)
                return scope.commit()
            finally:
                scope.close()

        return retried(ATTEMPTS, attempt)

    def _inside(self, table: Table) -> "StatementRunner":
        """What runs the statement on a table of a transaction, whose version all reads see."""
        places = replace(self.places, version=table._scope.read().base, changed=table)
        return replace(self, places=places, by=NOBODY)

    def _session_condition(self, where: str) -> str:
        """A condition that means what the session takes it for, as that of a query does."""
        return where if is_utc(self.spark) and VARIABLE not in where else SessionText(where)

    def _replace_table(self, container: Objects, statement: CreateTable) -> Table:
        """Create a table that replaces another, whose rows its query may read, in one commit."""
        if not isinstance(container, Line):
            return self._create_again(container, statement)
        by = self.by
        with container.transaction(by.message, author=by.author, event_id=by.event_id) as transaction:
            old = transaction.table(statement.table.parts)
            made = self._inside(old)._create_again(transaction, statement)
        return Table(made.id, container._scope)

    def _create_again(self, container: Objects, statement: CreateTable) -> Table:
        rows = None if statement.query is None else self._reader.frame(statement.query)
        container.drop_table(statement.table.parts)
        return self._create_filled(container, statement, rows)

    def _create_filled(self, container: Objects, statement: CreateTable, rows: DataFrame | None) -> Table:
        if rows is None:
            columns = declared_schema(self.spark, statement.columns, statement.words)
            return self._create(container, statement, columns, NOBODY)
        made = self._create(container, statement, query_schema(rows), NOBODY)
        made.append(rows)
        return made

    def _create(self, container: Objects, statement: CreateTable, columns: Schema, by: Attribution) -> Table:
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

    @contextmanager
    def _inner_views(self, views: Sequence[InnerView]) -> Iterator[None]:
        """While it lasts, the session has the tables that queries inside expressions read."""
        reader = self._reader
        try:
            for view in views:
                reader.source(view.use, view.words).createOrReplaceTempView(view.name)
            yield
        finally:
            for view in views:
                self.spark.catalog.dropTempView(view.name)

    def _check_repeatable(self, views: Sequence[InnerView]) -> None:
        if views and self.by.event_id is not None:
            # Its request would differ each time, since it has the names that are made up here.
            problem = "a statement with a query inside an expression can't have an event id"
            raise Invalid(problem, advice="Use MERGE INTO … USING (SELECT …).")

    @property
    def _reader(self) -> Reader:
        return Reader(self.spark, self.places)

    def _rows(self, insert: Insert, table: Table) -> DataFrame:
        return stored_rows(self._reader.frame(insert.query), insert, table.schema)

    def _table(self, name: LakeName) -> Table:
        """The table that a statement changes."""
        try:
            return self.places.write(name).table(name.parts)
        except NotFound as error:
            raise pointed(error, place(self.text, name.start)) from error

    def _check_unattributed(self) -> None:
        if self.by != NOBODY:
            problem = "a query makes no commit that could have a message, an author or an event id"
            raise Invalid(problem, expected="none of them")
