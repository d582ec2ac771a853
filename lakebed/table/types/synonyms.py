"""Other names of types: those of SQL, Spark, Arrow, numpy and pandas, by the name that Lakebed has for them."""

from collections.abc import Iterable
from difflib import get_close_matches

_SYNONYMS = {
    "boolean": "bool",
    "int": "integer tinyint smallint mediumint byte short int8 int16 int32 int2 int4 uint8 uint16",
    "long": "bigint int64 uint32",
    "float": "real float4 float16 float32 halffloat",
    "double": "float8 float64",
    "decimal": "numeric dec number decimal128",
    "date": "date32",
    "timestamp": "datetime timestamp_ntz timestampntz",
    "timestamptz": "timestamp_ltz timestampltz timestamp_tz",
    "string": "text str utf8 nvarchar clob large_string large_utf8 string_view object",
    "varchar": "character_varying",
    "char": "character nchar",
    "binary": "bytes bytea blob large_binary binary_view",
    "uuid": "guid uniqueidentifier",
    "fixed": "fixed_size_binary",
    "list": "array",
    "struct": "row record",
}
SYNONYMS = {synonym: name for name, synonyms in _SYNONYMS.items() for synonym in synonyms.split()}

TWO_WORDS = {
    ("double", "precision"): "double",
    ("character", "varying"): "varchar",
    ("char", "varying"): "varchar",
    ("binary", "varying"): "varbinary",
}
"""Names of two words: `double precision` is one type."""

ZONES = {"without time zone": "timestamp", "with time zone": "timestamptz"}
"""What may follow `timestamp` in standard SQL."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant by a word, if one is near enough."""
    folded = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), folded, 1, 0.7)
    return folded[found[0]] if found else None
