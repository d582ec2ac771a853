"""A session that is attached to a lake: the lake's answers to PySpark's calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.column import Column

from lakebed.catalog.transaction.context import Context
from lakebed.errors import Invalid
from lakebed.lake.attached.catalog import lake_catalog
from lakebed.lake.attached.missing import noted_names
from lakebed.lake.attached.names import Found, Names, closed
from lakebed.lake.attached.reader import lake_reader, read_found
from lakebed.lake.attached.statements import Answering
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

        return lake_reader(own, table)

    def writer(self, own: DataFrameWriter, frame: DataFrame) -> DataFrameWriter:
        return lake_writer(own, frame, self._written, lambda: noted_names(self.names))

    def writer_to(self, own: Callable[[str], DataFrameWriterV2], frame: DataFrame, name: str) -> DataFrameWriterV2:
        found = self._written(name)
        return own(name) if found is None else LakeWriterTo(found, frame)

    def merger(self, own: Callable[[str, Column], Any], frame: DataFrame, name: str, on: Column) -> Any:
        if self._written(name) is None:
            return own(name, on)
        raise Invalid(
            "mergeInto does not take tables of the lake",
            subject=name,
            advice="Use MERGE INTO in spark.sql(…), or table.merge(…) in Python.",
        )

    def catalog(self, own: Catalog) -> Catalog:
        return lake_catalog(own, self.names)

    def leave(self) -> None:
        forget(self.names.spark, self.names.context)

    def _written(self, name: str) -> Found | None:
        self.names.check_open()
        return self.names.written(name)

    def _read(self, own: Callable[[str], DataFrame], name: str, options: Mapping[str, Any]) -> DataFrame:
        if not self.names.is_open:
            return self._read_by_spark(own, name)
        found = self.names.read(name)
        with noted_names(self.names):
            return own(name) if found is None else read_found(self.names, found, options)

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
