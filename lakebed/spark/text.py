"""Rows of files of text by Spark's executors: each file is read by one task, as the local engine reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from lakebed.catalog.data.foreign import BadRow
from lakebed.deferred import pyarrow
from lakebed.spark.types import spark_schema
from lakebed.table.schema.schema import Schema

_BAD: Final = ("lakebed.bad_file", "lakebed.bad_row", "lakebed.bad_reason", "lakebed.bad_text")
"""Columns beside the table's: of a row that can't be read they say what it is, and the table's columns are null."""

MOST_TASKS: Final = 10_000

Read = Callable[[str], Iterator[tuple["pyarrow.RecordBatch", Sequence[BadRow]]]]
"""Reads a file by its path, in an executor: rows in the columns of a table, and those that can't be read."""


@dataclass(frozen=True, slots=True)
class SparkText:
    """Rows that Spark has read, kept until the import is over; `good` is how many could be read."""

    frame: DataFrame
    good: int
    _others: DataFrame = field(repr=False)

    def bad(self, most: int) -> list[BadRow]:
        """The rows that can't be read, at most so many."""
        return [BadRow(*row) for row in self._others.limit(most).collect()]


@contextmanager
def spark_text(spark: SparkSession, paths: Sequence[str], schema: Schema, read: Read) -> Iterator[SparkText]:
    """Read files, and keep their rows inside the `with`."""
    columns = spark_schema(schema).fields
    beside = [StructField(name, LongType() if name == _BAD[1] else StringType()) for name in _BAD]
    listed = spark.createDataFrame([(path,) for path in paths], "path string")
    tasks = listed.repartition(min(len(paths), MOST_TASKS))
    form = StructType([*(StructField(one.name, one.dataType) for one in columns), *beside])
    rows = tasks.mapInArrow(_task(read), form).persist()
    try:
        is_good = F.col(f"`{_BAD[0]}`").isNull()
        good = rows.where(is_good)
        own = [F.col(f"`{one.name.replace('`', '``')}`") for one in columns]
        others = rows.where(~is_good).select(*(F.col(f"`{name}`") for name in _BAD))
        yield SparkText(good.select(*own), good.count(), others)
    finally:
        rows.unpersist()


def _task(read: Read) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for path in batch.column("path").to_pylist():
                for good, bad in read(path):
                    yield from _with_bad(good, bad)

    return run


def _with_bad(good: pyarrow.RecordBatch, bad: Sequence[BadRow]) -> Iterator[pyarrow.RecordBatch]:
    names = [*good.schema.names, *_BAD]
    if good.num_rows:
        beside = [pyarrow.nulls(good.num_rows, type) for type in _types()]
        yield pyarrow.RecordBatch.from_arrays([*good.columns, *beside], names=names)
    if bad:
        own = [pyarrow.nulls(len(bad), column.type) for column in good.columns]
        said = zip(*((one.file, one.row, one.reason, one.text) for one in bad), strict=True)
        beside = [pyarrow.array(values, type) for values, type in zip(said, _types(), strict=True)]
        yield pyarrow.RecordBatch.from_arrays([*own, *beside], names=names)


def _types() -> list[pyarrow.DataType]:
    return [pyarrow.string(), pyarrow.int64(), pyarrow.string(), pyarrow.string()]
