"""Iceberg's transforms as Spark expressions, with the same results as in the local engine.

They depend neither on the session's time zone nor on its ANSI mode.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.literals import literal
from lakebed.spark.write.bucket_hash import long_hash, with_bytes_hash, with_decimal_hash
from lakebed.table.partition.transforms import Transform
from lakebed.table.types.times import DAY_MICROS, HOUR_MICROS
from lakebed.table.types.types import BINARY, DATE, INT, LONG, STRING, TIMESTAMP, TIMESTAMPTZ, Decimal, Fixed, Type
from lakebed.table.types.values import scaled

TOO_NEAR: Final = "Lakebed can't hold a transformed value"
"""Spark's error when a job meets a value so near the end of its type that its truncation does not fit the type."""

_MOST_DIGITS: Final = 38
_KEPT_SCALE: Final = 6  # digits behind the point that Spark keeps if a result may have more than the most digits


@dataclass(frozen=True, slots=True)
class Term:
    """A transform of a column of some type, and the name of the column that it becomes."""

    name: str
    transform: Transform
    type: Type
    column: Column


def with_terms(frame: DataFrame, terms: Iterable[Term]) -> DataFrame:
    """The rows with a column for each term: a whole number for times and buckets, else of the column's own type."""
    for term in terms:
        frame = _with_bucket(frame, term) if term.transform.name == "bucket" else _with_simple(frame, term)
    return frame


def _with_simple(frame: DataFrame, term: Term) -> DataFrame:
    return frame.withColumn(term.name, _transformed(term.column, term.transform, term.type))


def _with_bucket(frame: DataFrame, term: Term) -> DataFrame:
    match term.type:
        case Decimal():
            frame = with_decimal_hash(frame, term.name, term.column, term.type)
        case Fixed():
            frame = with_bytes_hash(frame, term.name, term.column)
        case type if type in (STRING, BINARY):
            frame = with_bytes_hash(frame, term.name, term.column.cast("binary"))
        case type:
            whole = F.unix_date(term.column) if type == DATE else term.column
            hashed = long_hash(whole.cast("bigint") if type in (INT, LONG, DATE) else whole)
            frame = frame.withColumn(term.name, hashed)
    count = F.lit(term.transform.parameter)
    bucket = F.col(quoted(term.name)).bitwiseAND(F.lit(0x7FFF_FFFF)) % count
    return frame.withColumn(term.name, F.when(term.column.isNotNull(), bucket.cast("int")))


def _transformed(column: Column, transform: Transform, type: Type) -> Column:
    match transform.name:
        case "void":
            return F.lit(None).cast("int")
        case "year":
            return F.year(_date(column, type)) - 1970
        case "month":
            date = _date(column, type)
            return (F.year(date) - 1970) * 12 + F.month(date) - 1
        case "day":
            return F.unix_date(_date(column, type))
        case "hour":
            return _hour(column, type)
        case "truncate":
            return _truncated(column, transform.parameter or 0, type)
        case _:
            return column


def _date(column: Column, type: Type) -> Column:
    """The date in UTC."""
    if type == TIMESTAMPTZ:
        return F.date_from_unix_date(_floor_divided(F.unix_micros(column), DAY_MICROS).cast("int"))
    return column.cast("date")


def _hour(column: Column, type: Type) -> Column:
    if type == TIMESTAMPTZ:
        return _floor_divided(F.unix_micros(column), HOUR_MICROS)
    return F.unix_date(column.cast("date")).cast("bigint") * 24 + F.hour(column)


def _floor_divided(column: Column, divisor: int) -> Column:
    """The quotient, rounded down as in Iceberg; Spark's `div` rounds towards zero."""
    towards_zero = F.call_function("div", column, F.lit(divisor))
    return towards_zero - F.when(column % divisor < 0, 1).otherwise(0)


def _truncated(column: Column, width: int, type: Type) -> Column:
    match type:
        case Decimal():
            return column - F.pmod(column, _width(width, type))
        case type if type == STRING:
            return F.substring(column, 1, width)  # code points
        case type if type == BINARY:
            return F.substring(column, 1, width)
    whole = column.cast("bigint")
    below = F.try_subtract(whole, F.pmod(whole, F.lit(width)))
    return F.coalesce(below, F.when(column.isNotNull(), F.raise_error(TOO_NEAR).cast("bigint")))


def _width(width: int, type: Decimal) -> Column:
    if type.precision == _MOST_DIGITS and type.scale > _KEPT_SCALE:
        raise Invalid(
            "Spark would round the result of truncating a decimal",
            subject=f"truncate[{width}]",
            expected=f"fewer than {_MOST_DIGITS} digits, or at most {_KEPT_SCALE} behind the point",
            found=type,
            advice="Append the rows by Arrow: `table.append(frame.toArrow())`.",
        )
    return literal(Decimal(max(len(str(width)), type.scale), type.scale), scaled(width, type.scale))


def micros(column: Column, type: Type) -> Column:
    """A time as microseconds since 1970, in UTC if it has a zone."""
    if type != TIMESTAMP:
        return F.unix_micros(column)
    seconds = F.hour(column) * 3600 + F.minute(column) * 60
    of_day = seconds.cast("bigint") * 1_000_000 + (F.date_part(F.lit("SECOND"), column) * 1_000_000).cast("bigint")
    days = F.unix_date(column.cast("date")).cast("bigint")
    # The start of the first possible day is before the first possible microsecond.
    return F.when(days < 0, (days + 1) * DAY_MICROS + (of_day - DAY_MICROS)).otherwise(days * DAY_MICROS + of_day)
