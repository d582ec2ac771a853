"""Days since 1970 as dates, also beyond the years 1 to 9999, where Python's own end."""

from datetime import date

HOUR_MICROS = 3_600_000_000
DAY_MICROS = 24 * HOUR_MICROS

_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400  # after which the Gregorian calendar comes again
_CYCLE_DAYS = 146_097


def year_month_day(days: int) -> tuple[int, int, int]:
    """The date of a day since 1970, in the Gregorian calendar also for days before there was one."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    there = date.fromordinal(_EPOCH + rest)
    return there.year + cycles * _CYCLE_YEARS, there.month, there.day
