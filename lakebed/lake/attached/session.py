"""A session that is attached to a lake: the lake's answers to PySpark's calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.column import Column

from lakebed.catalog.transaction.context import Context
from lakebed.lake.attached.catalog import lake_catalog
from lakebed.lake.attached.merger import LakeMerger
from lakebed.lake.attached.missing import noted_names
from lakebed.lake.attached.names import Found, Names, closed
from lakebed.lake.attached.reader import changes_of, lake_reader, read_found
from lakebed.lake.attached.statements import Answering
from lakebed.lake.attached.streams import stream_reader, stream_writer
from lakebed.lake.attached.writer import lake_writer
from lakebed.lake.attached.writer_to import LakeWriterTo
from lakebed.lake.catalog import open_catalog
from lakebed.lake.sql.current import Current, choose, forget
from lakebed.spark.attachment.attached import Args, Sql
from lakebed.spark.attachment.attachments import spark_alone


@dataclass(frozen=True, slots=True)
class AttachedSession:
    """A lake's answers, for one session. `own` is what Spark itself does, for names that the lake does not have."""

    names: Names

    @property
    def url(self) -> str:
        return self.names.context.files.url

    def sql(self, own: Sql, text: str, args: Args, given: Mapping[str, Any]) -> DataFrame:
        with noted_names(self.names):
            return Answering(self.names, own, text, args, given).run()

    def table(self, own: Callable[[str], DataFrame], name: str) -> DataFrame:
        return self._read(own, name, {})

    def reader(self, own: DataFrameReader) -> DataFrameReader:
        def table(own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
            with spark_alone():
                return self._read(own, name, options)

        def changes(own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
            with spark_alone():
                return self._read(own, name, options, changes_of)

        return lake_reader(own, table, changes)

    def writer(self, own: DataFrameWriter, frame: DataFrame) -> DataFrameWriter:
        return lake_writer(own, frame, self._written, lambda: noted_names(self.names))

    def writer_to(self, own: Callable[[str], DataFrameWriterV2], frame: DataFrame, name: str) -> DataFrameWriterV2:
        found = self._written(name)
        return own(name) if found is None else LakeWriterTo(found, frame)

    def merger(self, own: Callable[[str, Column], Any], frame: DataFrame, name: str, on: Column) -> Any:
        found = self._written(name)
        return own(name, on) if found is None else LakeMerger(found, frame, on)

    def stream_reader(self, own: Any) -> Any:
        return stream_reader(own, self._streamed, lambda: noted_names(self.names))

    def stream_writer(self, own: Any, frame: DataFrame) -> Any:
        return stream_writer(own, frame, self._written, lambda: noted_names(self.names))

    def catalog(self, own: Catalog) -> Catalog:
        return lake_catalog(own, self.names)

    def leave(self) -> None:
        forget(self.names.spark, self.names.context)

    def _streamed(self, name: str) -> Found | None:
        """The table that a stream reads; a view or a system table is refused by whoever opens it."""
        return self.names.read(name) if self.names.is_open else None

    def _written(self, name: str) -> Found | None:
        self.names.check_open()
        return self.names.written(name)

    def _read(
        self,
        own: Callable[[str], DataFrame],
        name: str,
        options: Mapping[str, Any],
        read: Callable[[Names, Found, Mapping[str, Any]], DataFrame] = read_found,
    ) -> DataFrame:
        if not self.names.is_open:
            return self._read_by_spark(own, name)
        found = self.names.read(name)
        with noted_names(self.names):
            return own(name) if found is None else read(self.names, found, options)

    def _read_by_spark(self, own: Callable[[str], DataFrame], name: str) -> DataFrame:
        try:
            return own(name)
        except AnalysisException as error:
            error.add_note(str(closed(self.names.context)))
            raise


def attached_session(context: Context, spark: SparkSession, ref: str | None) -> AttachedSession:
    """A lake's answers for a session, on a ref; `NotFound` if there is no such ref."""
    if ref is not None:
        open_catalog(context, ref)
    choose(spark, context, Current(ref))
    return AttachedSession(Names(context, spark))
