"""`df.write`, which writes to the lake's tables by their names."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from pyspark.sql import DataFrame, DataFrameWriter

from lakebed.errors import Invalid
from lakebed.lake.attached.names import Found
from lakebed.lake.attached.writes import FORMATS, Asked, insert, save, with_options
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.extension import extended
from lakebed.spark.sql.tokens import quoted


class LakeWriting:
    """What a writer of Spark's does more: it keeps what it was asked for, and asks the lake for a name first."""

    if TYPE_CHECKING:
        _written: Callable[[str], Found | None]
        _noted: Callable[[], AbstractContextManager[None]]
        _frame: DataFrame
        _asked: Asked

    @property
    def _own(self) -> DataFrameWriter:
        return cast(DataFrameWriter, super())

    def mode(self, saveMode: str | None) -> Self:
        if saveMode is not None:
            self._asked = replace(self._asked, mode=str(saveMode).lower())
        return cast(Self, self._own.mode(saveMode))

    def format(self, source: str) -> Self:
        self._asked = replace(self._asked, format=str(source).lower())
        return cast(Self, self._own.format(source))

    def option(self, key: str, value: Any) -> Self:
        self._asked = with_options(self._asked, {key: value})
        return cast(Self, self._own.option(key, value))

    def options(self, **options: Any) -> Self:
        self._asked = with_options(self._asked, options)
        return cast(Self, self._own.options(**options))

    def partitionBy(self, *cols: Any) -> Self:
        self._asked = replace(self._asked, partition_by=tuple(map(quoted, _listed(cols))))
        return cast(Self, self._own.partitionBy(*cols))

    def bucketBy(self, numBuckets: int, col: Any, *cols: Any) -> Self:
        buckets = tuple(f"bucket({numBuckets}, {quoted(name)})" for name in _listed((col, *cols)))
        self._asked = replace(self._asked, partition_by=(*self._asked.partition_by, *buckets))
        return cast(Self, self._own.bucketBy(numBuckets, col, *cols))

    def sortBy(self, col: Any, *cols: Any) -> Self:
        self._asked = replace(self._asked, sort_by=tuple(map(quoted, _listed((col, *cols)))))
        return cast(Self, self._own.sortBy(col, *cols))

    def saveAsTable(
        self, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None, **options: Any
    ) -> None:
        with spark_alone(), self._noted():
            found = self._written(name)
            if found is None or not self._is_the_lakes(found, format):
                return self._own.saveAsTable(name, format=format, mode=mode, partitionBy=partitionBy, **options)
            asked = with_options(self._asked, options)
            if mode is not None:
                asked = replace(asked, mode=mode.lower())
            if partitionBy is not None:
                asked = replace(asked, partition_by=tuple(map(quoted, _listed((partitionBy,)))))
            return save(found, self._frame, asked)

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:
        with spark_alone(), self._noted():
            found = self._written(tableName)
            if found is None or not found.exists:
                return self._own.insertInto(tableName, overwrite)
            asked = self._asked
            if overwrite is not None:
                asked = replace(asked, mode="overwrite" if overwrite else "append")
            return insert(found, self._frame, asked)

    def _is_the_lakes(self, found: Found, format: str | None) -> bool:
        """Whether the format is of tables of the lake; a new name of one part with any other is Spark's."""
        asked = self._asked.format if format is None else format.lower()
        if asked is None or asked in FORMATS:
            return True
        if found.exists or len(found.parts) > 1:
            raise Invalid(
                "tables of the lake have one format",
                subject=found.spelled,
                expected="lakebed, or nothing",
                found=asked,
                advice="Leave the format out.",
            )
        return False


def lake_writer(
    own: DataFrameWriter,
    frame: DataFrame,
    written: Callable[[str], Found | None],
    noted: Callable[[], AbstractContextManager[None]],
) -> DataFrameWriter:
    """A writer of Spark's that asks `written` where a table of the lake is; `noted` adds to errors about its name."""
    writer: Any = own
    writer.__class__ = extended(LakeWriting, own)
    writer._written, writer._noted, writer._frame, writer._asked = written, noted, frame, Asked()
    return own


def _listed(given: Any) -> list[str]:
    """Names that come one by one or as a list."""
    first = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    return [str(name) for name in first]
