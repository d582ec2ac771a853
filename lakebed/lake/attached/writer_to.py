"""`df.writeTo(name)` of a table of the lake."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from pyspark.sql import DataFrame, DataFrameWriterV2
from pyspark.sql.column import Column

from lakebed.errors import Invalid
from lakebed.lake.attached import writes
from lakebed.lake.attached.names import Found
from lakebed.lake.attached.writes import FORMATS, Asked, with_options
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.columns import condition_sql, transform_term


class LakeWriterTo(DataFrameWriterV2):
    """Creates, fills and replaces a table of the lake, by columns' names."""

    def __init__(self, found: Found, frame: DataFrame) -> None:
        self._found = found
        self._frame = frame
        self._asked = Asked()

    def using(self, provider: str) -> Self:
        if provider.lower() not in FORMATS:
            expected = "lakebed, or nothing"
            raise Invalid(
                "tables of the lake have one format", subject=self._found.spelled, expected=expected, found=provider
            )
        return self

    def option(self, key: str, value: Any) -> Self:
        self._asked = with_options(self._asked, {key: value})
        return self

    def options(self, **options: Any) -> Self:
        self._asked = with_options(self._asked, options)
        return self

    def tableProperty(self, property: str, value: str) -> Self:
        properties: Mapping[str, str] = {**self._asked.properties, property: value}
        self._asked = replace(self._asked, properties=properties)
        return self

    def partitionedBy(self, col: Column | str, *cols: Column | str) -> Self:
        self._asked = replace(self._asked, partition_by=tuple(map(transform_term, (col, *cols))))
        return self

    def clusterBy(self, col: str, *cols: str) -> Self:
        self._asked = replace(self._asked, sort_by=(col, *cols))
        return self

    def create(self) -> None:
        with spark_alone():
            writes.create(self._found, self._frame, self._asked)

    def replace(self) -> None:
        with spark_alone():
            writes.replace_existing(self._found, self._frame, self._asked)

    def createOrReplace(self) -> None:
        with spark_alone():
            writes.create_or_replace(self._found, self._frame, self._asked)

    def append(self) -> None:
        with spark_alone():
            writes.append(self._found, self._frame, self._asked)

    def overwrite(self, condition: Column | str) -> None:
        with spark_alone():
            where = condition_sql(self._frame.sparkSession, condition, self._found.table.schema)
            writes.overwrite_where(self._found, self._frame, where, self._asked)

    def overwritePartitions(self) -> None:
        with spark_alone():
            writes.overwrite_partitions(self._found, self._frame, self._asked)
