"""The statements of SQL: a value for each kind, made of pieces of the text."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lakebed.spark.sql.expressions import InnerView
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.queries import Query
from lakebed.spark.sql.tokens import Word, Words, quoted
from lakebed.spark.variables import verbatim
from lakebed.table.expression.merge_clauses import Then, When

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
        makers[self.everywhere, self.replace](verbatim(frame.sparkSession, quoted(self.name)))


class Default(Enum):
    """The default of whichever column it is given to."""

    DEFAULT = "DEFAULT"


Value = str | Default
"""What a column is set to: an expression, or its default."""

Assigned = tuple[tuple[tuple[str, ...], Value], ...]
"""Columns, or fields of structs, by their paths, and what they are set to."""


@dataclass(frozen=True, slots=True)
class GivenDefault:
    """The word DEFAULT in the rows behind VALUES, and the number of its column there."""

    word: Word
    column: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A column of PARTITION (…) and its value as SQL, which no row of the query has; `text` if that is a text."""

    name: str
    sql: str
    word: Word
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """A query's rows for a table; `columns` are the named ones, with their words, none for all."""

    table: LakeName
    query: Query
    columns: tuple[tuple[str, Word], ...]
    matched: Matched
    defaults: tuple[GivenDefault, ...] = ()
    constants: tuple[Constant, ...] = ()


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
    values: Assigned
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """The rows to delete; all without `where`."""

    table: LakeName
    where: str | None
    views: tuple[InnerView, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A clause of a merge; without values, all columns are set."""

    when: When
    then: Then
    values: Assigned | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of a query's rows into a table; conditions and values name the two `target` and `source`.

    `evolves` says that the table gets the columns of the source that it does not have. `joined` is what its one clause
    does if the statement is not a MERGE: DELETE … USING or UPDATE … FROM.
    """

    table: LakeName
    source: Query
    on: str
    clauses: tuple[MergeClause, ...]
    views: tuple[InnerView, ...] = ()
    evolves: bool = False
    joined: Then | None = None


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
