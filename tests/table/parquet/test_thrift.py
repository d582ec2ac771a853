"""Thrift's compact protocol: what is read, what is skipped, and what is malformed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.parquet.thrift import BINARY, BOOLEAN, BYTE, DOUBLE, I16, I32, I64, ListOf, Malformed, Struct, decode

INNER = Struct("Inner", {1: ("number", I32)}, ["number"])
ALL = Struct(
    "All",
    {
        1: ("flag", BOOLEAN),
        2: ("byte", BYTE),
        3: ("short", I16),
        4: ("int", I32),
        5: ("long", I64),
        6: ("double", DOUBLE),
        7: ("text", BINARY),
        8: ("numbers", ListOf(I32)),
        9: ("inner", INNER),
        300: ("far", I32),
    },
)


def test_every_type_is_read():
    data = bytes.fromhex("11 13 7f 14 03 15 feffffff0f 16 01 17 0000000000000000 18 03616263 19 250204 1c 15 02 00")
    assert decode(data + b"\x05\xd8\x04\x0e\x00", ALL) == {
        "flag": True,
        "byte": b"\x7f",
        "short": -2,
        "int": (1 << 31) - 1,
        "long": -1,
        "double": bytes(8),
        "text": b"abc",
        "numbers": [1, 2],
        "inner": {"number": 1},
        "far": 7,
    }


def test_a_long_list_has_its_count_behind():
    assert decode(b"\x09\x10\xf5\x14" + b"\x02" * 20 + b"\x00", ALL)["numbers"] == [1] * 20


def test_unknown_fields_of_every_type_are_skipped():
    unknown = bytes.fromhex("05 ca01 02  11 12 13 01 14 02 15 02 16 02 17 0000000000000000 18 0161 19 15 02")
    more = bytes.fromhex("1a 15 02  1b 01 55 0204  1b 00  1c 15 02 1c 00 00  1d") + bytes(16) + b"\x19\x21\x01\x02"
    assert decode(unknown + more + b"\x05\x08\x02\x00", ALL) == {"int": 1}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "ends too early"),
        ("4502", "ends too early"),
        ("45", "ends too early"),
        ("78 05 6162", "ends too early"),
        ("4502 00 00", "1 bytes follow"),
        ("4502 05 08 02 00", "All has int twice"),
        ("46 02 00", "All.int has type 6"),
        ("42 00", "All.int has type 2"),
        ("45 ffffffff7f 00", "more than 32 bits"),
        ("55 02 00", "All.long has type 5"),
        ("56 ffffffffffffffffffff7f 00", "more than ten bytes"),
        ("89 f5 ffffff07 00", "longer than the rest"),
        ("89 16 02 00", "a list has values of type 6"),
        ("9c 00 00", "Inner has no number"),
        ("1e 00", "All.flag has type 14"),
        ("05 ca01 02 1f 00", "unknown type 15"),
    ],
)
def test_what_is_not_the_struct_is_malformed(data, problem):
    with pytest.raises(Malformed, match=problem):
        decode(bytes.fromhex(data), ALL)


@pytest.mark.parametrize("opening", ["1c", "1b0155", "1919", "19 1c"])
def test_unknown_fields_that_are_nested_deeply_are_malformed_before_the_stack_ends(opening):
    data = bytes.fromhex("0c ca01") + bytes.fromhex(opening) * 100_000
    with pytest.raises(Malformed):
        decode(data, ALL)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_malformed(data):
    try:
        decode(data, ALL)
    except Malformed:
        return
