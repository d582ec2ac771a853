"""The streaming DataFrame over a list of files, and which files of a table can be in the list as they are.

A file in the list may be a stop: one row that has a text and nothing else. Its query fails with the text, if the stop
is meant for this DataFrame; one that was meant for an earlier one is read and left out.
"""

from io import BytesIO
from typing import Final

import pyarrow
import pyarrow.parquet
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from lakebed.catalog.feed.steps import Piece
from lakebed.files import Files
from lakebed.spark.fit import quoted
from lakebed.spark.read.defaults import files_by_missing_fields
from lakebed.spark.read.pushdown import NEW_CALENDAR, hide_from_pushdown, loses_structs, unpushable_columns
from lakebed.spark.read.scan import OPTIONS, check_columns, is_skipped
from lakebed.spark.read.structs import files_by_probes
from lakebed.spark.types import check_types, result_schema, scan_schema
from lakebed.spark.variables import scannable_fields
from lakebed.table.manifest.file_fields import ABSENT, constant_ids, fields_for_file
from lakebed.table.manifest.inline import is_inline
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DATE, DOUBLE, FLOAT, TIMESTAMPTZ, Field, Struct, walk

STOP: Final = f"{ABSENT}stop"
"""The column of a stop's text. No other file can have a column of this name."""

SOURCE_OPTIONS = {
    **OPTIONS,
    "maxFileAge": "36500d",  # otherwise Spark forgets paths a week after the newest, and reads them again
    "latestFirst": "false",
}


def stream_frame(
    spark: SparkSession, address: str, schema: Schema, key: str, *, max_files: int | None, max_bytes: int | None
) -> DataFrame:
    """The rows of the files that the list at an address has and will have, in the columns of `schema`."""
    check_types(schema.fields)
    check_columns(schema)
    scanned = scan_schema(Schema(scannable_fields(spark, schema.fields))).add(STOP, StringType())
    limits = {"maxFilesPerTrigger": max_files, "maxBytesPerTrigger": max_bytes}
    given = {name: str(limit) for name, limit in limits.items() if limit is not None}
    rows = spark.readStream.schema(scanned).options(**SOURCE_OPTIONS, **given).parquet(address)
    hidden = _unpushable(spark, schema)
    return rows.where(_goes_on(key)).select(*(_column(field, field.id in hidden) for field in schema.fields))


def stop_file(key: str, text: str) -> bytes:
    """A Parquet file that stops the DataFrame with this key."""
    sink = BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({STOP: [f"{key} {text}"]}), sink, store_schema=False)
    return sink.getvalue()


class PlainFiles:
    """Which files Spark's reader shows rightly when it gets nothing but their addresses and a table's schema."""

    def __init__(self, spark: SparkSession, files: Files, schema: Schema) -> None:
        self._files, self._schema = files, schema
        has_structs = any(isinstance(way[-1].type, Struct) for way in walk(schema.fields))
        self._needs_probes = has_structs and loses_structs(spark)

    def has(self, piece: Piece) -> bool:
        """Whether a piece is all rows of such a file."""
        file = piece.file
        if is_inline(file) or piece.left_out or constant_ids(file) or is_skipped(file):
            return False
        fields = self._schema.fields
        if fields_for_file(file, fields) != fields or any(files_by_missing_fields(self._files, fields, [file])):
            return False
        return not self._needs_probes or set(files_by_probes(self._files, fields, fields, [file])) <= {fields}


def _goes_on(key: str) -> Column:
    """True for rows of tables; an error for a stop of this DataFrame, false for one of another."""
    stop = F.col(quoted(STOP))
    text = F.substring(stop, len(key) + 2, 1 << 30)
    return (
        F.when(stop.isNull(), True)
        .when(stop.startswith(f"{key} "), F.raise_error(text).cast("boolean"))
        .otherwise(False)
    )


def _unpushable(spark: SparkSession, schema: Schema) -> frozenset[int]:
    """The columns by which no file may be filtered, whatever values files will have: see `read/pushdown.py`."""
    unsure = {FLOAT, DOUBLE}
    if str(spark.conf.get(NEW_CALENDAR, "false")).lower() != "true":
        unsure |= {DATE, TIMESTAMPTZ}
    own = {field.id for field in schema.fields if any(way[-1].type in unsure for way in walk((field,)))}
    return unpushable_columns(spark, schema) | own


def _column(field: Field, is_hidden: bool) -> Column:
    """A column under the table's name instead of the physical one; a cast, by position, renames nested fields."""
    target = result_schema(Schema([field])).fields[0]
    scanned = scan_schema(Schema([field])).fields[0]
    column = F.col(quoted(scanned.name))
    if is_hidden:
        column = hide_from_pushdown(column)
    is_same = scanned.dataType == target.dataType and not scanned.metadata
    return (column if is_same else column.cast(target.dataType)).alias(target.name, metadata={})
