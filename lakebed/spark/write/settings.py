"""What Spark's Parquet writer is told: given with the write, it wins over the session's and leaves that as it is."""

from typing import Final

from lakebed.catalog.tables.properties import WriteOptions, bloom_ways
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import filter_bytes, unblocked_fpp
from lakebed.table.types.types import BOOLEAN, DATE, FLOAT, INT, Decimal, Field, Fixed, List, Map, Struct, Type

ALWAYS: Final = {
    "compression": "zstd",  # 40 % fewer bytes than snappy for a fifth more time
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default, INT96, has no statistics
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "false",  # decimals and lists as everybody reads them
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # no _SUCCESS file: the commit says that
}

_SMALL = {BOOLEAN: 0.2, INT: 3.0, FLOAT: 3.5, DATE: 1.5}
_OTHERS = 7.0  # longs, doubles, times
_TEXT = 12.0
_ITEMS = 4  # of a list or a map

# The writer fills filters of so many sizes, each half the last, and keeps the smallest that does: that of 100 rows
# takes 1 kB instead of 2 MB. Those that have become too small for their row group are dropped on the way.
_BLOOM_SIZES = 13


def write_settings(options: WriteOptions, schema: Schema, row_bytes: float) -> dict[str, str]:
    """The settings of a job for files of a table, of which a row takes about so many bytes."""
    rows = max(1, int(options.file_bytes / row_bytes))
    return {
        **ALWAYS,
        "maxRecordsPerFile": str(rows),
        "parquet.block.size": str(max(options.group_bytes, 1 << 16)),
        "parquet.block.row.count.limit": str(options.group_rows),
        **_blooms(options, schema, min(rows, options.group_rows)),
    }


def guessed_row_bytes(schema: Schema) -> float:
    """What a row may take in a file, for a table that has none yet."""
    return max(1.0, sum(_bytes(one.type) for one in schema.fields))


def _bytes(type: Type) -> float:
    match type:
        case Struct(fields):
            return sum(_bytes(one.type) for one in fields)
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
    """Filters that are as large as the values of their row group need, up to one of `rows` different ones."""
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
    return ".".join(one.physical_name for one in way)
