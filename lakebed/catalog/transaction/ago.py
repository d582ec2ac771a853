"""Times as people say them, relative to now: `yesterday`, `1 hour ago`, `2 days 3 hours ago`."""

import re
from datetime import datetime, timedelta

_UNITS = {
    "seconds": ("second", "seconds", "sec", "secs", "s"),
    "minutes": ("minute", "minutes", "min", "mins", "m"),
    "hours": ("hour", "hours", "h"),
    "days": ("day", "days", "d"),
    "weeks": ("week", "weeks", "w"),
    "months": ("month", "months"),
    "years": ("year", "years", "y"),
}
_UNIT = {word: unit for unit, words in _UNITS.items() for word in words}
_PART = re.compile(r"(?P<count>\d{1,9}|an?)\s*(?P<unit>[a-z]+)")
_WORDS = {"now": timedelta(), "yesterday": timedelta(days=1)}

FORMS = '"yesterday", "1 hour ago" or "2 days 3 hours ago"'


def time_ago(text: str, now: datetime) -> datetime | None:
    """The time that a text means, None if it is not such a text. Yesterday is 24 hours ago, as in git."""
    words = text.strip().lower()
    if words in _WORDS:
        return now - _WORDS[words]
    if not words.endswith("ago"):
        return None
    parts = _parts(words.removesuffix("ago"))
    if parts is None:
        return None
    months = sum(count * (12 if unit == "years" else 1) for count, unit in parts if unit in ("months", "years"))
    rest = {unit: count for count, unit in parts if unit not in ("months", "years")}
    try:
        return _months_before(now, months) - timedelta(**rest)
    except (OverflowError, ValueError):  # before the year 1
        return None


def _parts(text: str) -> list[tuple[int, str]] | None:
    """The counts and units of a text, None if there is anything else in it."""
    found = [(match["count"], match["unit"]) for match in _PART.finditer(text)]
    left = _PART.sub("", text).replace(",", " ").split()
    if not found or set(left) - {"and"} or any(unit not in _UNIT for _, unit in found):
        return None
    return [(1 if count in ("a", "an") else int(count), _UNIT[unit]) for count, unit in found]


def _months_before(now: datetime, months: int) -> datetime:
    """The same day some months before, or the last day of that month if it has no such day."""
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    for day in (now.day, 30, 29, 28):
        try:
            return now.replace(year=year, month=month + 1, day=min(day, now.day))
        except ValueError:
            if day == 28:
                raise
    raise AssertionError("every month has 28 days")
