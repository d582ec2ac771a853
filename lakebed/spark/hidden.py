"""Columns of which nothing may be asked of the files: what Spark's reader would answer by their footers is wrong."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from lakebed.table.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.parts import walk
from lakebed.table.schema import Schema
from lakebed.table.types import DOUBLE, FLOAT, Decimal, Field, Struct, leaves

NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"


def hidden_columns(spark: SparkSession, schema: Schema) -> frozenset[int]:
    """Those of all files, by their ids: widened decimals, and structs in Spark 4.0.

    Spark 4.3 cuts the filter's value to the bytes that a file has: of `d < 1e17` nothing is left in files of 9 digits.
    Spark 4.0 takes a struct for null if a file lacks those of its fields that a query needs.
    """
    structs = [one for one in schema.fields if any(isinstance(way[-1].type, Struct) for way in walk((one,)))]
    loses_structs = bool(structs) and not spark.conf.isModifiable(NULL_STRUCTS)
    decimals = [one for one in schema.fields if _is_widened_decimal(one)]
    return frozenset(one.id for one in (*decimals, *(structs if loses_structs else ())))


def alike_files(
    data_files: Sequence[DataFileRef], schema: Schema
) -> Iterator[tuple[frozenset[int], list[DataFileRef]]]:
    """The files with the columns that are hidden in them because of NaN, together those that are alike.

    Alike are those whose entries say the same of the fields that they have, too; most say nothing.
    """
    above = {way[-1].id: way[0].id for way in leaves(schema.fields) if way[-1].type in (FLOAT, DOUBLE)}
    groups: defaultdict[tuple[frozenset[int], str], list[DataFileRef]] = defaultdict(list)
    for one in data_files:
        groups[_with_nan(one, above), one.field_ids].append(one)
    for (nan, _), alike in groups.items():
        yield nan, alike


def _with_nan(file: DataFileRef, above: dict[int, int]) -> frozenset[int]:
    """The columns that may have NaN beside bounds that leave it out: of `x > 1` Spark would skip such a row group."""
    if not above:
        return frozenset()
    return frozenset(above[one.field_id] for one in file.statistics if one.field_id in above and _may_have_nan(one))


def _may_have_nan(known: ColumnStatistics) -> bool:
    return known.nan_count > 0 if known.HasField("nan_count") else known.HasField("lower")


def _is_widened_decimal(field: Field) -> bool:
    """Whether the field is, or has inside it, a decimal that older files have with fewer digits."""
    ends = [way[-1] for way in walk((field,))]
    return any(isinstance(one.type, Decimal) and one.widened_from is not None for one in ends)
