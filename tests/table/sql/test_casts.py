"""Values as text: read and written as Spark's CAST does. tests/spark compares with Spark itself."""

import datetime
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.sql.casts import (
    day_text,
    floating_text,
    moment_text,
    parse_boolean,
    parse_date,
    parse_timestamp,
    parse_whole,
    plain_number,
)

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


@given(st.floats(allow_nan=False))
def test_a_double_is_read_back_from_its_text(value: float) -> None:
    text = plain_number(floating_text(repr(value)))
    assert text is not None
    assert struct.pack("<d", float(text)) == struct.pack("<d", value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (1.5e-300, "1.5E-300"),
        (100.25, "100.25"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_a_double_is_written_as_java_does(value: float, text: str) -> None:
    assert floating_text(repr(value)) == text


@given(st.datetimes())
def test_a_moment_is_read_back_from_its_text(moment: datetime.datetime) -> None:
    micros = (moment - EPOCH) // MICROSECOND
    found = parse_timestamp(moment_text(micros))
    assert found is not None
    assert found.local == found.instant == micros


@given(st.dates())
def test_a_date_is_written_as_iso_has_it_and_read_back(day: datetime.date) -> None:
    days = (day - EPOCH.date()).days
    assert day_text(days) == day.isoformat()
    assert parse_date(day.isoformat()) == days


@given(st.integers(-(2**22), 2**22))
def test_dates_of_far_years_are_read_back(days: int) -> None:
    assert parse_date(day_text(days)) == days


@pytest.mark.parametrize(
    "text",
    ["", "x", "2020-13-01", "2020-02-30", "20-01-01", "2020-01-01x", "2020/01/01", "2020-001-01", "9999999-01-01"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_date(text) is None
    assert parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("text", "ahead"),
    [
        ("2020-01-02 03:04:05", 0),
        ("2020-01-02 03:04:05Z", 0),
        ("2020-01-02 03:04:05 UTC", 0),
        ("2020-01-02 03:04:05+1", 60),
        ("2020-01-02 03:04:05-08:30", -510),
        ("2020-01-02 03:04:05 UTC+2:00", 120),
        ("2020-01-02 03:04:05Europe/Berlin", 60),
        ("  2020-1-2T3:4:5 \t", 0),
    ],
)
def test_an_instant_is_what_its_zone_says(text: str, ahead: int) -> None:
    found = parse_timestamp(text)
    local = (datetime.datetime(2020, 1, 2, 3, 4, 5) - EPOCH) // MICROSECOND
    assert found is not None
    assert (found.local, found.instant) == (local, local - ahead * 60_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "2020-01-02 24:00:00",
        "2020-01-02 03:60:00",
        "2020-01-02 03:04:05+19:00",
        "2020-01-02 03:04:05 Nowhere/Town",
        "2020-01-02 03:04:05 ../../etc/passwd",
        "2020-01-02T03:04Z",
    ],
)
def test_what_is_no_moment_is_none(text: str) -> None:
    assert parse_timestamp(text) is None


@given(st.text(max_size=40))
def test_any_text_is_read_or_not(text: str) -> None:
    for read in (parse_date, parse_timestamp, parse_whole, plain_number, parse_boolean):
        read(text)


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), (" +7\n", 7), ("-0012", -12), ("1.0", None), ("٣", None), ("", None)]
)
def test_whole_numbers_are_read(text: str, value: int | None) -> None:
    assert parse_whole(text) == value


@pytest.mark.parametrize(
    ("text", "plain"), [("1e5", "1e5"), ("1.5D", "1.5"), ("+.5f", ".5"), ("1ff", None), ("e", None), ("1_0", None)]
)
def test_numbers_may_have_javas_suffix(text: str, plain: str | None) -> None:
    assert plain_number(text) == plain
