"""Days since 1970 as dates, also beyond the years 1 to 9999, where Python's own end."""

from datetime import date

HOUR_MICROS = 3_600_000_000
DAY_MICROS = 24 * HOUR_MICROS
HOUR_NANOS = HOUR_MICROS * 1000
DAY_NANOS = DAY_MICROS * 1000
TIMES_OF_DAY = range(DAY_MICROS)
"""The plain values of the type time: microseconds since midnight."""

_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400  # after which the Gregorian calendar comes again
_CYCLE_DAYS = 146_097


def year_month_day(days: int) -> tuple[int, int, int]:
    """The date of a day since 1970, in the Gregorian calendar also for days before there was one."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    there = date.fromordinal(_EPOCH + rest)
    return there.year + cycles * _CYCLE_YEARS, there.month, there.day


def date_text(days: int) -> str:
    """A day since 1970 as ISO 8601 has it, with more digits or a sign for years beyond its four."""
    year, month, day = year_month_day(days)
    return f"{year:04}-{month:02}-{day:02}"
