"""Columns whose filters must not be pushed down to files, because Spark's reader would skip the wrong row groups."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from lakebed.table.manifest.file_fields import column_names_of, constant_ids
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import (
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMPTZ,
    Decimal,
    Field,
    Struct,
    Type,
    Way,
    leaves,
    walk,
)
from lakebed.table.types.values import decode_bound

NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
NEW_CALENDAR = "spark.sql.datetime.java8API.enabled"

# Without that setting Spark pushes values through Java's old calendar. It turns 5 to 14 October 1582 into 15 October,
# and changes times near a zone's first clock changes, the last of them before 1900. Later values stay as they are.
_SURE_FROM: dict[Type, int] = {DATE: -141_426, TIMESTAMPTZ: -2_208_988_800_000_000}


def unpushable_columns(spark: SparkSession, schema: Schema) -> frozenset[int]:
    """The columns, by id, that no file may be filtered by: widened decimals, and structs in Spark 4.0.

    Spark 4.3 cuts the filter's value to the bytes that a file has: `d < 1e17` finds nothing in files of 9 digits. Spark
    4.0 reads a struct as null if a file has none of the fields that a query needs.
    """
    structs = [field for field in schema.fields if any(isinstance(way[-1].type, Struct) for way in walk((field,)))]
    decimals = [field for field in schema.fields if _is_widened_decimal(field)]
    return frozenset(field.id for field in (*decimals, *(structs if structs and loses_structs(spark) else ())))


def loses_structs(spark: SparkSession) -> bool:
    """Whether this Spark reads structs as null because of missing fields, and has no setting against it."""
    return not spark.conf.isModifiable(NULL_STRUCTS)


def hide_from_pushdown(column: Column) -> Column:
    """The column, wrapped so that no filter on it and no choice of its fields is pushed to the files."""
    # The optimizer reduces `case when s is not null then s end` to `s` if a filter implies the condition.
    return F.element_at(F.array(column), 1)


def files_by_pushdown(
    spark: SparkSession, data_files: Sequence[DataFileRef], schema: Schema
) -> Iterator[tuple[frozenset[int], list[DataFileRef]]]:
    """The files by the columns, by id, whose values forbid pushdown in them.

    Files of one group have the same `field_ids`, names and constant columns in their entries, too; most have none.
    """
    numbers = [way for way in leaves(schema.fields) if way[-1].type in (FLOAT, DOUBLE)]
    times = [] if _has_new_calendar(spark) else [way for way in leaves(schema.fields) if way[-1].type in _SURE_FROM]
    groups: defaultdict[tuple[frozenset[int], str, Hashable, frozenset[int]], list[DataFileRef]] = defaultdict(list)
    for file in data_files:
        hidden = _columns_with_nan(file, numbers) | _columns_with_old_times(file, times)
        names = tuple(column_names_of(file).items())
        groups[hidden, file.field_ids, names, constant_ids(file)].append(file)
    for (unpushable, *_), alike in groups.items():
        yield unpushable, alike


def _columns_with_nan(file: DataFileRef, numbers: Sequence[Way]) -> frozenset[int]:
    """The columns that may have NaN outside of their bounds: for `x > 1` Spark would skip such a row group."""
    known = _statistics(file) if numbers else {}
    return frozenset(way[0].id for way in numbers if way[-1].id in known and _may_have_nan(known[way[-1].id]))


def _may_have_nan(known: ColumnStatistics) -> bool:
    return known.nan_count > 0 if known.HasField("nan_count") else known.HasField("lower")


def _has_new_calendar(spark: SparkSession) -> bool:
    return str(spark.conf.get(NEW_CALENDAR, "false")).lower() == "true"


def _columns_with_old_times(file: DataFileRef, times: Sequence[Way]) -> frozenset[int]:
    """The columns that may have times that Spark pushes as other times."""
    known = _statistics(file) if times else {}
    return frozenset(way[0].id for way in times if _may_be_old(known.get(way[-1].id), way[-1].type))


def _may_be_old(known: ColumnStatistics | None, type: Type) -> bool:
    return known is None or not known.HasField("lower") or decode_bound(type, known.lower) < _SURE_FROM[type]


def _statistics(file: DataFileRef) -> dict[int, ColumnStatistics]:
    return {column.field_id: column for column in file.statistics}


def _is_widened_decimal(field: Field) -> bool:
    """Whether the field is, or has inside it, a decimal that older files have with fewer digits."""
    leaves = [way[-1] for way in walk((field,))]
    return any(isinstance(leaf.type, Decimal) and leaf.widened_from is not None for leaf in leaves)
