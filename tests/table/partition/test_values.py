"""A file's partition: what is written is read, and told in Iceberg's words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import transforms as iceberg
from pyiceberg import types as iceberg_types

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import UNPARTITIONED, make_spec
from lakebed.table.partition.transforms import parse_transform
from lakebed.table.partition.values import partition_texts, partition_values, set_partition, value_text
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import (
    DATE,
    INT,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Field,
    parse_type,
)
from lakebed.table.types.values import scaled
from tests.support.examples import examples

SCHEMA = with_ids(
    Schema({"id": "int", "at": "timestamptz", "region": "string", "price": "decimal(9, 2)", "x": "double"}), 1, 1
)
TEXTS = ["region", "day(at)", "bucket(16, id)", "truncate(10, price)", "x", "void(id)"]
SPEC = make_spec(SCHEMA, TEXTS, spec_id=4)

DAYS = st.integers(-719162, 2932896)  # Python's dates, and so PyIceberg's
MICROS = st.integers(-719162 * 86_400_000_000, 2932897 * 86_400_000_000 - 1)
OF_TYPE = {
    "boolean": (iceberg_types.BooleanType(), st.booleans()),
    "int": (iceberg_types.IntegerType(), st.integers(-(2**31), 2**31 - 1)),
    "double": (iceberg_types.DoubleType(), st.floats()),
    "decimal(9, 2)": (iceberg_types.DecimalType(9, 2), st.integers(-(10**9), 10**9).map(lambda one: scaled(one, 2))),
    "date": (iceberg_types.DateType(), DAYS),
    "timestamp": (iceberg_types.TimestampType(), MICROS),
    "timestamptz": (iceberg_types.TimestamptzType(), MICROS),
    "time": (iceberg_types.TimeType(), st.integers(0, 86_400_000_000 - 1)),
    "string": (iceberg_types.StringType(), st.text()),
    "binary": (iceberg_types.BinaryType(), st.binary()),
    "fixed(5)": (iceberg_types.FixedType(5), st.binary(min_size=5, max_size=5)),
}
TRANSFORMS = ["identity", "year", "month", "day", "hour", "bucket[16]", "truncate[3]", "void"]


def file_of(*values):
    file = DataFileRef(path="data/a.parquet")
    set_partition(file, SPEC, SCHEMA, values)
    return file


def test_a_partition_comes_back_nulls_too():
    file = file_of("us-east", 19797, 3, scaled(-10, 2), None, None)
    assert file.spec_id == 4
    assert [one.field_id for one in file.partition] == [1000, 1001, 1002, 1003, 1004, 1005]
    assert [one.HasField("value") for one in file.partition] == [True] * 4 + [False] * 2
    again = DataFileRef.FromString(file.SerializeToString())
    expected = {1000: "us-east", 1001: 19797, 1002: 3, 1003: scaled(-10, 2), 1004: None, 1005: None}
    assert partition_values(again, SPEC, SCHEMA) == expected


def test_an_empty_text_is_no_null():
    assert partition_values(file_of("", 0, 0, None, 0.0, None), SPEC, SCHEMA)[1000] == ""


def test_a_partition_is_told_in_words():
    assert partition_texts(file_of("us-east", 19797, 3, scaled(-10, 2), None, None), SPEC, SCHEMA) == {
        "region": "us-east",
        "at_day": "2024-03-15",
        "id_bucket_16": "3",
        "price_trunc_10": "-0.10",
        "x": None,
        "id_null": None,
    }


def test_a_widened_column_has_the_values_that_it_had():
    spec = make_spec(SCHEMA, ["id"], spec_id=1)
    file = DataFileRef()
    set_partition(file, spec, SCHEMA, [-7])
    wider = Schema([Field("id", "long", id=1)], 2)
    assert partition_values(file, spec, wider) == {1000: -7}


def test_a_dropped_column_has_no_value():
    file = file_of("us-east", 19797, 3, None, None, None)
    assert partition_values(file, SPEC, SCHEMA.select(["at"])) == {1001: 19797}
    assert partition_texts(file, SPEC, SCHEMA.select(["at"])) == {"at_day": "2024-03-15"}


def test_a_file_without_a_spec_is_of_the_empty_one():
    assert partition_values(DataFileRef(), UNPARTITIONED, SCHEMA) == {}


@pytest.mark.parametrize("values", [(), ("us-east",), ("us-east",) * 7])
def test_too_few_or_too_many_values_are_refused(values):
    with pytest.raises(Invalid, match=r"data/a\.parquet: values or columns of a partition are missing"):
        file_of(*values)


def test_a_value_that_its_type_can_not_hold_is_refused():
    spec = make_spec(SCHEMA, ["truncate(10, id)"], spec_id=1)
    lowest = spec.fields[0].transform.apply(INT, -(2**31))
    with pytest.raises(Invalid, match="not a value of its type"):
        set_partition(DataFileRef(), spec, SCHEMA, [lowest])


def test_the_spec_has_to_be_the_files():
    with pytest.raises(Invalid, match=r"data/a\.parquet: a file was written with another spec .expected 4, found 0"):
        partition_values(file_of(*[None] * 6), UNPARTITIONED, SCHEMA)


def test_damaged_bytes_are_corrupt():
    file = file_of(None, 5, None, None, None, None)
    file.partition[1].value = b"\x01"
    with pytest.raises(Corrupt, match="these bytes are not a bound"):
        partition_values(file, SPEC, SCHEMA)


@settings(deadline=None, max_examples=examples(150, 400))
@given(st.sampled_from(TRANSFORMS), st.sampled_from(list(OF_TYPE)), st.data())
def test_pyiceberg_tells_it_in_the_same_words(text, name, data):
    transform, type = parse_transform(text), parse_type(name)
    oracle_type, values = OF_TYPE[name]
    if transform.can_transform(type):
        value = transform.apply(type, data.draw(st.none() | values))
        assert value_text(transform, type, value) == iceberg.parse_transform(text).to_human_string(oracle_type, value)


@pytest.mark.parametrize(
    ("text", "type", "value", "expected"),
    [
        ("year", DATE, -1971, "-001"),
        ("day", DATE, 2932897, "10000-01-01"),
        ("hour", TIMESTAMP, -1, "1969-12-31-23"),
        ("identity", TIMESTAMPTZ, 253402300800000001, "10000-01-01T00:00:00.000001+00:00"),
        ("identity", TIMESTAMP_NS, -1, "1969-12-31T23:59:59.999999999"),
        ("identity", TIMESTAMPTZ_NS, 10**9, "1970-01-01T00:00:01+00:00"),
        ("hour", TIMESTAMPTZ_NS, -1, "1969-12-31-23"),
        ("identity", UUID, bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
    ],
)
def test_what_pyiceberg_has_no_words_for_has_some_too(text, type, value, expected):
    assert value_text(parse_transform(text), type, value) == expected
