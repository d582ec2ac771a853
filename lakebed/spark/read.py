"""Reading data files as a DataFrame, with Spark's own Parquet reader."""

import re
from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.data_files import check_whole
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.file_list import check_names, listed, takes_lists
from lakebed.spark.filter import to_spark
from lakebed.spark.fit import quoted
from lakebed.spark.locations import spark_location
from lakebed.spark.types import result_schema, scan_schema
from lakebed.table.filter import Filter
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.pruning import may_match
from lakebed.table.schema import Schema

# Given with the read, where they win over the session's settings: what they could be set to loses or changes rows.
OPTIONS = {
    "recursiveFileLookup": "true",  # folders named like `day=1` add no columns
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",  # for files that say nothing of their calendar
    "int96RebaseMode": "CORRECTED",
}
_GLOB = re.compile(r"[\[\]{}*?\\]")


def read(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    data_files: Sequence[DataFileRef],
    *,
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
) -> DataFrame:
    """The rows of these files that the filter keeps, in the columns asked for, or all; lazy, no job runs.

    Files that the filter can't match are left out by their statistics. `Corrupt` if one of the others is missing or of
    another size than it was. Names and types are the table's; all columns are nullable, as in all that Spark reads.
    """
    asked = schema if columns is None else schema.select(columns)
    kept = [one for one in data_files if filter is None or may_match(filter, one)]
    if not kept:
        return _empty(spark, asked)
    _check_deletes(kept)
    check_names(kept)
    check_whole(files, kept)
    rows = _scan(spark, files, schema, kept)
    if filter is not None:
        rows = rows.where(to_spark(filter, lambda one: one.physical_name))
    return rows.select(*_columns(asked))


def _scan(spark: SparkSession, files: Files, schema: Schema, data_files: Sequence[DataFileRef]) -> DataFrame:
    """All rows, under the physical names."""
    reader = spark.read.schema(scan_schema(schema)).options(**OPTIONS)
    locations = [spark_location(files, one.path) for one in data_files]
    if not takes_lists(spark):
        return _by_paths(reader, locations)
    with listed(locations, [one.file_size for one in data_files]) as folder:
        return reader.parquet(folder)


def _by_paths(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    for path in paths:
        if _GLOB.search(path):  # tried with Spark 4.3: each of n such files is read n times
            raise Invalid(
                "Spark takes a path with such characters for a pattern, and reads its rows more than once",
                subject=path,
                expected="a path without [ ] { } * ? \\",
                advice="Move the lake, or read it in a session that runs in this process.",
            )
    return reader.parquet(*paths)


def _columns(schema: Schema) -> list[Column]:
    """The projection from physical names to the table's; nested names change by a cast, which goes by position."""
    targets = result_schema(schema).fields
    found = scan_schema(schema).fields
    return [
        (column if there.dataType == target.dataType else column.cast(target.dataType)).alias(target.name)
        for there, target in zip(found, targets, strict=True)
        for column in [F.col(quoted(there.name))]
    ]


def _empty(spark: SparkSession, schema: Schema) -> DataFrame:
    fields = result_schema(schema).fields
    return spark.range(0).select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in fields))


def _check_deletes(data_files: Sequence[DataFileRef]) -> None:
    for one in data_files:
        if one.HasField("dv_path"):
            raise Invalid("this version of Lakebed can't read files with deleted rows in Spark", subject=one.path)
