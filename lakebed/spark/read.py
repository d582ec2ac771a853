"""Reading data files as a DataFrame, with Spark's own Parquet reader."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

import pyarrow
from pyroaring import FrozenBitMap64
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.data_files import check_whole
from lakebed.catalog.vectors import read_vector
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.absent import Absent, by_absent, filled
from lakebed.spark.deletes import listed_ordinal, with_places, without_deleted
from lakebed.spark.file_list import check_names, listed, takes_lists
from lakebed.spark.filter import to_spark
from lakebed.spark.fit import quoted
from lakebed.spark.locations import spark_location
from lakebed.spark.types import check_types, readable, result_schema, scan_schema
from lakebed.table.filter import Filter, fields_of
from lakebed.table.held_fields import as_held
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.parts import walk
from lakebed.table.pruning import may_match
from lakebed.table.schema import Schema
from lakebed.table.types import Decimal, Field, List, Map, Struct

# Given with the read, where they win over the session's settings: what they could be set to loses or changes rows.
OPTIONS = {
    "recursiveFileLookup": "true",  # folders named like `day=1` add no columns
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",  # for files that say nothing of their calendar
    "int96RebaseMode": "CORRECTED",
}
NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
_GLOB = re.compile(r"[\[\]{}*?\\]")


def read(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    data_files: Sequence[DataFileRef],
    *,
    filter: Filter | None = None,
    columns: Iterable[str] | None = None,
    held: pyarrow.Table | None = None,
) -> DataFrame:
    """The rows of these files that the filter keeps, in the columns asked for, or all; lazy, no job runs.

    Files that the filter can't match are left out by their statistics. `Corrupt` if one of the others is missing or of
    another size than it was. Names and types are the table's; all columns are nullable, as in all that Spark reads.
    `held` are rows in memory, already filtered and with the columns asked for: the inline ones.
    """
    asked = schema if columns is None else schema.select(columns)
    _check_session(spark, schema)
    check_types(asked.fields if filter is None else (*asked.fields, *fields_of(filter)))
    kept = [one for one in data_files if filter is None or may_match(filter, one)]
    frames = [_from_files(spark, files, schema, asked, kept, filter)] if kept else []
    if held is not None and held.num_rows:
        frames.append(spark.createDataFrame(held.combine_chunks(), result_schema(asked)))
    return reduce(DataFrame.union, frames) if frames else _empty(spark, asked)


def _from_files(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    asked: Schema,
    kept: Sequence[DataFileRef],
    filter: Filter | None,
) -> DataFrame:
    check_names(kept)
    check_whole(files, kept)
    needed = asked.fields if filter is None else (*asked.fields, *fields_of(filter))
    known = readable(schema)
    groups = (group for told in _told_alike(kept) for group in by_absent(files, needed, told).items())
    rows = []
    for absent, alike in groups:
        form = _Form(known, Schema(as_held(alike[0], known.fields)), absent, filter)
        plain = [one for one in alike if not one.HasField("dv_path")]
        if plain:
            rows.append(_rows(_scan(spark, files, form.found, plain), form))
        # Apart, so that only files with deleted rows pay for them.
        if len(plain) < len(alike):
            deleted = [one for one in alike if one.HasField("dv_path")]
            rows.append(_live_rows(spark, files, deleted, form))
    return reduce(DataFrame.union, rows).select(*_columns(asked))


def _told_alike(data_files: Sequence[DataFileRef]) -> Iterator[list[DataFileRef]]:
    """The files, together those whose entries say the same of the fields that they have; most say nothing."""
    for _, alike in groupby(sorted(data_files, key=lambda one: one.field_ids), lambda one: one.field_ids):
        yield list(alike)


@dataclass(frozen=True, slots=True)
class _Form:
    """Of files that are alike: the columns, the same as they are to be looked for there, and which fields they lack."""

    schema: Schema
    found: Schema
    absent: Absent
    filter: Filter | None


def _live_rows(
    spark: SparkSession,
    files: Files,
    data_files: Sequence[DataFileRef],
    form: _Form,
) -> DataFrame:
    """The same as `_rows` for files with vectors of deletes."""
    vectors = [read_vector(files, one) or FrozenBitMap64() for one in data_files]
    names = [one.physical_name for one in form.schema.fields]
    key, bit = (f"{name}{'_' * max(map(len, names), default=0)}" for name in ("key", "bit"))  # that no column has
    if takes_lists(spark):
        scans = [with_places(_scan(spark, files, form.found, data_files), listed_ordinal(), key, bit)]
    else:
        scans = [
            with_places(_scan(spark, files, form.found, [one]), F.lit(ordinal), key, bit)
            for ordinal, one in enumerate(data_files)
        ]
    rows = _rows(reduce(DataFrame.union, scans), form, (key, bit))
    return without_deleted(spark, rows, vectors, key, bit).select(*map(quoted, names))


def _rows(rows: DataFrame, form: _Form, others: Sequence[str] = ()) -> DataFrame:
    """The rows that the filter keeps, with the defaults of what their files lack, under the physical names.

    `others` are columns of the scan that stay with them.
    """
    fields = form.schema.fields
    if form.absent or form.found != form.schema or any(map(_is_widened_decimal, fields)):
        columns = [
            _hidden(_named(filled(F.col(quoted(there.physical_name)), there, form.absent), there, one), one)
            for there, one in zip(form.found.fields, fields, strict=True)
        ]
        rows = rows.select(
            *(column.alias(one.physical_name) for column, one in zip(columns, fields, strict=True)),
            *map(quoted, others),
        )
    return rows if form.filter is None else rows.where(to_spark(form.filter, lambda one: one.physical_name))


def _named(column: Column, found: Field, field: Field) -> Column:
    """A column with the names inside it that it has elsewhere, which a cast gives by their places."""
    return column if found.type == field.type else column.cast(scan_schema(Schema([field])).fields[0].dataType)


def _is_widened_decimal(field: Field) -> bool:
    """Whether the field is, or has inside it, a decimal that older files have with fewer digits."""
    ends = [way[-1] for way in walk((field,))]
    return any(isinstance(one.type, Decimal) and one.widened_from is not None for one in ends)


def _hidden(column: Column, field: Field) -> Column:
    """The column, so that no filter on it is pushed to the files, now or later, if they may have narrower decimals.

    Spark 4.3 cuts the filter's value to the bytes that a file has: of `d < 1e17` nothing is left in files of 9 digits.
    """
    return F.when(column.isNotNull(), column) if _is_widened_decimal(field) else column


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
        # Without metadata: a default that is for older files is nothing for whoever writes these rows elsewhere.
        (column if there.dataType == target.dataType else column.cast(target.dataType)).alias(target.name, metadata={})
        for there, target in zip(found, targets, strict=True)
        for column in [F.col(quoted(there.name))]
    ]


def _empty(spark: SparkSession, schema: Schema) -> DataFrame:
    fields = result_schema(schema).fields
    return spark.range(0).select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in fields))


def _check_session(spark: SparkSession, schema: Schema) -> None:
    if not (hasattr(spark, "read") and hasattr(spark, "conf")):
        raise Invalid(
            "this is not a Spark session",
            expected="what lakebed.spark.session(lake) answers",
            found=type(spark).__name__,
            advice="scan(…) reads without Spark.",
        )
    # No option of a read goes before it; false unless somebody changes it.
    nested = any(isinstance(one.type, Struct | List | Map) for one in schema.fields)
    if nested and spark.conf.get(NULL_STRUCTS, "false") == "true":
        raise Invalid(
            "this session shows a struct as null if a file is older than the fields that are asked for",
            subject=NULL_STRUCTS,
            expected="false",
            found="true",
            advice=f'Run `spark.conf.set("{NULL_STRUCTS}", "false")`.',
        )
