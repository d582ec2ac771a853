"""Columns of the pipelines' model, and values for them: few, so that they meet again, and most of them hard."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, parse_type

Row = dict[int, Any]
"""Values by the columns' numbers; 0 is the key."""

KEYS: Final[dict[str, list[Any]]] = {
    "int": list(range(31)),
    "long": [2**62 + one for one in range(-15, 16)],
    "decimal(9, 2)": [Decimal(one).scaleb(-2) for one in range(-9, 20)],
    "string": [*" 'aAbcdefghijk%_\\", "", "a ", "ç", "c\u0327", "日本", "a" * 40, "a" * 40 + "b"],
    "binary": [b"", b"\x00", b"\x00\x00", b"\xff", b"\x7f", *(bytes([one]) for one in range(90, 105))],
    "date": [date(1582, 10, 4), *(date(1960 + one, 1, 31) for one in range(20))],
    "timestamp": [datetime(1969, 12, 31, 23, 59, 40 + one, 999999) for one in range(20)],
    "timestamptz": [datetime(1969, 12, 31, one, 59, 59, 999999, UTC) for one in range(20)],
}
VALUES: Final[dict[str, list[Any]]] = {
    "boolean": [True, False],
    "int": [0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "long": [0, 1, -1, 7, 2**63 - 1, -(2**63)],
    "float": [math.nan, -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf],
    "double": [math.nan, -math.inf, -1.5, -0.0, 0.0, 0.1, 5e-324, math.inf],
    "decimal(9, 2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("1234567.89"), Decimal("-9999999.99")],
    "decimal(15, 3)": [Decimal("0.000"), Decimal("-0.001"), Decimal("123456789012.345")],
    "decimal(20, 2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("1234567.89"), Decimal("999999999999999999.99")],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date(2026, 2, 28)],
    "timestamp": [
        datetime(1, 1, 1, 0, 0, 1),
        datetime(1899, 12, 31, 23, 59, 59, 999999),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(1970, 1, 1),
        datetime(2026, 3, 29, 2, 30, 0, 1),
    ],
    "timestamptz": [
        datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=UTC),
    ],
    "string": ["", " ", "a", "it's", "100%", "a`b", 'x"y', "\\", "ç", "日本", "a_b", "null", "line\nbreak", "{0}"],
    "binary": [b"", b"\x00", b"a'b", bytes(range(250, 256))],
    "list<int>": [[], [1, None], [-1]],
    "map<string, long>": [[], [("", 1), ("a'b", None)]],
    "struct<x: int, `y z`: string>": [{"x": None, "y z": None}, {"x": 1, "y z": "it's"}],
}
SINGLE: Final = [one for one in VALUES if "<" not in one]
WIDER: Final = {"int": "long", "float": "double", "decimal(9, 2)": "decimal(20, 2)"}
NAMES: Final = ["text", "Größe", "it's 100%", "a`b", "a.b", 'quo"ted', "sp ace", "select", "x,y;z", "a={p}", "b\\s"]
PROPERTIES: Final = {
    "write.inline-bytes": ["0", "1500", "64000"],
    "write.target-file-bytes": ["1", "134217728"],
    "write.row-group-rows": ["2", "131072"],
    "write.row-changes": ["merge-on-read", "copy-on-write"],
    "write.distribution": ["none", "partition"],
}


class Column(NamedTuple):
    """A column of the model: its number stays, its name and type may change."""

    number: int
    name: str
    type: str
    default: Any = None
    born: str = ""
    """The type that a key had first."""


def schema_of(columns: Iterable[Column]) -> Schema:
    return Schema([Field(one.name, parse_type(one.type), required=one.number == 0) for one in columns])


def keys_of(column: Column) -> list[Any]:
    """What a key may be: as many as all rows have, whether it was widened or not."""
    return KEYS[column.born or column.type]


def single(columns: Iterable[Column]) -> list[Column]:
    """Those that can be compared, and be part of a spec or an order."""
    return [one for one in columns if one.type in SINGLE]


def values(column: Column) -> st.SearchStrategy[Any]:
    if column.number == 0:
        return st.sampled_from(keys_of(column))
    return st.one_of(st.none(), st.sampled_from(VALUES[column.type]))


def comparable(column: Column) -> st.SearchStrategy[Any]:
    """Values that a condition may name."""
    found = keys_of(column)[::3] if column.number == 0 else VALUES[column.type]
    return st.sampled_from([one for one in found if not (isinstance(one, float) and math.isnan(one))])


def defaults(type: str) -> st.SearchStrategy[Any]:
    """Values that a column of a type may have in rows without it: single ones that are numbers."""
    if type not in SINGLE:
        return st.none()
    finite = [one for one in VALUES[type] if not isinstance(one, float) or math.isfinite(one)]
    return st.one_of(st.none(), st.sampled_from(finite))


def rows_of(columns: Sequence[Column], most: int = 8) -> st.SearchStrategy[list[Row]]:
    row: st.SearchStrategy[Row] = st.fixed_dictionaries({one.number: values(one) for one in columns})
    return st.lists(row, max_size=most, unique_by=lambda row: row[0])
