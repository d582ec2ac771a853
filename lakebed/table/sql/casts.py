"""Values as text, the way Spark's CAST reads and writes them in a session whose zone is UTC.

A time alone, which Spark takes for one of today, is not read.
"""

import decimal
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from lakebed.table.types.times import DAY_MICROS, time_text, year_month_day

_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the Gregorian calendar comes again
_MINUTE_MICROS = 60_000_000

_BLANK = "".join(map(chr, (*range(33), 127)))  # what Spark's trimAll takes away, of ASCII
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?[0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](?:([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{2}))?)?")
_WHOLE = re.compile("[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_LENGTH = 4000  # beyond which Python reads no number
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "inf"),
    **dict.fromkeys(("-inf", "-infinity"), "-inf"),
    "nan": "nan",
}
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_LONGS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in microseconds since 1970: as the clock shows it, and the instant, which is the same without a zone."""

    local: int
    instant: int


def trimmed(text: str) -> str:
    """The text without what Spark takes for blank around it."""
    return text.strip(_BLANK)


def parse_whole(text: str) -> int | None:
    """The whole number that a text means; None if it means none that a type could hold."""
    found = trimmed(text)
    return int(found) if len(found) <= _LENGTH and _WHOLE.fullmatch(found) else None


def parse_decimal(text: str) -> decimal.Decimal | None:
    """The number that a text means, exactly; None if it means none."""
    found = trimmed(text)
    return decimal.Decimal(found) if len(found) <= _LENGTH and _NUMBER.fullmatch(found) else None


def plain_number(text: str) -> str | None:
    """The text of a floating-point number as every reader takes it; None if it means none."""
    found = trimmed(text).lower()
    if _NUMBER.fullmatch(found.rstrip("df")):
        return found.rstrip("df").removeprefix("+") if len(found) <= len(found.rstrip("df")) + 1 else None
    return _SPECIAL.get(found)


def parse_boolean(text: str) -> bool | None:
    """The truth value that a text means; None if it means none."""
    return _BOOLEANS.get(trimmed(text).lower())


def parse_date(text: str) -> int | None:
    """The days since 1970 that a text means; None if it means no date."""
    match = _DATE.fullmatch(trimmed(text))
    return None if match is None else _days(*match.groups())


def parse_timestamp(text: str) -> Moment | None:
    """The moment that a text means; None if it means none."""
    match = _TIMESTAMP.fullmatch(trimmed(text))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(year, month, day)
    clock = [int(one or 0) for one in (hour, minute, second)]
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    local = days * DAY_MICROS + seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))
    offset = _offset(trimmed(zone or ""), local)
    if offset is None or local not in _LONGS or local - offset not in _LONGS:
        return None
    return Moment(local, local - offset)


def _days(year: str, month: str | None, day: str | None) -> int | None:
    cycles, rest = divmod(int(year), _CYCLE_YEARS)
    try:
        there = date(rest + _CYCLE_YEARS, int(month or 1), int(day or 1))  # any cycle that Python's dates have
    except ValueError:
        return None
    return there.toordinal() - _EPOCH + (cycles - 1) * _CYCLE_DAYS


def _offset(zone: str, local: int) -> int | None:
    """How far a zone is ahead of UTC, in microseconds, at a moment by its clock; None if there is no such zone."""
    if zone in ("", "Z", "UTC", "GMT", "UT"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is not None:
        return _fixed_offset(*match.groups())
    try:
        moment = datetime(1970, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(microseconds=local)
        ahead = moment.utcoffset()
    except (KeyError, ValueError, OSError, OverflowError):
        return None
    return None if ahead is None else ahead // timedelta(microseconds=1)


def _fixed_offset(sign: str, hours: str, minutes: str | None, seconds: str | None) -> int | None:
    ahead = (int(hours) * 60 + int(minutes or 0)) * _MINUTE_MICROS + int(seconds or 0) * 1_000_000
    if int(hours) > 18 or int(minutes or 0) > 59 or ahead > 18 * 60 * _MINUTE_MICROS:
        return None
    return ahead if sign == "+" else -ahead


def day_text(days: int) -> str:
    """A date, with four digits or more for the year, and a sign before more of them or before those below zero."""
    year, month, day = year_month_day(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def moment_text(micros: int) -> str:
    """A moment, without zeros behind its last digit of a second."""
    days, rest = divmod(micros, DAY_MICROS)
    clock = time_text(rest * 1000, 6)
    return f"{day_text(days)} {clock.rstrip('0').rstrip('.') if '.' in clock else clock}"


def floating_text(shortest: str) -> str:
    """A floating-point number as Java writes it, from the shortest digits that are read as it again."""
    if shortest.lstrip("-") in ("inf", "nan"):
        return shortest.replace("inf", "Infinity").replace("nan", "NaN")
    sign, number = ("-", shortest[1:]) if shortest.startswith("-") else ("", shortest)
    mantissa, _, power = number.lower().partition("e")
    whole, _, behind = mantissa.partition(".")
    digits = (whole + behind).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + behind) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    padded = digits.ljust(exponent + 1, "0")
    return f"{padded[: exponent + 1]}.{padded[exponent + 1 :] or '0'}"
