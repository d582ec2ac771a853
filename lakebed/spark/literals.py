"""Plain values as Spark constants, whatever the session's time zone and ANSI mode."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Fixed,
    Type,
)

_FIRST_MOMENT = "1970-01-01"


def literal(type: Type, value: Any) -> Column:
    """A constant column of exactly the type."""
    if isinstance(type, Decimal):
        return F.lit(format(value, "f")).cast(f"decimal({type.precision}, {type.scale})")
    return F.lit(value) if isinstance(type, Fixed) else _LITERALS[type](value)


def literal_sql(type: Type, value: Any) -> str:
    """The same as SQL, which every session reads alike: strings as bytes, since escapes are a setting."""
    if isinstance(type, Decimal):
        return f"CAST('{value:f}' AS DECIMAL({type.precision}, {type.scale}))"
    return _SQL[type](value)


def _timestamp(value: Any) -> Column:
    # `lit` would turn a datetime into an instant in the session's zone; an int has no zone.
    return F.timestamp_add("MICROSECOND", F.lit(value), F.lit(_FIRST_MOMENT).cast("timestamp_ntz"))


_LITERALS: dict[Type, Callable[[Any], Column]] = {
    BOOLEAN: F.lit,
    INT: lambda value: F.lit(value).cast("int"),
    LONG: lambda value: F.lit(value).cast("bigint"),
    FLOAT: lambda value: F.lit(value).cast("float"),
    DOUBLE: F.lit,
    DATE: lambda value: F.date_from_unix_date(F.lit(value)),
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: lambda value: F.timestamp_micros(F.lit(value)),
    STRING: F.lit,
    BINARY: F.lit,
}
_SQL: dict[Type, Callable[[Any], str]] = {
    BOOLEAN: lambda value: str(value).upper(),
    INT: lambda value: f"CAST('{value}' AS INT)",
    LONG: lambda value: f"CAST('{value}' AS BIGINT)",
    FLOAT: lambda value: f"CAST('{value!r}' AS FLOAT)",
    DOUBLE: lambda value: f"CAST('{value!r}' AS DOUBLE)",
    DATE: lambda value: f"DATE_FROM_UNIX_DATE({value})",
    TIMESTAMP: lambda value: f"TIMESTAMPADD(MICROSECOND, {value}L, TIMESTAMP_NTZ '{_FIRST_MOMENT}')",
    TIMESTAMPTZ: lambda value: f"TIMESTAMP_MICROS({value}L)",
    STRING: lambda value: f"CAST(X'{value.encode().hex()}' AS STRING)",
    BINARY: lambda value: f"X'{value.hex()}'",
}
