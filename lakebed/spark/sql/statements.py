"""What one can say in SQL: a value for each kind of statement, made of what was cut from the text."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.tokens import Word, Words
from lakebed.table.expression.merge_clauses import Clause

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Matched(Enum):
    """How the columns of a query find those of the table that they go into."""

    POSITION = "by position"
    NAME = "by name"


@dataclass(frozen=True, slots=True)
class Select:
    """A query, or EXPLAIN or DESCRIBE of one."""

    query: Query


@dataclass(frozen=True, slots=True)
class CreateTemporaryView:
    """A name in the session for a query."""

    name: str
    query: Query
    columns: tuple[str, ...]
    replace: bool
    everywhere: bool
    """Whether it is one of all sessions, in `global_temp`."""

    def make(self, frame: "DataFrame") -> None:
        """Give the DataFrame its name in its session."""
        makers = {
            (False, False): frame.createTempView,
            (False, True): frame.createOrReplaceTempView,
            (True, False): frame.createGlobalTempView,
            (True, True): frame.createOrReplaceGlobalTempView,
        }
        makers[self.everywhere, self.replace](self.name)


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows of a query for a table; `columns` are those that were named, with their words, none for all."""

    table: LakeName
    query: Query
    columns: tuple[tuple[str, Word], ...]
    matched: Matched


@dataclass(frozen=True, slots=True)
class InsertOverwrite:
    """Rows of a query in the place of others: of those that pass `where`; without it of all, or by partition."""

    insert: Insert
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """Values for columns, as SQL."""

    table: LakeName
    values: tuple[tuple[str, str], ...]
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """Rows that go; all without `where`."""

    table: LakeName
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """A query's rows merged into a table; in conditions and values, the two are `target` and `source`."""

    table: LakeName
    source: Query
    on: str
    clauses: tuple[Clause, ...]
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is declared: its name and type, and whatever else Spark reads there, and its default as SQL."""

    name: str
    declared: str
    default: str | None
    word: Word


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table: of columns, or of a query and its rows."""

    table: LakeName
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    comment: str | None
    location: str | None
    query: Query | None
    if_not_exists: bool
    replace: bool
    words: Words


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table that goes."""

    table: LakeName
    if_exists: bool


Statement = Select | CreateTemporaryView | Insert | InsertOverwrite | Update | Delete | Merge | CreateTable | DropTable
