"""Columns that files don't have and that are constant in each of them: the values of Hive's folders.

They are looked up by the file's ordinal in one constant array, like metadata columns: files of many folders stay one
scan.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.spark.read.metadata_columns import lookup
from lakebed.spark.types import scan_schema
from lakebed.table.manifest.file_fields import constant_ids, constant_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, DATE, STRING, TIMESTAMP, TIMESTAMPTZ, Decimal, Field, Type

_NULL = ""
_SOME = "="  # before every text, so that empty text is not null


def constant_column(field: Field, data_files: Sequence[DataFileRef], ordinal: Column) -> Column:
    """A column that is constant in some files, for rows with their file's ordinal among all files that are read."""
    texts = [_text(file, field) for file in data_files]
    found = F.get(lookup(texts), ordinal)
    text = F.when(found != _NULL, F.substr(found, F.lit(2)))
    value = _READ[field.type](text) if field.type in _READ else text
    return value.cast(scan_schema(Schema([field])).fields[0].dataType)


def _text(file: DataFileRef, field: Field) -> str:
    value = constant_of(file, field) if field.id in constant_ids(file) else None
    return _NULL if value is None else f"{_SOME}{_written(field.type, value)}"


def _written(type: Type, value: Any) -> str:
    """A plain value as text without a NUL character that Spark reads exactly: bytes as digits, times as numbers."""
    match value:
        case bytes():
            return value.hex()
        case str():
            return value.encode().hex()
        case _ if isinstance(type, Decimal):
            return format(value, "f")
        case _:
            return str(value)


def _timestamp(text: Column) -> Column:
    return F.timestamp_add("MICROSECOND", text.cast("bigint"), F.lit("1970-01-01").cast("timestamp_ntz"))


_READ: dict[Type, Callable[[Column], Column]] = {
    DATE: lambda text: F.date_from_unix_date(text.cast("int")),
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: lambda text: F.timestamp_micros(text.cast("bigint")),
    STRING: F.unhex,
    BINARY: F.unhex,
}
