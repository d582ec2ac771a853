"""The structs of a Parquet footer: names, ids and types of `parquet.thrift`, as of version 2.12 of the format."""

from typing import Final

from lakebed.table.parquet.thrift import BINARY, BOOLEAN, BYTE, DOUBLE, I16, I32, I64, ListOf, Struct

_EMPTY = Struct("an empty struct", {})

_DECIMAL = Struct("DecimalType", {1: ("scale", I32), 2: ("precision", I32)}, ("scale", "precision"))
_UNIT = Struct("TimeUnit", {1: ("millis", _EMPTY), 2: ("micros", _EMPTY), 3: ("nanos", _EMPTY)})
_TIME = Struct("TimeType", {1: ("is_utc", BOOLEAN), 2: ("unit", _UNIT)}, ("is_utc", "unit"))
_INTEGER = Struct("IntType", {1: ("bits", BYTE), 2: ("is_signed", BOOLEAN)}, ("bits", "is_signed"))

_LOGICAL = Struct(
    "LogicalType",
    {
        1: ("string", _EMPTY),
        2: ("map", _EMPTY),
        3: ("list", _EMPTY),
        4: ("enum", _EMPTY),
        5: ("decimal", _DECIMAL),
        6: ("date", _EMPTY),
        7: ("time", _TIME),
        8: ("timestamp", _TIME),
        10: ("integer", _INTEGER),
        11: ("unknown", _EMPTY),
        12: ("json", _EMPTY),
        13: ("bson", _EMPTY),
        14: ("uuid", _EMPTY),
        15: ("float16", _EMPTY),
        16: ("variant", Struct("VariantType", {1: ("version", BYTE)})),
        17: ("geometry", Struct("GeometryType", {1: ("crs", BINARY)})),
        18: ("geography", Struct("GeographyType", {1: ("crs", BINARY), 2: ("algorithm", I32)})),
    },
)

_SCHEMA_ELEMENT = Struct(
    "SchemaElement",
    {
        1: ("type", I32),
        2: ("length", I32),
        3: ("repetition", I32),
        4: ("name", BINARY),
        5: ("children", I32),
        6: ("converted", I32),
        7: ("scale", I32),
        8: ("precision", I32),
        9: ("field_id", I32),
        10: ("logical", _LOGICAL),
    },
    ("name",),
)

_STATISTICS = Struct(
    "Statistics",
    {
        1: ("max", BINARY),
        2: ("min", BINARY),
        3: ("null_count", I64),
        4: ("distinct_count", I64),
        5: ("max_value", BINARY),
        6: ("min_value", BINARY),
        7: ("is_max_exact", BOOLEAN),
        8: ("is_min_exact", BOOLEAN),
    },
)

_KEY_VALUE = Struct("KeyValue", {1: ("key", BINARY), 2: ("value", BINARY)}, ("key",))
_PAGE_ENCODING = Struct(
    "PageEncodingStats",
    {1: ("page", I32), 2: ("encoding", I32), 3: ("count", I32)},
    ("page", "encoding", "count"),
)
_SIZES = Struct("SizeStatistics", {1: ("bytes", I64), 2: ("repetitions", ListOf(I64)), 3: ("definitions", ListOf(I64))})
_BOX = Struct(
    "BoundingBox",
    {
        1: ("xmin", DOUBLE),
        2: ("xmax", DOUBLE),
        3: ("ymin", DOUBLE),
        4: ("ymax", DOUBLE),
        5: ("zmin", DOUBLE),
        6: ("zmax", DOUBLE),
        7: ("mmin", DOUBLE),
        8: ("mmax", DOUBLE),
    },
    ("xmin", "xmax", "ymin", "ymax"),
)
_GEOSPATIAL = Struct("GeospatialStatistics", {1: ("box", _BOX), 2: ("types", ListOf(I32))})

_COLUMN = Struct(
    "ColumnMetaData",
    {
        1: ("type", I32),
        2: ("encodings", ListOf(I32)),
        3: ("path", ListOf(BINARY)),
        4: ("codec", I32),
        5: ("num_values", I64),
        6: ("uncompressed", I64),
        7: ("compressed", I64),
        8: ("metadata", ListOf(_KEY_VALUE)),
        9: ("data_offset", I64),
        10: ("index_offset", I64),
        11: ("dictionary_offset", I64),
        12: ("statistics", _STATISTICS),
        13: ("page_encodings", ListOf(_PAGE_ENCODING)),
        14: ("bloom_offset", I64),
        15: ("bloom_length", I32),
        16: ("sizes", _SIZES),
        17: ("geospatial", _GEOSPATIAL),
    },
    frozenset(("type", "encodings", "path", "codec", "num_values", "uncompressed", "compressed", "data_offset")),
)

_CHUNK = Struct(
    "ColumnChunk",
    {
        1: ("file_path", BINARY),
        2: ("file_offset", I64),
        3: ("column", _COLUMN),
        4: ("offset_index_offset", I64),
        5: ("offset_index_length", I32),
        6: ("column_index_offset", I64),
        7: ("column_index_length", I32),
        8: ("crypto", _EMPTY),
        9: ("encrypted_column", BINARY),
    },
    ("file_offset",),
)

_SORTING = Struct(
    "SortingColumn",
    {1: ("column", I32), 2: ("is_descending", BOOLEAN), 3: ("are_nulls_first", BOOLEAN)},
    ("column", "is_descending", "are_nulls_first"),
)

_ROW_GROUP = Struct(
    "RowGroup",
    {
        1: ("columns", ListOf(_CHUNK)),
        2: ("bytes", I64),
        3: ("num_rows", I64),
        4: ("sorting", ListOf(_SORTING)),
        5: ("file_offset", I64),
        6: ("compressed", I64),
        7: ("ordinal", I16),
    },
    ("columns", "bytes", "num_rows"),
)

FILE: Final = Struct(
    "FileMetaData",
    {
        1: ("version", I32),
        2: ("schema", ListOf(_SCHEMA_ELEMENT)),
        3: ("num_rows", I64),
        4: ("row_groups", ListOf(_ROW_GROUP)),
        5: ("metadata", ListOf(_KEY_VALUE)),
        6: ("created_by", BINARY),
        7: ("orders", ListOf(Struct("ColumnOrder", {1: ("by_type", _EMPTY)}))),
        8: ("encryption", _EMPTY),
        9: ("signing_key", BINARY),
    },
    ("version", "schema", "num_rows", "row_groups"),
)
"""What a footer holds."""
