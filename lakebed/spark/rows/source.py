"""The keys of a source: how many, whether they come once, and the filter by which a table is planned for them."""

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
"""Sources up to this size are sent to every executor; larger ones are joined as Spark sees fit."""


def stable_rows(data: object) -> DataFrame:
    """The rows, calculated once and numbered. A source that would have other rows the second time has them once.

    The executors hold them; if one is lost with its part the job fails, and changes nothing.
    """
    given = check_rows(data)
    check_unreserved(given.columns)
    numbered = given.select("*", F.monotonically_increasing_id().alias(bare(NUMBER)))
    return numbered.localCheckpoint(eager=True)


def source_schema(rows: DataFrame) -> Schema:
    """The columns of numbered rows that a table could have; `Invalid` if two have one name."""
    fields = [one for one in rows.schema.fields if one.name != bare(NUMBER) and _is_known(one)]
    return schema_of(spark.StructType(fields))


def _is_known(field: spark.StructField) -> bool:
    try:
        schema_of(spark.StructType([field]))
    except Invalid:
        return False
    return True


def width(rows: DataFrame) -> Column:
    """About how many bytes a row has in memory: 16 for each value, and its text."""
    fields = rows.schema.fields
    # One text of all: to add up the lengths of hundreds of columns is too deep for Spark's optimizer, and ends Java.
    texts = [F.col(quoted(one.name)).cast("string") for one in fields if isinstance(one.dataType, _LONG)]
    return F.octet_length(F.concat_ws("", *texts)).cast("bigint") + 16 * (len(fields) + 1)


_LONG = (spark.StringType, spark.BinaryType, spark.StructType, spark.ArrayType, spark.MapType)


def sent(rows: DataFrame, size: int) -> DataFrame:
    """The rows of this many bytes, with a hint to send them to every executor if they are few.

    What Spark believes of the size of rows that were calculated before is often far from it.
    """
    return F.broadcast(rows) if size <= BROADCAST_BYTES else rows


_UNSURE = 1.2  # Spark's count of different values is off by some per cent
SHORT = 64
"""Text of so many bytes is looked at in this process, with a million others."""

Keys = Mapping[Field, Column]
"""What the table's columns have to equal."""


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """Of the keys of a source: its rows and their bytes, nulls by column, and the filter that all of them pass.

    `repeated` keys come more than once, and `example` is one of them, by column; if that was not asked for, none do.
    """

    rows: int
    size: int
    nulls: Mapping[str, int]
    filter: Filter
    repeated: int = 0
    example: str = ""


def keys_of(rows: DataFrame, keys: Keys) -> SourceKeys:
    """What is known of a source's keys, whether or not they come once; one or two small jobs."""
    columns = [*_named(keys), F.lit(1).cast("bigint").alias("n"), width(rows).alias("w")]
    return _known(rows.select(*columns), keys)


def source_keys_with_repeats(rows: DataFrame, keys: Keys) -> SourceKeys:
    """The same, and which keys come more than once."""
    if (known := _known_here(rows, keys)) is not None:
        return known
    every = rows.select(*_named(keys))
    counted = every.groupBy(*every.columns).agg(F.count("*").alias("n"))
    return _known(counted.select("*", (width(every) * F.col("n")).alias("w")), keys)


def _known_here(rows: DataFrame, keys: Keys) -> SourceKeys | None:
    """What is known of few keys, looked at in this process; None if they are many or long, or some are wrong.

    One job, where Spark takes three. It can't tell keys that are long from nulls, nor show those that come twice as
    Spark does.
    """
    if any(one.type not in _PLAIN for one in keys):
        return None
    named = [_short(column, field).alias(f"k{place}") for place, (field, column) in enumerate(keys.items())]
    found = few_rows(rows.select(*named))
    if found is None or any(one.null_count for one in found.columns):
        return None
    if found.group_by(found.column_names).aggregate([]).num_rows < found.num_rows:
        return None
    return SourceKeys(
        rows=found.num_rows,
        size=found.nbytes + found.num_rows * 16 * (len(keys) + 1),
        nulls={},
        filter=all_of([_filter_of(*each) for each in zip(keys, found.columns, strict=True)]),
    )


def _short(column: Column, field: Field) -> Column:
    return F.when(F.octet_length(column) <= SHORT, column) if field.type == STRING else column


def _filter_of(field: Field, column: pyarrow.ChunkedArray) -> Filter:
    different = compute.unique(column)
    ends = compute.min_max(different)
    return _filter(field, different if len(different) <= LISTED else None, ends["min"], ends["max"])


def _named(keys: Keys) -> list[Column]:
    return [column.alias(f"k{place}") for place, column in enumerate(keys.values())]


def _known(counted: DataFrame, keys: Keys) -> SourceKeys:
    names = [f"k{place}" for place in range(len(keys))]
    shown = key_text({field.name: (one, field.type) for field, one in zip(keys, names, strict=True)})
    is_repeated = F.col("n") > 1
    found = counted.agg(
        F.coalesce(F.sum("n"), F.lit(0)).alias("rows"),
        F.coalesce(F.sum("w"), F.lit(0)).alias("size"),
        F.count_if(is_repeated).alias("repeated"),
        F.max_by(shown, "n").alias("example"),
        *(F.coalesce(F.sum(F.when(F.col(one).isNull(), F.col("n"))), F.lit(0)).alias(f"nulls_{one}") for one in names),
        *(F.min(one).alias(f"low_{one}") for one in names),
        *(F.max(one).alias(f"high_{one}") for one in names),
        *(F.approx_count_distinct(one).alias(f"different_{one}") for one in names),
    ).toArrow()
    facts = {name: found.column(name)[0] for name in found.column_names}
    few = [one for one in names if facts[f"different_{one}"].as_py() <= LISTED * _UNSURE]
    values = _values(counted, few)
    return SourceKeys(
        rows=facts["rows"].as_py(),
        size=facts["size"].as_py(),
        nulls={field.name: facts[f"nulls_{one}"].as_py() for field, one in zip(keys, names, strict=True)},
        filter=all_of(
            [
                _filter(field, values.get(one), facts[f"low_{one}"], facts[f"high_{one}"])
                for field, one in zip(keys, names, strict=True)
            ]
        ),
        repeated=facts["repeated"].as_py(),
        example=facts["example"].as_py() or "",
    )


def key_text(columns: Mapping[str, tuple[str, Type]]) -> Column:
    """A key as errors show it: for the name of each of its columns, the column that has it here, and its type."""
    shown = [F.concat(F.lit(f"{name} = "), _shown(F.col(place), type)) for name, (place, type) in columns.items()]
    return F.concat_ws(", ", *shown)


def _shown(value: Column, type: Type) -> Column:
    """Bytes by their digits: as text, some of them can't be read by anybody."""
    is_bytes = type == BINARY or isinstance(type, Fixed)
    text = F.concat(F.lit("X'"), F.lower(F.hex(value)), F.lit("'")) if is_bytes else value.cast("string")
    return F.coalesce(text, F.lit("null"))


def _values(counted: DataFrame, few: Sequence[str]) -> dict[str, pyarrow.Array]:
    """All values of columns that have few."""
    if not few:
        return {}
    found = counted.agg(*(F.collect_set(one).alias(one) for one in few)).toArrow()
    return {one: found.column(one)[0].values for one in few}


def _filter(field: Field, values: pyarrow.Array | None, low: pyarrow.Scalar, high: pyarrow.Scalar) -> Filter:
    if not low.is_valid:
        return NEVER  # nothing equals a null
    if values is not None and len(values) <= LISTED:
        return one_of_values(field, _plain(values, field.type))
    ends = pyarrow.array([low, high], low.type)  # which may be later than any that Python has
    return between(field, *_plain(ends, field.type))


_PLAIN = frozenset({INT, LONG, DATE, TIMESTAMP, TIMESTAMPTZ, STRING})  # equal in Arrow if they are in Spark
_NUMBERED: Mapping[Type, pyarrow.DataType] = {
    DATE: pyarrow.int32(),
    TIMESTAMP: pyarrow.int64(),
    TIMESTAMPTZ: pyarrow.int64(),
}


def _plain(values: pyarrow.Array, type: Type) -> list[Value]:
    """Values as filters have them: days, or microseconds, since 1970."""
    form = _NUMBERED.get(type)
    found: list[Value] = (values if form is None else values.cast(form)).to_pylist()
    return found
