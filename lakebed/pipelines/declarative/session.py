"""What an attached session answers while a flow is evaluated: names are looked up, and nothing can be written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.column import Column

from lakebed.errors import Invalid
from lakebed.lake.attached.formatting import formatted
from lakebed.lake.attached.names import parsed
from lakebed.lake.attached.reader import lake_reader
from lakebed.lake.sql.read import FORMATS
from lakebed.pipelines.declarative.sql import rows_of_query
from lakebed.pipelines.declarative.wanted import Find, Parts, wanted_rows, wanted_stream
from lakebed.spark.attachment.attached import Args, Sql
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.extension import extended
from lakebed.spark.sql.parameters import filled, with_names
from lakebed.spark.sql.tokens import words_of

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


@dataclass(frozen=True, slots=True)
class FlowSession:
    """A session's answers from what `find` has; names that it does not have are Spark's own."""

    spark: SparkSession
    find: Find
    database: Parts = ()

    @property
    def url(self) -> str:
        return ""

    def sql(self, own: Sql, text: str, args: Args, given: Mapping[str, Any]) -> DataFrame:
        words = words_of(text)
        if not words.words[0].reads(*_QUERIES):
            _refuse(text[:80])
        with formatted(self.spark, text, given) as written:
            return rows_of_query(
                self.spark, words_of(with_names(filled(written, args)), namespace=self.database), self.find
            )

    def table(self, own: Callable[[str], DataFrame], name: str) -> DataFrame:
        return self._read(own, name, {})

    def reader(self, own: DataFrameReader) -> DataFrameReader:
        def table(own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
            with spark_alone():
                return self._read(own, name, options)

        def changes(own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
            with spark_alone():
                return own(name)

        return lake_reader(own, table, changes)

    def stream_reader(self, own: Any) -> Any:
        def table(own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
            with spark_alone():
                parts = _parts(name)
                found = None if parts is None else self.find(wanted_stream(parts, options))
                return own(name) if found is None else found

        own.__class__ = extended(_StreamReading, own)
        own._lakebed, own._asked = table, {}
        return own

    def writer(self, own: DataFrameWriter, frame: DataFrame) -> DataFrameWriter:
        _refuse("write")

    def writer_to(self, own: Callable[[str], DataFrameWriterV2], frame: DataFrame, name: str) -> DataFrameWriterV2:
        _refuse(f"writeTo {name}")

    def merger(self, own: Callable[[str, Column], Any], frame: DataFrame, name: str, on: Column) -> Any:
        _refuse(f"mergeInto {name}")

    def stream_writer(self, own: Any, frame: DataFrame) -> Any:
        _refuse("writeStream")

    def catalog(self, own: Catalog) -> Catalog:
        return own

    def leave(self) -> None:
        """Nothing is kept."""

    def _read(self, own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
        parts = _parts(name)
        found = None if parts is None else self.find(wanted_rows(parts, options))
        return own(name) if found is None else found


class _StreamReading:
    """What a reader of streams does more: it keeps its options, and looks up the name of a table first."""

    _lakebed: Callable[..., DataFrame]
    _asked: dict[str, Any]

    def option(self, key: str, value: Any) -> Any:
        self._asked[key] = value
        return super().option(key, value)  # type: ignore[misc]

    def options(self, **options: Any) -> Any:
        self._asked.update(options)
        return super().options(**options)  # type: ignore[misc]

    def table(self, tableName: str) -> DataFrame:
        return self._lakebed(super().table, tableName, self._asked)  # type: ignore[misc]


def _parts(name: str) -> Parts | None:
    """The parts of a name; None for a path of files."""
    ref, parts = parsed(name)
    if ref is not None:
        raise Invalid("a flow reads tables of the run's branch", subject=name, expected="a name without a ref")
    return None if parts[0].lower() in FORMATS and "/" in parts[-1] else parts


def _refuse(what: str) -> NoReturn:
    raise Invalid(
        "a flow only reads",
        subject=what,
        advice="Return the rows. What should happen afterwards is a sink, or lp.after_publish.",
    )
