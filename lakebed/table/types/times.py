"""Dates, times of day and moments: as the numbers that are stored, and as ISO 8601 text.

A date counts days since 1970, a moment micro- or nanoseconds since 1970, a time of day the same since midnight.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_NANOS: Final = 1_000_000_000
HOUR_MICROS: Final = 3_600_000_000
DAY_MICROS: Final = 24 * HOUR_MICROS
HOUR_NANOS: Final = HOUR_MICROS * 1000
DAY_NANOS: Final = DAY_MICROS * 1000

TIMES_OF_DAY: Final = range(DAY_MICROS)
"""The plain values of the type time: microseconds since midnight."""

TIME_OF_DAY: Final = re.compile(r"((?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2})?)(?:(?<=:..:..)\.([0-9]{1,9}))?")
MOMENT: Final = re.compile(
    rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[ T]{TIME_OF_DAY.pattern}(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?"
)

_EPOCH_DAY = EPOCH.toordinal()
_CYCLE_YEARS = 400  # after which the Gregorian calendar repeats itself
_CYCLE_DAYS = 146_097


def days_since_1970(day: date) -> int:
    """A date as the number that is stored."""
    return day.toordinal() - _EPOCH_DAY


def days_of(year: int, month: int, day: int) -> int:
    """A date of any year as days since 1970, by the Gregorian calendar; `ValueError` if there is no such date."""
    cycles, rest = divmod(year, _CYCLE_YEARS)
    same = date(rest + _CYCLE_YEARS, month, day)  # in a cycle that Python's dates have
    return days_since_1970(same) + (cycles - 1) * _CYCLE_DAYS


def year_month_day(days: int) -> tuple[int, int, int]:
    """The date that a number of days since 1970 means, by the Gregorian calendar even before it was introduced."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    same = date.fromordinal(_EPOCH_DAY + rest)
    return same.year + cycles * _CYCLE_YEARS, same.month, same.day


def parse_time(text: str) -> int:
    """The nanoseconds since midnight that a text of the form `TIME_OF_DAY` means; `ValueError` for any other."""
    if TIME_OF_DAY.fullmatch(text) is None:
        raise ValueError("this is not a time of day")
    nanos, _ = parse_moment(f"1970-01-01 {text}")
    return nanos


def parse_moment(text: str) -> tuple[int, bool]:
    """The nanoseconds since 1970 that a text of the form `MOMENT` means, and whether it names a zone; if not, UTC.

    `ValueError` for any other text, and for a date or time that does not exist.
    """
    match = MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("this is not a moment")
    day, clock, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone or 'Z'}")
    seconds = (moment - EPOCH) // timedelta(seconds=1)
    return seconds * SECOND_NANOS + int((fraction or "").ljust(9, "0")), zone is not None


def date_text(days: int) -> str:
    """Days since 1970 as a date; years beyond the four digits of ISO 8601 have more digits or a sign."""
    year, month, day = year_month_day(days)
    return f"{year:04}-{month:02}-{day:02}"


def time_text(nanos: int, digits: int) -> str:
    """A time of day with `digits` digits of a second's fraction: `22:31:08.123456`."""
    seconds, fraction = divmod(nanos, SECOND_NANOS)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{fraction:09}"[: len(clock) + 1 + digits] if digits else clock


def moment_text(nanos: int, digits: int) -> str:
    """A moment with `digits` digits of a second's fraction: `2017-11-16T22:31:08.123456789`."""
    days, rest = divmod(nanos, DAY_NANOS)
    return f"{date_text(days)}T{time_text(rest, digits)}"
