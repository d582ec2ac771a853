"""Where literals of times, UUIDs and fixed bytes stand among the values of a column."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.filter.literals import Kind, Literal, Place, place_of
from lakebed.table.types.times import moment_text, time_text
from lakebed.table.types.types import Field

LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)


def place(type, text, kind=Kind.STRING):
    return place_of(Field("a", type), Literal(kind, text))


def at(value):
    return Place(value, value)


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("time", "00:00", at(0)),
        ("time", "23:59:59.999999", at(86_399_999_999)),
        ("time", "12:00:00.0000005", Place(43_200_000_000, 43_200_000_001)),
        ("time", "23:59:59.9999999", Place(86_399_999_999, None)),
        ("timestamp", "1970-01-01 00:00:00.0000019", Place(1, 2)),
        ("timestamp", "1969-12-31 23:59:59.999999999", Place(-1, 0)),
        ("timestamp_ns", "1970-01-01 00:00:00.000000019", at(19)),
        ("timestamp_ns", "2262-04-11 23:47:16.854775807", at(LONG_MAX)),
        ("timestamp_ns", "2262-04-11 23:47:16.854775808", Place(LONG_MAX, None)),
        ("timestamp_ns", "1677-09-21 00:12:43.145224192", at(LONG_MIN)),
        ("timestamp_ns", "1677-09-21 00:12:43.145224191", Place(None, LONG_MIN)),
        ("timestamptz_ns", "1970-01-01 01:00:00.000000001+01:00", at(1)),
        ("timestamptz_ns", "1970-01-01", at(0)),
        ("uuid", "F79C3E09-677c-4bbd-a479-3f349cb785e7", at(bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7"))),
    ],
)
def test_text_has_its_place_among_the_values(type, text, expected):
    assert place(type, text) == expected


def test_literals_may_say_what_they_are():
    assert place("time", "12:30", Kind.TIME) == place("time", "12:30")
    assert place("timestamp_ns", "2026-01-01", Kind.DATE) == place("timestamp_ns", "2026-01-01")
    assert place("timestamptz_ns", "2026-01-01 12:30", Kind.TIMESTAMP) == place("timestamptz_ns", "2026-01-01 12:30")
    assert place("fixed(2)", "00fF", Kind.BYTES) == at(b"\x00\xff")


@given(st.integers(0, 86_400_000_000 - 1), st.integers(LONG_MIN, LONG_MAX), st.uuids())
def test_every_value_has_a_literal(micros, nanos, token):
    assert place("time", time_text(micros * 1000, 6)) == at(micros)
    assert place("timestamp_ns", moment_text(nanos, 9)) == at(nanos)
    assert place("timestamptz_ns", f"{moment_text(nanos, 9)}Z") == at(nanos)
    assert place("uuid", str(token)) == at(token.bytes)
    assert place("fixed(16)", token.hex, Kind.BYTES) == at(token.bytes)


@pytest.mark.parametrize(
    ("type", "text", "kind"),
    [
        ("time", "24:00", Kind.STRING),
        ("time", "12", Kind.STRING),
        ("time", "12:60", Kind.STRING),
        ("time", "12:00:00.0000000001", Kind.STRING),
        ("time", "12:00Z", Kind.STRING),
        ("time", "2026-01-01 12:00", Kind.TIMESTAMP),
        ("time", "5", Kind.NUMBER),
        ("date", "12:00", Kind.TIME),
        ("timestamp", "12:00", Kind.TIME),
        ("timestamp_ns", "2026-01-01 12:00Z", Kind.STRING),
        ("timestamp_ns", "2026-01-01 12:00:00.0000000001", Kind.STRING),
        ("timestamp_ns", "2026-02-30", Kind.STRING),
        ("timestamptz_ns", "5", Kind.NUMBER),
        ("uuid", "f79c3e09677c4bbda4793f349cb785e7", Kind.STRING),
        ("uuid", "{f79c3e09-677c-4bbd-a479-3f349cb785e7}", Kind.STRING),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e", Kind.STRING),
        ("uuid", uuid.UUID(int=5).hex, Kind.BYTES),
        ("fixed(2)", "00", Kind.BYTES),
        ("fixed(2)", "000000", Kind.BYTES),
        ("fixed(2)", "00f", Kind.BYTES),
        ("fixed(2)", "ab", Kind.STRING),
    ],
)
def test_what_is_no_value_of_the_column_is_refused_with_its_type(type, text, kind):
    with pytest.raises(Invalid, match="does not fit its type") as caught:
        place(type, text, kind)
    assert f"column 'a' of type {type}" in caught.value.subject
    assert text in caught.value.found
