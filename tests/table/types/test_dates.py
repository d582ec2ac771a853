"""Dates of days since 1970, also where Python has none."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.types.times import date_text, year_month_day

EPOCH = date(1970, 1, 1)


@given(st.dates())
def test_python_has_the_same_dates(day):
    assert year_month_day((day - EPOCH).days) == (day.year, day.month, day.day)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-719163, (0, 12, 31)),
        (-719528, (0, 1, 1)),
        (2932897, (10000, 1, 1)),
        (2**31 - 1, (5881580, 7, 11)),  # as java.time.LocalDate.ofEpochDay has them
        (-(2**31), (-5877641, 6, 23)),
    ],
)
def test_days_beyond_pythons_have_dates_too(days, expected):
    assert year_month_day(days) == expected


@given(st.integers(-(2**31), 2**31 - 2))
def test_the_next_day_is_the_next_date(days):
    year, month, day = year_month_day(days)
    following = year_month_day(days + 1)
    same = date(2000 + year % 400, month, day) + timedelta(1)  # the calendar comes again after 400 years
    assert following == (year + same.year - 2000 - year % 400, same.month, same.day)


@given(st.dates())
def test_python_has_the_same_text_of_a_date(day):
    assert date_text((day - EPOCH).days) == day.isoformat()


def test_dates_beyond_pythons_have_more_digits_or_a_sign():
    assert [date_text(days) for days in (2932897, -719529)] == ["10000-01-01", "-001-12-31"]
