"""Settings of Spark's Parquet writer, given with the write: they override the session's, and don't change them."""

from typing import Final

from lakebed.catalog.tables.properties import WriteOptions, bloom_ways
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import filter_bytes, unblocked_fpp
from lakebed.table.types.types import BOOLEAN, DATE, FLOAT, INT, Decimal, Field, Fixed, List, Map, Struct, Type

ALWAYS: Final = {
    "compression": "zstd",  # unless the table says so; 40 % fewer bytes than snappy for a fifth more time
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default, INT96, has no statistics
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "false",  # decimals and lists as all readers expect them
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # no _SUCCESS file: that is what the commit is for
}

_SMALL = {BOOLEAN: 0.2, INT: 3.0, FLOAT: 3.5, DATE: 1.5}
_OTHERS = 7.0  # longs, doubles, times
_TEXT = 12.0
_ITEMS = 4  # of a list or a map

# The writer fills filters of this many sizes, each half the last, and keeps the smallest that is large enough: for 100
# rows it takes 1 kB instead of 2 MB. Filters that become too small for their row group are dropped on the way.
_BLOOM_SIZES = 13


def write_settings(options: WriteOptions, schema: Schema, row_bytes: float) -> dict[str, str]:
    """The settings of a job that writes files of a table whose rows take about `row_bytes`."""
    rows = max(1, int(options.file_bytes / row_bytes))
    return {
        **ALWAYS,
        **_pages(options),
        "maxRecordsPerFile": str(rows),
        "parquet.block.size": str(max(options.group_bytes, 1 << 16)),
        "parquet.block.row.count.limit": str(options.group_rows),
        **_blooms(options, schema, min(rows, options.group_rows)),
    }


def _pages(options: WriteOptions) -> dict[str, str]:
    settings = {"compression": options.codec.value, "parquet.page.size": str(options.page_bytes)}
    if options.level is not None:
        settings["parquet.compression.codec.zstd.level"] = str(options.level)
    if options.dictionary_bytes is not None:
        settings["parquet.dictionary.page.size"] = str(options.dictionary_bytes)
    return settings


def guessed_row_bytes(schema: Schema) -> float:
    """The bytes that a row may take in a file, for a table without files."""
    return max(1.0, sum(_bytes(field.type) for field in schema.fields))


def _bytes(type: Type) -> float:
    match type:
        case Struct(fields):
            return sum(_bytes(field.type) for field in fields)
        case List():
            return _ITEMS * _bytes(type.element)
        case Map():
            return _ITEMS * (_bytes(type.key) + _bytes(type.value))
        case Decimal(precision):
            return precision / 2.4  # digits take 3.3 bits each
        case Fixed(length):
            return float(length)
    return _SMALL.get(type, _TEXT if type.name in ("string", "binary") else _OTHERS)


def _blooms(options: WriteOptions, schema: Schema, rows: int) -> dict[str, str]:
    """Settings for filters as large as the values of their row group need, up to `rows` different values."""
    settings: dict[str, str] = {}
    for way in bloom_ways(options, schema):
        path = _path(way)
        settings |= {
            f"parquet.bloom.filter.enabled#{path}": "true",
            f"parquet.bloom.filter.candidates.number#{path}": str(_BLOOM_SIZES),
            f"parquet.bloom.filter.fpp#{path}": str(unblocked_fpp(options.bloom_fpp)),
        }
    if settings:
        settings["parquet.bloom.filter.max.bytes"] = str(filter_bytes(rows, options.bloom_fpp))
        settings["parquet.bloom.filter.adaptive.enabled"] = "true"
    return settings


def _path(way: tuple[Field, ...]) -> str:
    return ".".join(field.physical_name for field in way)
