"""The source of an upsert or a merge: its rows, computed once and numbered, and what is known of their keys.

That is how many there are, which of them are null or repeated, and the filter that the table is planned by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow
import pyarrow.compute as compute
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.fit import check_rows, quoted
from lakebed.spark.rows.addresses import NUMBER, bare, check_unreserved, few_rows
from lakebed.spark.types import schema_of
from lakebed.table.filter.filter import LISTED, NEVER, Filter, Value, all_of, between, one_of_values
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, DATE, INT, LONG, STRING, TIMESTAMP, TIMESTAMPTZ, Field, Fixed, Type

BROADCAST_BYTES: Final = 64 << 20
"""Sources up to this size are sent to every executor; Spark decides how to join larger ones."""

SHORT: Final = 64
"""Texts of at most this many bytes are compared in this process, up to a million of them."""

_COUNT_ERROR = 1.2  # Spark's count of distinct values is off by some per cent
_LONG = (spark.StringType, spark.BinaryType, spark.StructType, spark.ArrayType, spark.MapType)
_EQUAL_IN_ARROW = frozenset({INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ, STRING})  # exactly if they are equal in Spark
_NUMBERED: Mapping[Type, pyarrow.DataType] = {
    DATE: pyarrow.int32(),
    TIMESTAMP: pyarrow.int64(),
    TIMESTAMPTZ: pyarrow.int64(),
}

Keys = Mapping[Field, Column]
"""The table's columns that rows are matched by, and the source's column for each."""


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """What is known of a source's keys: rows, bytes, nulls by column, and the filter that all keys pass.

    `repeated` is how many keys come more than once, and `example` is one of them; 0 if that was not asked for.
    """

    rows: int
    size: int
    nulls: Mapping[str, int]
    filter: Filter
    repeated: int = 0
    example: str = ""


def stable_rows(data: object) -> DataFrame:
    """The rows, computed once and numbered, since a source may give other rows the second time.

    The executors hold them. If an executor is lost with its part, the job fails and changes nothing.
    """
    given = check_rows(data)
    check_unreserved(given.columns)
    numbered = given.select("*", F.monotonically_increasing_id().alias(bare(NUMBER)))
    return numbered.localCheckpoint(eager=True)


def source_schema(rows: DataFrame) -> Schema:
    """The columns of numbered rows that a table could have; `Invalid` if two have one name."""
    fields = [field for field in rows.schema.fields if field.name != bare(NUMBER) and _is_storable(field)]
    return schema_of(spark.StructType(fields))


def broadcast_if_small(rows: DataFrame, size: int) -> DataFrame:
    """The rows, of this many bytes, with a hint to send them to every executor if they are few.

    Spark's own estimate for rows that are already computed is often far off.
    """
    return F.broadcast(rows) if size <= BROADCAST_BYTES else rows


def source_keys(rows: DataFrame, keys: Keys) -> SourceKeys:
    """What is known of a source's keys, without repeats; one or two small jobs."""
    columns = [*_key_columns(keys), F.lit(1).cast("bigint").alias("n"), _row_bytes(rows).alias("w")]
    return _source_keys(rows.select(*columns), keys)


def source_keys_with_repeats(rows: DataFrame, keys: Keys) -> SourceKeys:
    """The same, and which keys come more than once."""
    if (known := _local_source_keys(rows, keys)) is not None:
        return known
    narrow = rows.select(*_key_columns(keys))
    counted = narrow.groupBy(*narrow.columns).agg(F.count("*").alias("n"))
    return _source_keys(counted.select("*", (_row_bytes(narrow) * F.col("n")).alias("w")), keys)


def key_text(columns: Mapping[str, tuple[str, Type]]) -> Column:
    """A key as errors show it; `columns` has the column and the type for each name."""
    texts = [
        F.concat(F.lit(f"{name} = "), _value_text(F.col(column), type)) for name, (column, type) in columns.items()
    ]
    return F.concat_ws(", ", *texts)


def _is_storable(field: spark.StructField) -> bool:
    try:
        schema_of(spark.StructType([field]))
    except Invalid:
        return False
    return True


def _row_bytes(rows: DataFrame) -> Column:
    """About how many bytes a row has in memory: 16 for each value, and its text."""
    fields = rows.schema.fields
    # One text of all: a sum over the lengths of hundreds of columns is too deep for Spark's optimizer, and ends Java.
    texts = [F.col(quoted(field.name)).cast("string") for field in fields if isinstance(field.dataType, _LONG)]
    return F.octet_length(F.concat_ws("", *texts)).cast("bigint") + 16 * (len(fields) + 1)


def _local_source_keys(rows: DataFrame, keys: Keys) -> SourceKeys | None:
    """What is known of few keys, computed in this process; None if they are many or long, or some are wrong.

    It takes one job, where Spark takes three. It can't tell long keys from nulls, nor show repeated keys as Spark does.
    """
    if any(field.type not in _EQUAL_IN_ARROW for field in keys):
        return None
    columns = [_short_or_null(column, field).alias(f"k{place}") for place, (field, column) in enumerate(keys.items())]
    found = few_rows(rows.select(*columns))
    if found is None or any(column.null_count for column in found.columns):
        return None
    if found.group_by(found.column_names).aggregate([]).num_rows < found.num_rows:
        return None
    return SourceKeys(
        rows=found.num_rows,
        size=found.nbytes + found.num_rows * 16 * (len(keys) + 1),
        nulls={},
        filter=all_of([_local_filter(field, column) for field, column in zip(keys, found.columns, strict=True)]),
    )


def _short_or_null(column: Column, field: Field) -> Column:
    return F.when(F.octet_length(column) <= SHORT, column) if field.type == STRING else column


def _local_filter(field: Field, column: pyarrow.ChunkedArray) -> Filter:
    distinct = compute.unique(column)
    ends = compute.min_max(distinct)
    return _filter(field, distinct if len(distinct) <= LISTED else None, ends["min"], ends["max"])


def _key_columns(keys: Keys) -> list[Column]:
    return [column.alias(f"k{place}") for place, column in enumerate(keys.values())]


def _source_keys(counted: DataFrame, keys: Keys) -> SourceKeys:
    """What is known of keys, given how often each comes as `n`, and the bytes of its rows as `w`."""
    names = [f"k{place}" for place in range(len(keys))]
    text = key_text({field.name: (name, field.type) for field, name in zip(keys, names, strict=True)})
    is_repeated = F.col("n") > 1
    found = counted.agg(
        F.coalesce(F.sum("n"), F.lit(0)).alias("rows"),
        F.coalesce(F.sum("w"), F.lit(0)).alias("size"),
        F.count_if(is_repeated).alias("repeated"),
        F.max_by(text, "n").alias("example"),
        *(F.coalesce(F.sum(F.when(F.col(k).isNull(), F.col("n"))), F.lit(0)).alias(f"nulls_{k}") for k in names),
        *(F.min(name).alias(f"low_{name}") for name in names),
        *(F.max(name).alias(f"high_{name}") for name in names),
        *(F.approx_count_distinct(name).alias(f"distinct_{name}") for name in names),
    ).toArrow()
    facts = {name: found.column(name)[0] for name in found.column_names}
    few = [name for name in names if facts[f"distinct_{name}"].as_py() <= LISTED * _COUNT_ERROR]
    values = _distinct_values(counted, few)
    return SourceKeys(
        rows=facts["rows"].as_py(),
        size=facts["size"].as_py(),
        nulls={field.name: facts[f"nulls_{name}"].as_py() for field, name in zip(keys, names, strict=True)},
        filter=all_of(
            [
                _filter(field, values.get(name), facts[f"low_{name}"], facts[f"high_{name}"])
                for field, name in zip(keys, names, strict=True)
            ]
        ),
        repeated=facts["repeated"].as_py(),
        example=facts["example"].as_py() or "",
    )


def _distinct_values(counted: DataFrame, names: Sequence[str]) -> dict[str, pyarrow.Array]:
    """All values of columns that have few."""
    if not names:
        return {}
    found = counted.agg(*(F.collect_set(name).alias(name) for name in names)).toArrow()
    return {name: found.column(name)[0].values for name in names}


def _filter(field: Field, values: pyarrow.Array | None, low: pyarrow.Scalar, high: pyarrow.Scalar) -> Filter:
    if not low.is_valid:
        return NEVER  # nothing equals a null
    if values is not None and len(values) <= LISTED:
        return one_of_values(field, _filter_values(values, field.type))
    ends = pyarrow.array([low, high], low.type)  # which may be later than any that Python has
    return between(field, *_filter_values(ends, field.type))


def _filter_values(values: pyarrow.Array, type: Type) -> list[Value]:
    """Values as filters have them: days, or microseconds, since 1970."""
    form = _NUMBERED.get(type)
    found: list[Value] = (values if form is None else values.cast(form)).to_pylist()
    return found


def _value_text(value: Column, type: Type) -> Column:
    """Bytes as hexadecimal digits: as text, some of them are unreadable."""
    is_bytes = type == BINARY or isinstance(type, Fixed)
    text = F.concat(F.lit("X'"), F.lower(F.hex(value)), F.lit("'")) if is_bytes else value.cast("string")
    return F.coalesce(text, F.lit("null"))
