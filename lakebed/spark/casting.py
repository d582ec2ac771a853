"""A DataFrame's columns, cast to a table's where no value is lost: whole numbers always, all else by choice.

Only the job finds a value that would be lost: its error begins with `UNFIT`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.expressions import UNFIT, quietly, unfit_value
from lakebed.spark.fit import quoted
from lakebed.spark.types import result_schema, schema_of
from lakebed.table.expression.types import FLOATING, WHOLE, can_cast
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.casts import dropped_pattern
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import FLOAT, INT, STRING, Decimal, Field, Simple, Type

EXACT: Final = float(2**53)
"""Above this, a float may have been another whole number before it became a float."""

_IsSame = Callable[[Column, Column], Column]
"""Whether a value and what it was cast to are the same."""


def with_whole_numbers(frame: DataFrame, schema: Schema) -> DataFrame:
    """The rows; floats and longs are the table's whole numbers. A value that is not one fails the job."""
    return _converted(frame, schema, _whole_column)


def cast_rows(frame: DataFrame, schema: Schema) -> DataFrame:
    """The rows with columns of the table's types, as CAST has it; a value that would be lost fails the job.

    Columns that fit, or that no cast leads from, are left as they are, and so are arrays, maps and structs.
    """
    return _converted(frame, schema, _cast_column)


def checked_cast(value: Column, wanted: spark.DataType, field: Field, is_same: _IsSame | None = None) -> Column:
    """The value cast by the rules of ANSI mode, in every session; a value that it can't cast is an error."""
    cast = value.try_cast(wanted)
    is_lost = cast.isNull() if is_same is None else cast.isNull() | ~is_same(value, cast)
    message = F.concat(
        F.lit(f"{UNFIT}«{field.name}»«{field.type}»«"), F.coalesce(value.try_cast("string"), F.lit("?")), F.lit("»")
    )
    return F.when(value.isNotNull() & is_lost, F.raise_error(message).cast(wanted)).otherwise(cast)


@contextmanager
def unfit_values() -> Iterator[None]:
    """Raise what a job finds out about a value that would be lost as `Invalid`; other errors go through."""
    try:
        with quietly():
            yield
    except PySparkException as error:
        if (found := unfit_value(str(error))) is not None:
            raise found from error
        raise


def _converted(
    frame: DataFrame, schema: Schema, convert: Callable[[spark.StructField, Field], Column | None]
) -> DataFrame:
    wanted = {folded_column(field.name): field for field in schema.fields}
    names = [folded_column(name) for name in frame.columns]
    found = {
        given.name: column
        for given, name in zip(frame.schema.fields, names, strict=True)
        if name in wanted and names.count(name) == 1 and (column := convert(given, wanted[name])) is not None
    }
    if not found:
        return frame
    return frame.select(*(found.get(name, F.col(quoted(name))).alias(name) for name in frame.columns))


def _whole_column(given: spark.StructField, field: Field) -> Column | None:
    if field.type == INT and isinstance(given.dataType, spark.LongType):
        return checked_cast(F.col(quoted(given.name)), spark.IntegerType(), field)
    if field.type not in WHOLE or not isinstance(given.dataType, spark.FloatType | spark.DoubleType):
        return None
    return checked_cast(
        F.col(quoted(given.name)),
        _spark_type(field),
        field,
        lambda value, cast: (cast.cast("double") == value.cast("double")) & (F.abs(value) <= F.lit(EXACT)),
    )


def _cast_column(given: spark.StructField, field: Field) -> Column | None:
    if not isinstance(field.type, Simple) or isinstance(given.dataType, spark.NullType):
        return None
    try:
        found = schema_of(spark.StructType([given])).fields[0].type
    except Invalid:
        return None  # a type that no table has: the rows will be refused for it
    wanted = _spark_type(field)
    if given.dataType == wanted or not can_cast(found, field.type):
        return None
    value = F.col(quoted(given.name))
    if found == STRING:
        return checked_cast(value, wanted, field, _keeps_text(field.type))
    if field.type == STRING:
        return checked_cast(value, wanted, field)
    if field.type == FLOAT:  # the nearest float is meant; only what is out of range is lost
        return checked_cast(value, wanted, field, lambda value, cast: ~_is_infinite(cast) | _is_infinite(value))
    return checked_cast(value, wanted, field, lambda value, cast: cast.try_cast(given.dataType).eqNullSafe(value))


def _keeps_text(type: Type) -> _IsSame | None:
    """Whether a text says no more than the value that it was cast to; a number out of range became infinity."""
    if type in FLOATING:
        return lambda text, cast: ~_is_infinite(cast) | text.rlike("(?i)inf")
    pattern = dropped_pattern(type)
    if pattern is None:
        return None
    if not isinstance(type, Decimal):
        return lambda text, _: ~text.rlike(pattern)
    longest = spark.DecimalType(38, 38 - type.precision + type.scale)
    return lambda text, cast: ~text.rlike(pattern) & (~text.rlike("[eE]") | (text.try_cast(longest) == cast))


def _is_infinite(value: Column) -> Column:
    return F.abs(value.cast("double")) == F.lit(float("inf"))


def _spark_type(field: Field) -> spark.DataType:
    return result_schema(Schema([field])).fields[0].dataType
