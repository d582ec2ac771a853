"""Statements in SQL, done by the handles."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Open
from lakebed.errors import Conflict, Invalid, NotFound
from lakebed.lake.engines import load_engine
from lakebed.lake.objects import Objects
from lakebed.lake.sql.names import Line, Places, pointed
from lakebed.lake.sql.read import UTC, ZONE, Reader
from lakebed.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark.sql.expressions import InnerView
    from lakebed.spark.sql.names import LakeName
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

ATTEMPTS = 5
"""How often a statement is done that others make out of date before it commits; each time runs its jobs again."""

Change = Callable[["StatementRunner", Table], Commit | None]
"""What a statement does to its table."""


@dataclass(frozen=True, slots=True)
class Told:
    """Who and why, for the commit of a statement."""

    message: str | None = None
    author: str | None = None
    event_id: str | UUID | None = None

    @property
    def named(self) -> dict[str, Any]:
        """As calls take it."""
        return {"message": self.message, "author": self.author, "event_id": self.event_id}


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Does one statement: reads through the reader, changes through handles."""

    spark: "SparkSession"
    places: Places
    told: Told
    text: str

    def select(self, statement: "Select") -> "DataFrame":
        self._check_untold()
        return self._reader.frame(statement.query)

    def create_temporary_view(self, statement: "CreateTemporaryView") -> "DataFrame":
        self._check_untold()
        frame = self._reader.frame(statement.query)
        named = frame.toDF(*statement.columns) if statement.columns else frame
        statement.make(named)
        return named

    def insert(self, statement: "Insert") -> Commit | None:
        def do(runner: StatementRunner, table: Table) -> Commit | None:
            rows = runner._rows(statement, table)
            with _sql().values_told(statement.table.spelled):
                return table.append(rows, **runner.told.named)

        return self._done(statement.table, do, statement.query)

    def insert_overwrite(self, statement: "InsertOverwrite") -> Commit | None:
        insert = statement.insert

        def do(runner: StatementRunner, table: Table) -> Commit | None:
            rows = runner._rows(insert, table)
            with _sql().values_told(insert.table.spelled), runner._seen(statement.views):
                if statement.where is None and len(table.spec):
                    return table.overwrite_partitions(rows, **runner.told.named)
                where = None if statement.where is None else runner._meant(statement.where)
                return table.overwrite(rows, where, **runner.told.named)

        return self._done(insert.table, do, insert.query, statement.views)

    def update(self, statement: "Update") -> Commit | None:
        def do(runner: StatementRunner, table: Table) -> Commit | None:
            where = None if statement.where is None else runner._meant(statement.where)
            with runner._seen(statement.views):
                return table.update(dict(statement.values), where, spark=self.spark, **runner.told.named)

        return self._done(statement.table, do, None, statement.views)

    def delete(self, statement: "Delete") -> Commit | None:
        def do(runner: StatementRunner, table: Table) -> Commit | None:
            if statement.where is None:
                return table.truncate(**runner.told.named)
            with runner._seen(statement.views):
                return table.delete(runner._meant(statement.where), spark=self.spark, **runner.told.named)

        return self._done(statement.table, do, None, statement.views)

    def merge(self, statement: "Merge") -> Commit | None:
        def do(runner: StatementRunner, table: Table) -> Commit | None:
            source = runner._reader.frame(statement.source)
            with runner._seen(statement.views):
                return table.merge(source, statement.on, *statement.clauses, **runner.told.named)

        return self._done(statement.table, do, statement.source, statement.views)

    def _done(
        self, name: "LakeName", do: Change, query: "Query | None" = None, views: "Sequence[InnerView]" = ()
    ) -> Commit | None:
        """Make a change. What it reads of the lake is read at the version that it changes, and again if that is lost.

        Else a row that came in between would be changed, or taken away, though no query of the statement has seen it.
        """
        table = self._table(name)
        self._check_repeatable(views)
        reads = bool(views) or (query is not None and bool(query.uses or query.suspects))
        if self.places.transaction is not None or not reads:
            return do(self, table)
        request = Request("sql", (table.id, self.text), self.told.message, self.told.author, self.told.event_id)
        known = table._scope.replayed(request)
        if known is not None:
            return known
        return self._at_one_version(table, do, request)

    def _at_one_version(self, table: Table, do: Change, request: Request) -> Commit:
        for attempt in range(ATTEMPTS):
            scope = Open(table._scope.context, table._scope.ref, request)
            scope.begin()
            try:
                own = Table(table.id, scope)
                do(self._changing(own), own)
                return scope.commit()
            except Conflict:
                if attempt + 1 == ATTEMPTS:
                    raise
            finally:
                scope.close()
        raise AssertionError("the last attempt answers or raises")

    def _changing(self, table: Table) -> "StatementRunner":
        """What does the statement on a table of a transaction, whose version all reads see."""
        places = replace(self.places, version=table._scope.read().base, changed=table)
        return replace(self, places=places, told=Told())

    def _meant(self, where: str) -> str:
        """A condition that means what the session takes it for, as that of a query does."""
        engine = load_engine("spark")
        is_alike = self.spark.conf.get(ZONE) in UTC and engine.VARIABLE not in where
        return where if is_alike else cast(str, engine.SessionText(where))

    def create_table(self, statement: "CreateTable") -> Table:
        held = self.places.write(statement.table)
        there = held.table_exists(statement.table.parts)
        if there and statement.if_not_exists:
            return held.table(statement.table.parts)
        if there and statement.replace:
            return self._replaced(held, statement)
        if statement.query is None:
            columns = _sql().declared_schema(self.spark, statement.columns, statement.words)
            return self._create(held, statement, columns, self.told.named)
        rows = self._reader.frame(statement.query)
        if not isinstance(held, Line):
            return self._filled(held, statement, rows)
        with held.transaction(**self.told.named) as transaction:
            made = self._filled(transaction, statement, rows)
        return Table(made.id, held._scope)

    def _replaced(self, held: Objects, statement: "CreateTable") -> Table:
        """Make a table in the place of another, of whose rows it may be, in one commit."""
        if not isinstance(held, Line):
            return self._made_anew(held, statement)
        with held.transaction(**self.told.named) as transaction:
            old = transaction.table(statement.table.parts)
            made = self._changing(old)._made_anew(transaction, statement)
        return Table(made.id, held._scope)

    def _made_anew(self, held: Objects, statement: "CreateTable") -> Table:
        rows = None if statement.query is None else self._reader.frame(statement.query)
        held.drop_table(statement.table.parts)
        return self._filled(held, statement, rows)

    def _filled(self, held: Objects, statement: "CreateTable", rows: "DataFrame | None") -> Table:
        if rows is None:
            return self._create(
                held, statement, _sql().declared_schema(self.spark, statement.columns, statement.words), {}
            )
        made = self._create(held, statement, _sql().query_schema(rows), {})
        made.append(rows)
        return made

    def _create(self, held: Objects, statement: "CreateTable", columns: Any, told: dict[str, Any]) -> Table:
        return held.create_table(
            statement.table.parts,
            columns,
            partition_by=statement.partition_by,
            primary_key=statement.primary_key,
            properties=dict(statement.properties),
            comment=statement.comment,
            location=statement.location,
            **told,
        )

    def drop_table(self, statement: "DropTable") -> Commit | None:
        held = self.places.write(statement.table)
        if statement.if_exists and not held.table_exists(statement.table.parts):
            return None
        self._table(statement.table)
        return held.drop_table(statement.table.parts, **self.told.named)

    @contextmanager
    def _seen(self, views: "Sequence[InnerView]") -> Iterator[None]:
        """While it lasts, the session has the tables that queries inside expressions read."""
        reader = self._reader
        try:
            for one in views:
                reader.source(one.use, one.words).createOrReplaceTempView(one.name)
            yield
        finally:
            for one in views:
                self.spark.catalog.dropTempView(one.name)

    def _check_repeatable(self, views: "Sequence[InnerView]") -> None:
        if views and self.told.event_id is not None:
            # Its request would be another one each time, since it has the names that are made up here.
            problem = "a statement with a query inside an expression can't have an event id"
            raise Invalid(problem, advice="Use MERGE INTO … USING (SELECT …).")

    @property
    def _reader(self) -> Reader:
        return Reader(self.spark, self.places)

    def _rows(self, insert: "Insert", table: Table) -> "DataFrame":
        rows: DataFrame = _sql().stored_rows(self._reader.frame(insert.query), insert, table.schema)
        return rows

    def _table(self, name: "LakeName") -> Table:
        """The table that a statement changes."""
        try:
            return self.places.write(name).table(name.parts)
        except NotFound as error:
            raise pointed(error, _sql().place(self.text, name.start)) from error

    def _check_untold(self) -> None:
        if self.told != Told():
            problem = "a query makes no commit that could have a message, an author or an event id"
            raise Invalid(problem, expected="none of them")


def run_statement(spark: "SparkSession", text: str, places: Places, told: Told) -> "DataFrame | Commit | Table | None":
    """Do the statement in a text: of a query the DataFrame, of a change the commit, of a new table its handle."""
    runner = StatementRunner(spark, places, told, text)
    answer: DataFrame | Commit | Table | None = _sql().parse_statement(text).accept(runner)
    return answer


def _sql() -> Any:
    return load_engine("spark").sql
