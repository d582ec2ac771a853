"""Plain values as Arrow tables."""

from decimal import Decimal

import pyarrow
import pytest

from lakebed.arrow.read.rows import table_of_rows
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.table.filter.bind import parse_filter
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(
    Schema(
        {
            "name": "string",
            "number": "long",
            "small": "int",
            "version": "decimal(29, 0)",
            "time": "timestamptz",
            "flag": "boolean",
            "body": "binary",
            "parts": "list<string>",
        }
    ),
    0,
    1,
)
ROWS = [
    ("é", 2**63 - 1, -1, 2**96 - 1, 0, True, b"\x00", ["a", "b"]),
    (None, None, None, None, None, None, None, None),
    ("b", -(2**63), 1, 0, -1, False, b"", []),
]


def test_every_plain_value_has_its_place():
    found = table_of_rows(SCHEMA, iter(ROWS))
    assert found.schema == arrow_schema(SCHEMA)
    assert found["name"].to_pylist() == ["é", None, "b"]
    assert found["number"].to_pylist() == [2**63 - 1, None, -(2**63)]
    assert found["version"].to_pylist() == [Decimal(2**96 - 1), None, Decimal(0)]
    assert found["time"].cast(pyarrow.int64()).to_pylist() == [0, None, -1]
    assert found["parts"].to_pylist() == [["a", "b"], None, []]


def test_no_rows_have_all_columns():
    assert table_of_rows(SCHEMA, []) == arrow_schema(SCHEMA).empty_table()


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("name = 'b'", ["b"]),
        ("number > 0", ["é"]),
        (f"version = {2**96 - 1}", ["é"]),
        ("NOT flag", ["b"]),
        ("body = X'00'", ["é"]),
        ("small IS NULL OR small < 0", ["é", None]),
        ("true", ["é", None, "b"]),
        ("false", []),
    ],
)
def test_a_filter_keeps_the_rows_that_pass(where, names):
    found = table_of_rows(SCHEMA, ROWS, parse_filter(where, SCHEMA), ["name"])
    assert found.schema.names == ["name"]
    assert found["name"].to_pylist() == names


def test_columns_come_in_the_order_asked_for():
    assert table_of_rows(SCHEMA, ROWS, None, ["small", "NAME"]).schema.names == ["small", "name"]
    assert table_of_rows(SCHEMA, ROWS, None, []).num_columns == 0
    with pytest.raises(Invalid, match="no such column"):
        table_of_rows(SCHEMA, ROWS, None, ["nothing"])
