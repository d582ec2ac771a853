"""Bounds: Iceberg's bytes, and never inside of what they bound."""

import math
import struct
import uuid
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyiceberg import types as iceberg
from pyiceberg.conversions import from_bytes, to_bytes

from lakebed.errors import Corrupt, Invalid
from lakebed.table.types.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NAMES,
    STRING,
    TIMESTAMP,
    UUID,
    Field,
    Fixed,
    List,
    Map,
    Struct,
    parse_type,
)
from lakebed.table.types.values import (
    BOUND_BYTES,
    decode_bound,
    encode_bound,
    lower_bound,
    scaled,
    unscaled,
    upper_bound,
)

INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
VALUES = {
    "boolean": st.booleans(),
    "int": INT32,
    "long": INT64,
    "float": st.floats(width=32),
    "double": st.floats(),
    "date": INT32,
    "timestamp": INT64,
    "timestamptz": INT64,
    "time": st.integers(0, 86_400_000_000 - 1),
    "timestamp_ns": INT64,
    "timestamptz_ns": INT64,
    "string": st.text(),
    "uuid": st.binary(min_size=16, max_size=16),
    "binary": st.binary(max_size=100),
}
ORACLES = {
    "boolean": iceberg.BooleanType(),
    "int": iceberg.IntegerType(),
    "long": iceberg.LongType(),
    "float": iceberg.FloatType(),
    "double": iceberg.DoubleType(),
    "date": iceberg.DateType(),
    "timestamp": iceberg.TimestampType(),
    "timestamptz": iceberg.TimestamptzType(),
    "time": iceberg.TimeType(),
    "timestamp_ns": iceberg.TimestampNanoType(),
    "timestamptz_ns": iceberg.TimestamptzNanoType(),
    "string": iceberg.StringType(),
    "uuid": iceberg.UUIDType(),
    "binary": iceberg.BinaryType(),
}
# Long text of code points where rounding up is hard: last of one, two, three and four bytes, around surrogates.
EDGES = st.lists(st.sampled_from("a\x7f\u07ff\ud7ff\ue000\uffff\U0010ffff"), max_size=50).map("".join)
FULL = st.lists(st.sampled_from([b"\xff", b"\x00", b"\xfe"]), max_size=50).map(b"".join)


def decimals(precision, scale):
    largest = 10**precision - 1
    return st.integers(-largest, largest).map(lambda digits: scaled(digits, scale))


@st.composite
def typed_values(draw):
    name = draw(st.sampled_from([*VALUES, "decimal", "fixed"]))
    if name == "fixed":
        length = draw(st.integers(1, 40))
        value = draw(st.binary(min_size=length, max_size=length))
        return parse_type(f"fixed({length})"), value, iceberg.FixedType(length)
    if name != "decimal":
        return parse_type(name), draw(VALUES[name]), ORACLES[name]
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    oracle = iceberg.DecimalType(precision, scale)
    return parse_type(f"decimal({precision}, {scale})"), draw(decimals(precision, scale)), oracle


def same(one, other):
    return one == other or (one != one and other != other)


def test_every_type_with_values_is_covered():
    assert VALUES.keys() == ORACLES.keys() == NAMES.keys()


@given(typed_values())
def test_the_bytes_are_icebergs(typed):
    type, value, oracle = typed
    data = encode_bound(type, value)
    assert data == to_bytes(oracle, value)
    assert same(from_bytes(oracle, data), value)


@given(typed_values())
def test_a_value_comes_back(typed):
    type, value, _ = typed
    again = decode_bound(type, encode_bound(type, value))
    assert same(again, value)
    assert again.__class__ is value.__class__


@given(typed_values())
def test_a_value_is_within_its_bounds(typed):
    type, value, _ = typed
    lower, upper = lower_bound(type, value), upper_bound(type, value)
    if value != value:
        assert (lower, upper) == (None, None)
    else:
        assert decode_bound(type, lower) <= value
        assert upper is None or value <= decode_bound(type, upper)


@given(st.text(min_size=20) | EDGES)
@example("\U0010ffff" * 9)
@example("a" * 31 + "\x7f" + "b")
@example("\ud7ff" * 11)
def test_long_text_is_cut_between_code_points_and_rounded_up(value):
    lower, upper = lower_bound(STRING, value), upper_bound(STRING, value)
    assert value.startswith(lower.decode())
    assert len(lower) <= BOUND_BYTES
    assert lower.decode() <= value
    if len(value.encode()) <= BOUND_BYTES:
        assert lower == upper == value.encode()
    elif upper is None:
        assert set(value.encode()[:BOUND_BYTES].decode(errors="ignore")) <= {"\U0010ffff"}
    else:
        assert len(upper) <= BOUND_BYTES
        assert upper.decode() > value
        assert upper > value.encode()  # the order of bytes is that of code points


@pytest.mark.parametrize(
    ("value", "upper"),
    [
        ("a" * 33, "a" * 31 + "b"),
        ("a" * 32, "a" * 32),
        ("é" * 17, "é" * 15 + "ê"),
        ("a" + "é" * 16, "a" + "é" * 14 + "ê"),
        ("\ud7ff" * 11, "\ud7ff" * 9 + "\ue000"),
        ("a" * 31 + "\x7f" + "b", "a" * 30 + "b"),  # the next code point would be the 33rd byte
        ("ab" + "\U0010ffff" * 8, "ac"),
    ],
)
def test_text_is_rounded_up_at_the_last_code_point_that_can_be(value, upper):
    assert upper_bound(STRING, value) == upper.encode()


@given(st.integers(33, 50), st.binary(min_size=33, max_size=50), st.sampled_from([0, 16, 31, 32]))
def test_long_fixed_bytes_are_cut_as_others_are_and_their_bounds_are_read(length, value, full):
    value = (b"\xff" * full + value).ljust(length, b"\xff")[:length]
    type = Fixed(length)
    lower, upper = lower_bound(type, value), upper_bound(type, value)
    assert (lower, upper) == (lower_bound(BINARY, value), upper_bound(BINARY, value))
    assert decode_bound(type, lower) == lower
    assert upper is None or decode_bound(type, upper) == upper > value


@given(st.binary(min_size=30, max_size=50) | FULL)
@example(b"\xff" * 33)
@example(b"a" + b"\xff" * 40)
def test_long_bytes_are_cut_and_rounded_up(value):
    binary = NAMES["binary"]
    lower, upper = lower_bound(binary, value), upper_bound(binary, value)
    assert lower == value[:BOUND_BYTES]
    if len(value) <= BOUND_BYTES:
        assert upper == value
    elif upper is None:
        assert value[:BOUND_BYTES] == b"\xff" * BOUND_BYTES
    else:
        assert len(upper) <= BOUND_BYTES
        assert upper > value


@pytest.mark.parametrize("type", [FLOAT, DOUBLE])
def test_a_zero_is_bounded_by_both_zeros_and_a_nan_by_nothing(type):
    for zero in (0.0, -0.0, 0):
        lower, upper = decode_bound(type, lower_bound(type, zero)), decode_bound(type, upper_bound(type, zero))
        assert (math.copysign(1, lower), math.copysign(1, upper)) == (-1, 1)
    assert lower_bound(type, math.nan) is upper_bound(type, math.nan) is None
    assert decode_bound(type, lower_bound(type, -math.inf)) == -math.inf


@given(INT32, st.floats(width=32, allow_nan=False))
def test_bounds_from_before_a_column_was_widened_are_read(whole, floating):
    assert decode_bound(LONG, encode_bound(INT, whole)) == whole
    assert decode_bound(DOUBLE, encode_bound(FLOAT, floating)) == floating


@given(INT64, st.floats(allow_nan=False))
def test_bounds_from_after_a_column_was_widened_are_read_when_it_is_narrow_again(whole, floating):
    assert decode_bound(INT, encode_bound(LONG, whole)) == whole
    assert decode_bound(FLOAT, encode_bound(DOUBLE, floating)) == floating


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("boolean", b""),
        ("boolean", b"\x02"),
        ("int", b"\x00" * 5),
        ("int", b""),
        ("long", b"\x00" * 5),
        ("float", b"\x00" * 7),
        ("double", b"\x00" * 7),
        ("date", b"\x00" * 3),
        ("timestamp", b"\x00" * 4),
        ("time", b"\x00" * 4),
        ("timestamp_ns", b"\x00" * 9),
        ("string", b"\xff"),
        ("uuid", b"\x00" * 15),
        ("uuid", b"\x00" * 17),
        ("fixed(4)", b""),
        ("fixed(4)", b"\x00" * 5),
        ("decimal(38, 2)", b""),
        ("decimal(38, 2)", b"\x00" * 17),
    ],
)
def test_other_bytes_are_corrupt(type, data):
    with pytest.raises(Corrupt):
        decode_bound(parse_type(type), data)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("boolean", "x"),
        ("int", 2**31),
        ("int", 1.5),
        ("long", -(2**63) - 1),
        ("float", 0.1),
        ("float", 1e300),
        ("double", "1"),
        ("date", None),
        ("time", -1),
        ("time", 86_400_000_000),
        ("time", 1.5),
        ("timestamp_ns", 2**63),
        ("string", b"a"),
        ("uuid", b"a" * 15),
        ("uuid", "a" * 16),
        ("fixed(4)", b"abc"),
        ("fixed(4)", b"abcde"),
        ("fixed(4)", "abcd"),
        ("string", "\ud800"),
        ("binary", "a"),
        ("binary", 5),
        ("decimal(5, 2)", Decimal("1.234")),
        ("decimal(5, 2)", Decimal("NaN")),
        ("decimal(5, 2)", 1.5),
    ],
)
def test_what_is_no_value_of_the_type_is_invalid(type, value):
    for function in (encode_bound, lower_bound, upper_bound):
        with pytest.raises(Invalid):
            function(parse_type(type), value)


@pytest.mark.parametrize("type", [List(INT), Map(INT, INT), Struct((Field("a", INT),))])
def test_types_with_parts_have_no_bounds(type):
    with pytest.raises(Invalid, match="have no bounds"):
        encode_bound(type, 1)
    with pytest.raises(Invalid, match="have no bounds"):
        decode_bound(type, b"1")


@given(st.integers(1, 38).flatmap(lambda scale: st.tuples(st.integers(-(10**38) + 1, 10**38 - 1), st.just(scale))))
def test_a_decimal_of_38_digits_is_not_rounded(pair):
    digits, scale = pair
    assert unscaled(scaled(digits, scale), scale) == digits


def test_a_decimal_of_another_scale_is_the_same_number():
    assert encode_bound(parse_type("decimal(9, 2)"), Decimal("1.5")) == (150).to_bytes(2, "big")
    assert encode_bound(parse_type("decimal(9, 2)"), Decimal("1.500")) == (150).to_bytes(2, "big")


def test_a_timestamp_before_1970_is_negative():
    assert encode_bound(TIMESTAMP, -1) == struct.pack("<q", -1)


def test_a_uuid_is_its_16_bytes_in_the_order_of_its_text():
    one = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")  # the specification's example
    assert encode_bound(UUID, one.bytes).hex() == "f79c3e09677c4bbda4793f349cb785e7"
    assert decode_bound(UUID, encode_bound(UUID, one.bytes)) == one.bytes
