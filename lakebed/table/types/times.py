"""Days and times of day as the numbers that are stored, and back."""

import re
from datetime import UTC, date, datetime, timedelta

HOUR_MICROS = 3_600_000_000
DAY_MICROS = 24 * HOUR_MICROS
HOUR_NANOS = HOUR_MICROS * 1000
DAY_NANOS = DAY_MICROS * 1000
TIMES_OF_DAY = range(DAY_MICROS)
"""The plain values of the type time: microseconds since midnight."""

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400  # after which the Gregorian calendar comes again
_CYCLE_DAYS = 146_097


def year_month_day(days: int) -> tuple[int, int, int]:
    """The date of a day since 1970, in the Gregorian calendar also for days before there was one."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    there = date.fromordinal(_EPOCH_DAY + rest)
    return there.year + cycles * _CYCLE_YEARS, there.month, there.day


def date_text(days: int) -> str:
    """A day since 1970 as ISO 8601 has it, with more digits or a sign for years beyond its four."""
    year, month, day = year_month_day(days)
    return f"{year:04}-{month:02}-{day:02}"


TIME_OF_DAY = re.compile(r"((?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2})?)(?:(?<=:..:..)\.([0-9]{1,9}))?")
MOMENT = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[ T]{TIME_OF_DAY.pattern}(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?")

SECOND_NANOS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(text: str) -> int:
    """The nanoseconds since midnight that a text of the form `TIME_OF_DAY` means; `ValueError` for any other."""
    match = TIME_OF_DAY.fullmatch(text)
    if match is None:
        raise ValueError("no time of day")
    nanos, _ = parse_moment(f"1970-01-01 {text}")
    return nanos


def parse_moment(text: str) -> tuple[int, bool]:
    """The nanoseconds since 1970 that a text of the form `MOMENT` means, and whether it has a zone, else it is UTC.

    `ValueError` for any other text, and for one that means no moment of the calendar.
    """
    match = MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("no moment")
    day, clock, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone or 'Z'}")
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return seconds * SECOND_NANOS + int((fraction or "").ljust(9, "0")), zone is not None


def time_text(nanos: int, digits: int) -> str:
    """A time of day with so many digits behind the second: `22:31:08.123456`."""
    seconds, fraction = divmod(nanos, SECOND_NANOS)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{fraction:09}"[: len(clock) + 1 + digits] if digits else clock


def moment_text(nanos: int, digits: int) -> str:
    """A moment with so many digits behind the second: `2017-11-16T22:31:08.123456789`."""
    days, rest = divmod(nanos, DAY_NANOS)
    return f"{date_text(days)}T{time_text(rest, digits)}"
