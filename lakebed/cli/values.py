"""Values as text and as JSON."""

import json
import math
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import click

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"[\\\t\n\r]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What would move a terminal's cursor, or turn the direction of its text."""

_UNITS = (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60))


def json_value(value: object) -> object:
    """A value as `json.dumps` takes it: versions are numbers, times ISO 8601, decimals texts, bytes base64."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case bytes() if hasattr(value, "__int__"):  # a version; `--help` must not load the store to name its class
            return int(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Enum():
            return json_value(value.value)
        case datetime() | date() | time():
            return _iso(value)
        case bytes():
            return b64encode(value).decode()
        case Mapping():
            return {str(key): json_value(one) for key, one in value.items()}
        case Sequence() | set() | frozenset():
            return [json_value(one) for one in value]
        case _:
            return str(value)


def json_line(value: object) -> str:
    """A value as one line of JSON."""
    return json.dumps(json_value(value), ensure_ascii=False)


def plain_text(value: object) -> str:
    """A value for a pipe: one field of a line, that `cut` and `awk` can take."""
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], _text(value))


def terminal_text(value: object) -> str:
    """A value about the lake for a terminal: a time is relative."""
    return safe_text(ago(value) if isinstance(value, datetime) else _text(value))


def exact_text(value: object) -> str:
    """A value of a row for a terminal: a time is itself."""
    return safe_text(_text(value))


def safe_text(text: str) -> str:
    """A text whose control characters are shown as escapes; lines and tabs stay."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in "\n\t" else f"\\x{ord(found[0]):02x}", text)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | Decimal() | float():
            return str(value)
        case bytes() if hasattr(value, "__int__"):
            return str(value)
        case datetime() | date() | time():
            return _iso(value)
        case timedelta() | Enum():
            return str(json_value(value))
        case bytes():
            return _bytes_text(value)
        case _:
            return json_line(value)


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()  # JSON, in system tables
    except UnicodeDecodeError:
        return b64encode(value).decode()


def _iso(value: date | time) -> str:
    """ISO 8601; an instant in UTC, whatever zone it is in."""
    is_instant = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).isoformat() if is_instant else value.isoformat()  # type: ignore[union-attr]


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago a moment was, in the largest unit that fits: `3 minutes ago`."""
    if moment.tzinfo is None:
        return _iso(moment)
    seconds = int(((now or datetime.now(UTC)) - moment).total_seconds())
    if seconds < -60:
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{counted(seconds // size, unit)} ago"
    return "just now" if seconds < 10 else f"{seconds} seconds ago"


def styled(text: str, **style: Any) -> str:
    """A text with colours for a terminal; as it is where NO_COLOR asks for that (no-color.org)."""
    return text if is_plain() else click.style(text, **style)


def is_plain() -> bool:
    """Whether a terminal gets neither colours nor bold."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def installed_version() -> str:
    """The version of Lakebed that is installed."""
    from importlib.metadata import version  # only here: it takes as long to load as all of click

    return version("lakebed")


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 row`, `1,200 rows`."""
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def byte_text(count: int) -> str:
    """A size for people: `1.2 MB`."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return counted(count, "byte") if unit == "bytes" else f"{size:.1f} {unit}"
