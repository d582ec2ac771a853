"""Times of day and moments as text: what is read is what was printed, to the nanosecond."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.types.times import DAY_NANOS, moment_text, parse_moment, parse_time, time_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_moment_reads_as_it_prints(nanos):
    assert parse_moment(moment_text(nanos, 9)) == (nanos, False)
    assert parse_moment(moment_text(nanos, 9).replace("T", " ") + "Z") == (nanos, True)
    assert parse_moment(moment_text(nanos, 6)) == (nanos - nanos % 1000, False)
    assert parse_moment(moment_text(nanos, 0)) == (nanos - nanos % 10**9, False)


@given(st.integers(0, DAY_NANOS - 1))
def test_a_time_reads_as_it_prints(nanos):
    assert parse_time(time_text(nanos, 9)) == nanos
    assert parse_time(time_text(nanos, 3)) == nanos - nanos % 1_000_000


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones))
def test_python_has_the_same_moments(moment):
    assert parse_moment(moment.isoformat()) == ((moment - EPOCH) // timedelta(microseconds=1) * 1000, True)
    plain = moment.replace(tzinfo=None)
    nanos = (plain.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1000
    assert moment_text(nanos, 6) == plain.isoformat(timespec="microseconds")


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-02", DAY_NANOS),
        ("1970-01-01 00:01", 60 * 10**9),
        ("1970-01-01T00:00:00.5", 5 * 10**8),
        ("1969-12-31 23:59:59.999999999", -1),
        ("1970-01-01 01:00:00.000000001+01:00", 1),
        ("0001-01-01", -719162 * DAY_NANOS),
    ],
)
def test_moments_may_leave_out_what_is_zero(text, nanos):
    assert parse_moment(text)[0] == nanos


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1970",
        "1970-1-1",
        "1970-02-30",
        "0000-01-01",
        "10000-01-01",
        "1970-01-01 24:00",
        "1970-01-01 23:60",
        "1970-01-01 23:59:60",
        "1970-01-01 12",
        "1970-01-01 12:30.5",
        "1970-01-01 12:30:00.",
        "1970-01-01 12:30:00.1234567890",
        "1970-01-01 12:30:00+24:00",
        "1970-01-01 12:30:00 UTC",
        "1970-01-01Z",
        "١٩٧٠-01-01",
        "1970-01-01\n",
    ],
)
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text)


@pytest.mark.parametrize("text", ["", "24:00", "1:00", "12:60", "12:00:60", "12:00:00Z", "1970-01-01", "12:00:00\n"])
def test_what_is_no_time_of_day_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)
