"""Values as text, the way Spark's CAST reads and writes them in a session whose time zone is UTC.

A time without a date is not read; Spark takes it for a time of today.
"""

import decimal
import re
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from lakebed.table.types.times import DAY_MICROS, EPOCH, days_of, time_text, year_month_day
from lakebed.table.types.types import DATE, TIMESTAMP, TIMESTAMPTZ, Decimal, Type

_MINUTE_MICROS = 60_000_000

_BLANK = "".join(map(chr, (*range(33), 127)))  # what Spark's trimAll removes, of ASCII
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?[0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](?:([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{2}))?)?")
_WHOLE = re.compile("[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_LENGTH = 4000  # characters; Python does not read longer numbers
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "inf"),
    **dict.fromkeys(("-inf", "-infinity"), "-inf"),
    "nan": "nan",
}
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_FINER = r"\.[0-9]{6}[0-9]*[1-9]"  # than a microsecond
_AHEAD = r":[0-9]{1,2}(\.[0-9]*)?\s*(?!(Z|(UTC|GMT|UT)?([+-]00?(:00?(:00)?)?)?)\s*$)[^0-9:.\s]"  # a zone other than UTC
_DROPPED: dict[Type, str] = {
    DATE: r"[0-9][T ](?![0:.]*\s*(Z|UTC|[+-][0-9:]+)?\s*$)",
    TIMESTAMP: f"{_FINER}|{_AHEAD}",
    TIMESTAMPTZ: _FINER,
}
_INTS = range(-(2**31), 2**31)
_LONGS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in microseconds since 1970: as a local clock shows it, and as an instant, the same without a zone."""

    local: int
    instant: int


def trimmed(text: str) -> str:
    """The text without the characters around it that Spark takes for blank."""
    return text.strip(_BLANK)


def parse_whole(text: str) -> int | None:
    """The whole number that a text means; None if it is not one, or too long for any type."""
    number = trimmed(text)
    return int(number) if len(number) <= _LENGTH and _WHOLE.fullmatch(number) else None


def parse_decimal(text: str) -> decimal.Decimal | None:
    """The number that a text means, exactly; None if it is not one."""
    number = trimmed(text)
    return decimal.Decimal(number) if len(number) <= _LENGTH and _NUMBER.fullmatch(number) else None


def plain_number(text: str) -> str | None:
    """A floating-point number in a form that every reader accepts; None if the text is not one."""
    lower = trimmed(text).lower()
    number = lower.rstrip("df")
    if _NUMBER.fullmatch(number):
        return number.removeprefix("+") if len(lower) <= len(number) + 1 else None
    return _SPECIAL.get(lower)


def dropped_pattern(type: Type) -> str | None:
    """What texts have that a cast to the type would drop, as a regular expression for Python and Java; None if nothing.

    Zeros, UTC and the zone of midnight may go: nothing is lost. It does not see digits of decimals with an exponent.
    """
    if isinstance(type, Decimal):
        return rf"^[^eE]*\.[0-9]{{{type.scale}}}[0-9]*[1-9]"
    return _DROPPED.get(type)


def is_kept(text: str, type: Type) -> bool:
    """Whether a cast to the type drops nothing of the text but zeros."""
    if isinstance(type, Decimal):
        number = parse_decimal(text)
        return number is None or _scale(number) <= type.scale
    pattern = dropped_pattern(type)
    return pattern is None or re.search(pattern, text) is None


def parse_boolean(text: str) -> bool | None:
    """The truth value that a text means; None if it is not one."""
    return _BOOLEANS.get(trimmed(text).lower())


def parse_date(text: str) -> int | None:
    """The days since 1970 that a text means; None if it is not a date, or further away than a column can say."""
    match = _DATE.fullmatch(trimmed(text))
    days = None if match is None else _days(*match.groups())
    return days if days is not None and days in _INTS else None


def parse_timestamp(text: str) -> Moment | None:
    """The moment that a text means; None if it is not one."""
    match = _TIMESTAMP.fullmatch(trimmed(text))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(year, month, day)
    clock = [int(part or 0) for part in (hour, minute, second)]
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    local = days * DAY_MICROS + seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))
    offset = _offset(trimmed(zone or ""), local)
    if offset is None or local not in _LONGS or local - offset not in _LONGS:
        return None
    return Moment(local, local - offset)


def day_text(days: int) -> str:
    """A date; a year of more than four digits, or below zero, has a sign."""
    year, month, day = year_month_day(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def moment_text(micros: int) -> str:
    """A moment, without trailing zeros in the fraction of its second."""
    days, rest = divmod(micros, DAY_MICROS)
    clock = time_text(rest * 1000, 6)
    return f"{day_text(days)} {clock.rstrip('0').rstrip('.') if '.' in clock else clock}"


def floating_text(shortest: str) -> str:
    """A floating-point number as Java writes it, from the shortest digits that are read back as the same number."""
    if shortest.lstrip("-") in ("inf", "nan"):
        return shortest.replace("inf", "Infinity").replace("nan", "NaN")
    sign, number = ("-", shortest[1:]) if shortest.startswith("-") else ("", shortest)
    mantissa, _, power = number.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if -3 <= exponent < 7:
        return sign + _without_exponent(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _scale(number: decimal.Decimal) -> int:
    """How many digits after the point a number needs."""
    _, digits, exponent = number.as_tuple()
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return -(int(exponent) + zeros) if number else 0


def _days(year: str, month: str | None, day: str | None) -> int | None:
    try:
        return days_of(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def _offset(zone: str, local: int) -> int | None:
    """How far a zone is ahead of UTC, in microseconds, at a moment by its own clock; None if there is no such zone."""
    if zone in ("", "Z", "UTC", "GMT", "UT"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is not None:
        return _fixed_offset(*match.groups())
    try:
        moment = EPOCH.replace(tzinfo=ZoneInfo(zone)) + timedelta(microseconds=local)
        ahead = moment.utcoffset()
    except (KeyError, ValueError, OSError, OverflowError):
        return None
    return None if ahead is None else ahead // timedelta(microseconds=1)


def _fixed_offset(sign: str, hours: str, minutes: str | None, seconds: str | None) -> int | None:
    ahead = (int(hours) * 60 + int(minutes or 0)) * _MINUTE_MICROS + int(seconds or 0) * 1_000_000
    if int(hours) > 18 or int(minutes or 0) > 59 or ahead > 18 * 60 * _MINUTE_MICROS:
        return None
    return ahead if sign == "+" else -ahead


def _without_exponent(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    padded = digits.ljust(exponent + 1, "0")
    return f"{padded[: exponent + 1]}.{padded[exponent + 1 :] or '0'}"
