"""Columns of which nothing may be asked of the files: what Spark's reader would answer by their footers is wrong."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DATE, DOUBLE, FLOAT, TIMESTAMPTZ, Decimal, Field, Struct, Type, Way, leaves, walk
from lakebed.table.types.values import decode_bound

NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
NEW_CALENDAR = "spark.sql.datetime.java8API.enabled"

# Without that setting Spark pushes values through Java's old calendar. For 5 to 14 October 1582 it has 15 October, and
# near the first changes of a zone's clock, the last before 1900, it has another time; what is later stays as it is.
_SURE_FROM: dict[Type, int] = {DATE: -141_426, TIMESTAMPTZ: -2_208_988_800_000_000}


def hidden_columns(spark: SparkSession, schema: Schema) -> frozenset[int]:
    """Those of all files, by their ids: widened decimals, and structs in Spark 4.0.

    Spark 4.3 cuts the filter's value to the bytes that a file has: of `d < 1e17` nothing is left in files of 9 digits.
    Spark 4.0 takes a struct for null if a file lacks those of its fields that a query needs.
    """
    structs = [one for one in schema.fields if any(isinstance(way[-1].type, Struct) for way in walk((one,)))]
    decimals = [one for one in schema.fields if _is_widened_decimal(one)]
    return frozenset(one.id for one in (*decimals, *(structs if structs and loses_structs(spark) else ())))


def loses_structs(spark: SparkSession) -> bool:
    """Whether this Spark takes structs for null by the fields that a file lacks, and has no setting against it."""
    return not spark.conf.isModifiable(NULL_STRUCTS)


def behind(column: Column) -> Column:
    """The column, so that no filter on it and no choice of its fields goes through to the files, ever."""
    # Of `case when s is not null then s end` the optimizer makes `s` again, where a filter has said as much.
    return F.element_at(F.array(column), 1)


def alike_files(
    spark: SparkSession, data_files: Sequence[DataFileRef], schema: Schema
) -> Iterator[tuple[frozenset[int], list[DataFileRef]]]:
    """The files with the columns that are hidden in them because of values, together those that are alike.

    Alike are those whose entries say the same of the fields that they have, too; most say nothing.
    """
    numbers = [way for way in leaves(schema.fields) if way[-1].type in (FLOAT, DOUBLE)]
    times = [] if _has_new_calendar(spark) else [way for way in leaves(schema.fields) if way[-1].type in _SURE_FROM]
    groups: defaultdict[tuple[frozenset[int], str], list[DataFileRef]] = defaultdict(list)
    for one in data_files:
        groups[_with_nan(one, numbers) | _with_old_times(one, times), one.field_ids].append(one)
    for (hidden, _), alike in groups.items():
        yield hidden, alike


def _with_nan(file: DataFileRef, numbers: Sequence[Way]) -> frozenset[int]:
    """The columns that may have NaN beside bounds that leave it out: of `x > 1` Spark would skip such a row group."""
    known = _statistics(file) if numbers else {}
    return frozenset(way[0].id for way in numbers if way[-1].id in known and _may_have_nan(known[way[-1].id]))


def _may_have_nan(known: ColumnStatistics) -> bool:
    return known.nan_count > 0 if known.HasField("nan_count") else known.HasField("lower")


def _has_new_calendar(spark: SparkSession) -> bool:
    return str(spark.conf.get(NEW_CALENDAR, "false")).lower() == "true"


def _with_old_times(file: DataFileRef, times: Sequence[Way]) -> frozenset[int]:
    """The columns that may have times of which Spark asks the files for others."""
    known = _statistics(file) if times else {}
    return frozenset(way[0].id for way in times if _may_be_old(known.get(way[-1].id), way[-1].type))


def _may_be_old(known: ColumnStatistics | None, type: Type) -> bool:
    return known is None or not known.HasField("lower") or decode_bound(type, known.lower) < _SURE_FROM[type]


def _statistics(file: DataFileRef) -> dict[int, ColumnStatistics]:
    return {one.field_id: one for one in file.statistics}


def _is_widened_decimal(field: Field) -> bool:
    """Whether the field is, or has inside it, a decimal that older files have with fewer digits."""
    ends = [way[-1] for way in walk((field,))]
    return any(isinstance(one.type, Decimal) and one.widened_from is not None for one in ends)
