"""Rows of any database that Spark reads over JDBC. They are kept by Spark, so that all calls see the same."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import NumericType

from lakebed.databases.address import Address
from lakebed.databases.relation import MOST_TIED, Behind, Column, Mark, Relation, digest
from lakebed.errors import Corrupt, Invalid, LakebedError
from lakebed.spark.types import schema_of
from lakebed.table.schema.schema import Schema

T = TypeVar("T")


class JdbcRows:
    """Rows of a database, read once and kept."""

    def __init__(
        self,
        spark: SparkSession,
        address: Address,
        relation: Relation,
        behind: Behind | None,
        options: Mapping[str, str],
    ) -> None:
        self._address, self._relation = address, relation
        self._all = self._asked(lambda: _frame(spark, address, relation, options))
        self._new = self._asked(lambda: self._behind(behind).persist(StorageLevel.MEMORY_AND_DISK))
        self._counted: int | None = None

    def columns(self) -> Sequence[Column]:
        return [_column(self._all, name) for name in self._all.columns]

    def count(self) -> int:
        if self._counted is None:
            kept, theirs = self._asked(self._new.count), self._asked(self._unkept)
            if kept != theirs:
                raise Corrupt(
                    "the rows were changed while they were read",
                    subject=self._address.shown,
                    expected=f"{theirs:,} rows",
                    found=f"{kept:,} rows",
                    advice="Call it again.",
                )
            self._counted = kept
        return self._counted

    def unmarked(self) -> int:
        return int(self._asked(lambda: self._new.where(functions.col(self._since).isNull()).count()))

    def mark(self) -> Mark | None:
        is_number = isinstance(self._all.schema[self._relation.since or ""].dataType, NumericType)
        largest = functions.max(functions.col(self._since))

        def asked() -> Any:
            [row] = self._new.agg(largest if is_number else largest.cast("string")).collect()
            return row[0]

        found = self._asked(asked)
        return found if found is None or isinstance(found, str | int | float) else str(found)

    def tied(self, mark: Mark) -> str | None:
        column = functions.col(self._since)
        value = functions.lit(mark).cast(self._all.schema[self._relation.since or ""].dataType)
        rows = self._new.where((column == value) | column.isNull())
        found = self._asked(lambda: rows.limit(MOST_TIED + 1).collect())
        return None if len(found) > MOST_TIED else digest(map(tuple, found))

    def data(self, names: Sequence[str]) -> DataFrame:
        return self._new.select(*(functions.col(_quoted(name)) for name in names))

    def close(self) -> None:
        self._new.unpersist()

    @property
    def _since(self) -> str:
        return _quoted(self._relation.since or "")

    def _unkept(self) -> int:
        """The database's own count of the same rows."""
        return int(self._filtered.count())

    def _behind(self, behind: Behind | None) -> DataFrame:
        self._filtered = self._all
        if behind is not None and self._relation.since is not None:
            column = functions.col(self._since)
            mark = functions.lit(behind.mark).cast(self._all.schema[self._relation.since].dataType)
            new = (column >= mark) | column.isNull() if behind.again else column > mark
            self._filtered = self._all.where(new)
        return self._filtered.select("*")

    def _asked(self, ask: Callable[[], T]) -> T:
        """What Spark answers; errors have no trace of the password."""
        try:
            return ask()
        except (PySparkException, Py4JJavaError) as error:
            refused = _refusal(self._address, self._relation, error)
        raise refused


def _frame(spark: SparkSession, address: Address, relation: Relation, options: Mapping[str, str]) -> DataFrame:
    login = {"user": address.user, "password": address.password}
    given = {name: text for name, text in login.items() if text is not None}
    source = {"query": relation.query} if relation.query else {"dbtable": ".".join(relation.table)}
    return spark.read.format("jdbc").options(**{**options, "url": address.url, **given, **source}).load()


def _refusal(address: Address, relation: Relation, error: Exception) -> LakebedError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if "Exception" in line), lines[0] if lines else type(error).__name__)
    called = relation.text if len(relation.text) <= 80 else f"{relation.text[:80]}…"
    return Invalid(
        "Spark can't read this over JDBC",
        subject=f"{address.shown} {called}",
        found=address.without_secrets(cause.strip())[:300],
        advice='Is the driver\'s jar in the session (spark.jars), and its class in options={"driver": …}?',
    )


def _column(frame: DataFrame, name: str) -> Column:
    type = frame.schema[name].dataType
    try:
        [field] = _schema(frame, name).fields
    except Invalid as error:
        return Column(name, type.simpleString(), None, f"{error.problem}: cast it in a query, or leave it out")
    return Column(name, type.simpleString(), field)


def _schema(frame: DataFrame, name: str) -> Schema:
    return schema_of(frame.select(_quoted(name)).schema)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
