"""One run of one statement: its session, what it may reach, who runs it, and its text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.sql.names import Attribution, Objects, Places, pointed
from lakebed.lake.sql.nearest import meant
from lakebed.lake.sql.read import Reader, is_temporary
from lakebed.lake.table import Table
from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.tokens import place
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS
from lakebed.table.types.names import folded_column

NOBODY = Attribution()


@dataclass(frozen=True, slots=True)
class Execution:
    """What every statement runs with: it reads through the reader, and changes through handles."""

    spark: SparkSession
    places: Places
    by: Attribution
    text: str
    count: int = 1
    """How many statements the text has."""

    @property
    def reader(self) -> Reader:
        """Reads the tables and views of one query, each once."""
        return Reader(self.spark, self.places)

    def holder(self, name: LakeName) -> Objects:
        """What holds an object that the statement changes; `Invalid` if a temporary view hides it from queries."""
        if name.is_relative and is_temporary(self.spark, name.parts[-1]):
            problem = "a temporary view of the session has this name"
            advice = f"Write the name with its namespace: {name.spelled}."
            raise pointed(Invalid(problem, advice=advice), place(self.text, name.start))
        return self.container(name)

    def container(self, name: LakeName) -> Objects:
        """What holds an object that the statement creates or changes."""
        try:
            return self.places.write(name)
        except LakebedError as error:
            raise pointed(error, place(self.text, name.start)) from error

    def table(self, name: LakeName) -> Table:
        """The table that the statement changes."""
        objects = self.holder(name)
        try:
            return objects.table(name.parts)
        except NotFound as error:
            error.advice = meant(objects, name.parts) or error.advice
            raise pointed(error, place(self.text, name.start)) from error

    def columns(self, name: LakeName) -> frozenset[str]:
        """The columns of the table that the statement changes, folded; none if there is none, which is said later."""
        try:
            names = self.places.write(name).table(name.parts).schema.names
        except LakebedError:
            return frozenset()
        return frozenset(map(folded_column, (*names, *(column.name for column in METADATA_COLUMNS))))

    def inside(self, table: Table) -> "Execution":
        """The same statement on a table of a transaction, whose version all reads see."""
        places = replace(self.places, version=table._scope.read().base, changed=table)
        return replace(self, places=places, by=NOBODY)

    @contextmanager
    def inner_views(self, views: Sequence[InnerView]) -> Iterator[None]:
        """While it lasts, the session has the tables that queries inside expressions read."""
        reader = self.reader
        try:
            for view in views:
                reader.source(view.use, view.words).createOrReplaceTempView(view.name)
            yield
        finally:
            for view in views:
                self.spark.catalog.dropTempView(view.name)

    def check_unattributed(self) -> None:
        """Refuse a message, an author or an event id for a statement that makes no commit."""
        if self.by != NOBODY and self.count == 1:
            problem = "a query makes no commit that could have a message, an author or an event id"
            raise Invalid(problem, expected="none of them")
