"""ME-20, ME-21: keys as bytes compare as the keys do, and bounds never exclude a key that is there."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.keys.encoding import encode_key, may_have_key, set_key_bounds
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, parse_type
from lakebed.table.types.values import lower_bound, upper_bound

LONGS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.floats(allow_nan=False)
BYTES = st.lists(st.sampled_from([0, 1, 0x7F, 0xFE, 0xFF]), max_size=40).map(bytes)
TEXTS = st.text(st.sampled_from(["\x00", "\x01", "a", "\u00ff", "\ud7ff", "\ue000", "\U0010ffff"]), max_size=40)
DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda digits: Decimal(digits).scaleb(-4))

VALUES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": LONGS,
    "date": st.integers(-(2**31), 2**31 - 1),
    "timestamp": LONGS,
    "timestamptz": LONGS,
    "float": st.floats(width=32, allow_nan=False),
    "double": NUMBERS,
    "decimal(38, 4)": DECIMALS,
    "string": TEXTS,
    "binary": BYTES,
}


def pairs_of_keys():
    names = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3)
    return names.flatmap(lambda chosen: st.tuples(st.just(chosen), _keys(chosen), _keys(chosen)))


def _keys(names):
    return st.tuples(*(VALUES[one] for one in names))


def as_bytes(key):
    """What Python orders as the table does: UTF-8 has the order of code points."""
    return tuple(one.encode() if isinstance(one, str) else one for one in key)


@given(pairs_of_keys())
def test_keys_compare_as_their_bytes_do(drawn):
    names, one, other = drawn
    types = [parse_type(name) for name in names]
    left, right = encode_key(types, one), encode_key(types, other)
    assert (left < right) == (as_bytes(one) < as_bytes(other))
    assert (left == right) == (as_bytes(one) == as_bytes(other))


@given(pairs_of_keys())
def test_no_key_begins_with_another(drawn):
    names, one, other = drawn
    types = [parse_type(name) for name in names]
    left, right = encode_key(types, one), encode_key(types, other)
    assert left == right or not left.startswith(right)


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("int", -1, "7fffffffffffffff"),
        ("long", 1, "8000000000000001"),
        ("boolean", True, "01"),
        ("double", -0.0, "8000000000000000"),
        ("double", 0.0, "8000000000000000"),
        ("double", -1.0, "400fffffffffffff"),
        ("string", "a\x00b", "6100ff620000"),
        ("string", "", "0000"),
        ("binary", b"\xff", "ff0000"),
        ("decimal(4, 2)", Decimal("-0.01"), "7fffffffffffffffffffffffffffffff"),
    ],
)
def test_a_key_has_these_bytes(name, value, written):
    assert encode_key([parse_type(name)], [value]).hex() == written


@pytest.mark.parametrize(
    ("name", "value"), [("double", math.nan), ("long", None), ("long", 2**63), ("long", "1"), ("list<int>", [1])]
)
def test_what_is_no_key_is_refused(name, value):
    with pytest.raises(Invalid):
        encode_key([parse_type(name)], [value])


@given(
    st.lists(st.tuples(LONGS, TEXTS), min_size=1, max_size=20),
    st.tuples(LONGS, TEXTS),
)
def test_bounds_never_exclude_a_key_that_is_there(rows, other):
    """ME-21: bounds come from those of the columns, which are cut at 32 bytes."""
    schema = Schema(
        [Field("a", "long", True, id=1, physical_name="a"), Field("b", "string", True, id=2, physical_name="b")],
        1,
        [1, 2],
    )
    types = [one.type for one in schema.fields]
    file = DataFileRef(path="f")
    for place, field in enumerate(schema.fields):
        values = sorted((row[place] for row in rows), key=lambda one: as_bytes([one]))
        known = file.statistics.add(field_id=field.id)
        known.lower = lower_bound(field.type, values[0])
        above = upper_bound(field.type, values[-1])
        if above is not None:
            known.upper = above
    set_key_bounds(file, schema)
    assert all(may_have_key(file, encode_key(types, row)) for row in rows)
    if file.key_max and not may_have_key(file, encode_key(types, other)):
        assert other not in rows


def test_a_file_without_bounds_may_have_any_key():
    schema = Schema([Field("a", "long", True, id=1, physical_name="a")], 1, [1])
    file = DataFileRef(path="f")
    set_key_bounds(file, schema)
    assert not file.key_max
    assert may_have_key(file, encode_key([parse_type("long")], [7]))
