"""Queries of flows: functions and SQL, evaluated while what they name is looked up by `find`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import Invalid
from lakebed.pipelines.code.fingerprint import code_of
from lakebed.pipelines.declarative.session import FlowSession
from lakebed.pipelines.declarative.sql import rows_of_query, with_whole_names
from lakebed.pipelines.declarative.wanted import Find, Parts, Wanted, WantedStream
from lakebed.spark.attachment.attach import answered_by
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.fit import quoted
from lakebed.spark.sql.tokens import Words


class Query(Protocol):
    """What a flow's rows come from."""

    @property
    def code(self) -> str:
        """What it would do, so that a change is seen."""

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function, if it is one."""

    def rows(self, spark: SparkSession, find: Find, database: Parts) -> DataFrame:
        """The DataFrame, whose names `find` looks up; a name of one part may have the database before it."""


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """A function of the project, called without arguments."""

    function: Callable[..., Any]

    @property
    def code(self) -> str:
        return code_of(self.function)

    def rows(self, spark: SparkSession, find: Find, database: Parts) -> DataFrame:
        with answered_by(spark, FlowSession(spark, find, database)):
            found = self.function()
        if not any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.") for kind in _kinds(found)):
            raise Invalid(
                "a flow answers a DataFrame",
                found=type(found).__name__,
                advice="Return the rows: they are written when the function has ended.",
            )
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query in a file of the project, with the words around it."""

    words: Words
    function: None = None

    @property
    def code(self) -> str:
        return " ".join(self.words.text[word.start : word.end] for word in self.words.words)

    def rows(self, spark: SparkSession, find: Find, database: Parts) -> DataFrame:
        with spark_alone():
            return rows_of_query(spark, replace(self.words, namespace=database), find)

    def kept(self, whole: Callable[[Wanted], Parts | None], database: Parts) -> str:
        """Its text as a view of the lake has it."""
        return with_whole_names(replace(self.words, namespace=database), whole)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """All new rows of a dataset: what changes are applied from."""

    parts: Parts
    function: None = None

    @property
    def code(self) -> str:
        return ".".join(self.parts)

    def rows(self, spark: SparkSession, find: Find, database: Parts) -> DataFrame:
        found = find(WantedStream(self.parts))
        if found is not None:
            return found
        with spark_alone():
            return spark.readStream.table(".".join(f"`{part}`" for part in self.parts))


@dataclass(frozen=True, slots=True)
class RenamedQuery:
    """A query whose columns get other names."""

    query: SqlQuery
    names: tuple[str, ...]
    function: None = None

    @property
    def code(self) -> str:
        return f"{', '.join(self.names)}: {self.query.code}"

    def rows(self, spark: SparkSession, find: Find, database: Parts) -> DataFrame:
        found = self.query.rows(spark, find, database)
        if len(found.columns) != len(self.names):
            raise Invalid(
                "the view has another number of columns than its query",
                expected=", ".join(self.names),
                found=", ".join(found.columns),
            )
        return found.toDF(*self.names)

    def kept(self, whole: Callable[[Wanted], Parts | None], database: Parts) -> str:
        """Its text as a view of the lake has it."""
        return f"SELECT * FROM ({self.query.kept(whole, database)}\n) AS kept({', '.join(map(quoted, self.names))})"


def _kinds(value: object) -> tuple[type, ...]:
    return type(value).__mro__
