"""Transforms: Iceberg's values, by its own library and by its specification's examples."""

import re
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg import transforms as iceberg
from pyiceberg import types as iceberg_types

from lakebed.errors import Invalid
from lakebed.table.partition.transforms import NAMES_OF_TRANSFORMS, Transform, parse_transform
from lakebed.table.types.types import (
    DATE,
    INT,
    LONG,
    NAMES,
    STRING,
    TIMESTAMP,
    List,
    Struct,
    parse_type,
)
from lakebed.table.types.types import Field as Column
from lakebed.table.types.values import scaled
from tests.support.examples import examples

DAYS = st.integers(-719162, 2932896)  # Python's dates, and so PyIceberg's
MICROS = st.integers(-719162 * 86_400_000_000, 2932897 * 86_400_000_000 - 1)
NANOS = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "date": DAYS,
    "timestamp": MICROS,
    "timestamptz": MICROS,
    "time": st.integers(0, 86_400_000_000 - 1),
    "timestamp_ns": NANOS,
    "timestamptz_ns": NANOS,
    "string": st.text(),
    "uuid": st.binary(min_size=16, max_size=16),
    "binary": st.binary(),
    "fixed(5)": st.binary(min_size=5, max_size=5),
}
ORACLES = {
    "boolean": iceberg_types.BooleanType(),
    "int": iceberg_types.IntegerType(),
    "long": iceberg_types.LongType(),
    "float": iceberg_types.FloatType(),
    "double": iceberg_types.DoubleType(),
    "date": iceberg_types.DateType(),
    "timestamp": iceberg_types.TimestampType(),
    "timestamptz": iceberg_types.TimestamptzType(),
    "time": iceberg_types.TimeType(),
    "timestamp_ns": iceberg_types.TimestampNanoType(),
    "timestamptz_ns": iceberg_types.TimestamptzNanoType(),
    "string": iceberg_types.StringType(),
    "uuid": iceberg_types.UUIDType(),
    "binary": iceberg_types.BinaryType(),
    "fixed(5)": iceberg_types.FixedType(5),
}
TEXTS = [*(NAMES_OF_TRANSFORMS - {"bucket", "truncate"}), "bucket[1]", "bucket[16]", "truncate[1]", "truncate[10]"]
EVERY = [Transform(name, 16 if name in ("bucket", "truncate") else None) for name in sorted(NAMES_OF_TRANSFORMS)]


@st.composite
def typed_values(draw):
    name = draw(st.sampled_from([*VALUES, "decimal"]))
    if name != "decimal":
        return parse_type(name), draw(VALUES[name]), ORACLES[name]
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    digits = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    oracle = iceberg_types.DecimalType(precision, scale)
    return parse_type(f"decimal({precision}, {scale})"), scaled(digits, scale), oracle


numbered = st.builds(Transform, st.sampled_from(["bucket", "truncate"]), st.integers(1, 2**31 - 1) | st.integers(1, 20))
transforms = st.sampled_from([parse_transform(one) for one in TEXTS]) | numbered


@settings(max_examples=examples(200, 600), deadline=None)
@given(transforms, typed_values())
@example(Transform("truncate", 10), (INT, -1, ORACLES["int"]))
@example(Transform("hour"), (TIMESTAMP, -1, ORACLES["timestamp"]))
@example(Transform("month"), (DATE, -1, ORACLES["date"]))
@example(Transform("truncate", 1), (STRING, "\U0001f600a", ORACLES["string"]))
def test_pyiceberg_has_the_same_values(transform, typed):
    type, value, oracle_type = typed
    oracle = iceberg.parse_transform(str(transform))
    assert transform.can_transform(type) == oracle.can_transform(oracle_type)
    if transform.can_transform(type):
        assert transform.apply(type, value) == oracle.transform(oracle_type)(value)
        assert transform.apply(type, None) is None


@pytest.mark.parametrize("transform", EVERY, ids=str)
@pytest.mark.parametrize("name", [*NAMES, "decimal(9, 2)", "fixed(5)"])
def test_pyiceberg_has_the_same_result_types(transform, name):
    type = parse_type(name)
    oracle_type = ORACLES.get(name, iceberg_types.DecimalType(9, 2))
    if transform.can_transform(type):
        theirs = str(iceberg.parse_transform(str(transform)).result_type(oracle_type))
        assert str(transform.result_type(type)) == theirs.replace("[", "(").replace("]", ")")
    else:
        with pytest.raises(Invalid, match=f"{transform.name} does not apply to this type .*found {re.escape(name)}"):
            transform.apply(type, None)


def micros(text):
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("int", 34, 2017239379),
        ("long", 34, 2017239379),
        ("decimal(9, 2)", Decimal("14.20"), -500754589),
        ("date", 17486, -653330422),  # 2017-11-16
        ("timestamp", micros("2017-11-16T22:31:08"), -2047944441),
        ("timestamp", micros("2017-11-16T22:31:08") + 1, -1207196810),
        ("timestamptz", micros("2017-11-16T22:31:08"), -2047944441),  # 14:31:08-08:00
        ("timestamptz", micros("2017-11-16T22:31:08") + 1, -1207196810),
        ("time", 81_068_000_000, -662762989),  # 22:31:08
        ("timestamp_ns", micros("2017-11-16T22:31:08") * 1000, -2047944441),
        ("timestamp_ns", micros("2017-11-16T22:31:08") * 1000 + 1001, -1207196810),
        ("timestamptz_ns", micros("2017-11-16T22:31:08") * 1000, -2047944441),
        ("timestamptz_ns", micros("2017-11-16T22:31:08") * 1000 + 1001, -1207196810),
        ("uuid", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
        ("fixed(4)", b"\x00\x01\x02\x03", -188683207),
        ("string", "iceberg", 1210000089),
        ("binary", b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_the_specifications_hashes(type, value, expected):
    for buckets in (16, 2**31 - 1):
        assert Transform("bucket", buckets).apply(parse_type(type), value) == (expected & 0x7FFFFFFF) % buckets


@pytest.mark.parametrize(
    ("text", "type", "value", "expected"),
    [
        ("truncate[10]", "int", 1, 0),
        ("truncate[10]", "int", -1, -10),
        ("truncate[10]", "long", 1, 0),
        ("truncate[10]", "long", -1, -10),
        ("truncate[50]", "decimal(9, 2)", Decimal("10.65"), Decimal("10.50")),
        ("truncate[10]", "decimal(9, 2)", Decimal("-0.05"), Decimal("-0.10")),
        ("truncate[3]", "string", "iceberg", "ice"),
        ("truncate[2]", "string", "😀é!", "😀é"),
        ("truncate[3]", "binary", b"\x01\x02\x03\x04\x05", b"\x01\x02\x03"),
        ("year", "date", 17501, 47),
        ("month", "date", 17501, 575),
        ("day", "timestamp", micros("2017-12-01T10:12:55"), 17501),
        ("hour", "timestamp", 1512151975038194, 420042),
        ("year", "timestamptz", -1, -1),
        ("month", "timestamptz", -1, -1),
        ("day", "timestamptz", -1, -1),
        ("hour", "timestamptz", -1, -1),
        ("year", "date", 2**31 - 1, 5881580 - 1970),
        ("year", "timestamp_ns", -1, -1),
        ("month", "timestamptz_ns", -1, -1),
        ("day", "timestamp_ns", -(2**63), -106752),
        ("hour", "timestamptz_ns", 2**63 - 1, 2562047),
        ("hour", "timestamp_ns", -1, -1),
        ("identity", "boolean", False, False),
        ("void", "int", 5, None),
    ],
)
def test_the_specifications_values(text, type, value, expected):
    assert parse_transform(text).apply(parse_type(type), value) == expected


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 100))
def test_a_widened_column_keeps_its_buckets(value, count):
    transform = Transform("bucket", count)
    assert transform.apply(INT, value) == transform.apply(LONG, value)


def test_zero_and_empty_values_have_buckets_too():
    assert Transform("bucket", 16).apply(INT, 0) is not None
    assert Transform("bucket", 16).apply(STRING, "") == 0


@settings(deadline=None)
@given(st.sampled_from([one for one in EVERY if one.keeps_order]), typed_values(), st.data())
def test_order_is_kept_where_that_is_said(transform, typed, data):
    type, value, _ = typed
    if not transform.can_transform(type):
        return
    kind = str(type)
    other = data.draw(VALUES[kind]) if kind in VALUES else value
    low, high = sorted([value, other])
    assert transform.apply(type, low) <= transform.apply(type, high)


@pytest.mark.parametrize("text", sorted(TEXTS))
def test_a_transform_is_read_as_it_is_written(text):
    assert str(parse_transform(text)) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bucket", "bucket needs a number of buckets"),
        ("truncate", "truncate needs a width"),
        ("bucket[0]", "bucket can't have this number"),
        ("truncate[2147483648]", "truncate can't have this number"),
        ("day[3]", "day takes no number"),
        ("week", "there is no such transform"),
        ("bucket[-1]", "is not a transform"),
        ("bucket[16", "is not a transform"),
        ("", "is not a transform"),
        (None, "is not a transform"),
    ],
)
def test_what_is_no_transform_is_said(text, problem):
    with pytest.raises(Invalid, match=problem):
        parse_transform(text)


@pytest.mark.parametrize("type", [List(INT), Struct((Column("a", INT),))], ids=str)
def test_what_has_parts_has_no_partition_but_none(type):
    assert [one.name for one in EVERY if one.can_transform(type)] == ["void"]
