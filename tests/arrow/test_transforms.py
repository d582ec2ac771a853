"""Columns are transformed as single values are."""

from decimal import Decimal

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.transforms import column_at, plain_value, transformed
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.partition.transforms import parse_transform
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import INT, parse_type
from lakebed.table.types.values import scaled
from tests.support.examples import examples

LONGS = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31) + 10**4, 2**31 - 1),
    "long": st.integers(-(2**63) + 10**4, 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "decimal(38, 4)": st.integers(-(10**37), 10**37).map(lambda digits: scaled(digits, 4)),
    "date": st.integers(-(2**31), 2**31 - 1),
    "timestamp": LONGS,
    "timestamptz": LONGS,
    "time": st.integers(0, 86_400_000_000 - 1),
    "timestamp_ns": LONGS,
    "timestamptz_ns": LONGS,
    "string": st.text(),
    "uuid": st.binary(min_size=16, max_size=16),
    "fixed(3)": st.binary(min_size=3, max_size=3),
    "binary": st.binary(),
}
TRANSFORMS = [
    "identity",
    "year",
    "month",
    "day",
    "hour",
    "bucket[1]",
    "bucket[16]",
    "truncate[1]",
    "truncate[3]",
    "truncate[10000]",
    "void",
]
HOURS = 2**31 * 3_600_000_000  # beyond which an hour is no int


def column_of(name, *chunks):
    form = file_schema(with_ids(Schema({"x": name}), 1, 1)).field("x").type
    return pyarrow.chunked_array([pyarrow.array(chunk, form) for chunk in chunks], form)


@settings(deadline=None, max_examples=examples(150, 400))
@given(st.sampled_from(TRANSFORMS), st.sampled_from(list(VALUES)), st.data())
def test_a_column_is_transformed_as_its_values_are(text, name, data):
    transform, type = parse_transform(text), parse_type(name)
    if not transform.can_transform(type):
        return
    chunks = data.draw(st.lists(st.lists(st.none() | VALUES[name], max_size=8), max_size=3))
    values = [one for chunk in chunks for one in chunk]
    if text == "hour" and not name.endswith("_ns"):
        values = [one for one in values if one is None or -HOURS <= one < HOURS]
        chunks = [values]
    result = transformed(column_of(name, *chunks), transform, type)
    plain = [plain_value(one, transform.result_type(type)) for one in result]
    assert plain == [transform.apply(type, one) for one in values]


def test_many_values_that_differ_have_their_buckets():
    bucket = parse_transform("bucket[16]")
    found = transformed(column_of("int", range(100_000)), bucket, INT).to_pylist()
    assert found == [bucket.apply(INT, one) for one in range(100_000)]


@pytest.mark.parametrize(
    ("text", "name", "value"), [("truncate[10]", "int", -(2**31)), ("truncate[10]", "long", -(2**63))]
)
def test_a_value_whose_partition_its_type_can_not_hold_is_invalid(text, name, value):
    with pytest.raises(Invalid, match=r"truncate.10.: a value is too near the end of its type"):
        transformed(column_of(name, [1, value]), parse_transform(text), parse_type(name))


def test_an_hour_that_is_no_int_is_invalid():
    with pytest.raises(Invalid, match="too near the end"):
        transformed(column_of("timestamp", [2**63 - 1]), parse_transform("hour"), parse_type("timestamp"))


def test_a_column_inside_structs_is_null_where_they_are():
    schema = with_ids(Schema({"home": "struct<city: string, at: struct<n: int>>"}), 1, 1)
    rows = [{"home": {"city": "Kyiv", "at": {"n": 5}}}, {"home": None}, {"home": {"city": None, "at": None}}]
    table = pyarrow.Table.from_pylist(rows, file_schema(schema))
    home = schema.fields[0]
    city, at = home.type.fields
    assert column_at(table, (home, city)).to_pylist() == ["Kyiv", None, None]
    assert column_at(table, (home, at, at.type.fields[0])).to_pylist() == [5, None, None]


def test_plain_values_of_dates_times_and_decimals():
    for name, value in {
        "date": -1,
        "timestamptz": -1,
        "timestamp": 10**18,
        "timestamp_ns": -(2**63),
        "timestamptz_ns": 2**63 - 1,
        "time": 86_400_000_000 - 1,
        "uuid": b"\xff" * 16,
        "fixed(2)": b"\x00\xff",
        "decimal(38, 4)": Decimal("-1.2300"),
    }.items():
        assert plain_value(column_of(name, [value])[0], parse_type(name)) == value
