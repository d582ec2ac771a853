"""The statements of SQL: a value for each kind, made of pieces of the text."""

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
    """How the columns of a query are matched to the table's."""

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
    """Whether all sessions see it, in `global_temp`."""

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
    """A query's rows for a table; `columns` are the named ones, with their words, none for all."""

    table: LakeName
    query: Query
    columns: tuple[tuple[str, Word], ...]
    matched: Matched


@dataclass(frozen=True, slots=True)
class InsertOverwrite:
    """A query's rows that replace rows that pass `where`; without it all rows, or whole partitions."""

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
    """The rows to delete; all without `where`."""

    table: LakeName
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of a query's rows into a table; conditions and values name the two `target` and `source`."""

    table: LakeName
    source: Query
    on: str
    clauses: tuple[Clause, ...]
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column; its type and default are Spark's SQL."""

    name: str
    type: str
    word: Word
    default: str | None = None
    required: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table to create from columns, or from a query and its rows."""

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
    """A table to drop."""

    table: LakeName
    if_exists: bool


Statement = Select | CreateTemporaryView | Insert | InsertOverwrite | Update | Delete | Merge | CreateTable | DropTable
