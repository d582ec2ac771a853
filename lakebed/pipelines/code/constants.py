"""Values as text that is the same in each process: a step's fingerprint has those that its code names."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

PLAIN = (str, bytes, int, float, complex, Decimal, Fraction, date, time, timedelta, tzinfo, UUID, PurePath, range)
"""Types whose `repr` says all."""


def constant_text(value: Any) -> str | None:
    """A constant as text; None for what has no text of its own, such as a session or an open file.

    A set has no order that two processes share, so its members are sorted.
    """
    if value is None or isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}={constant_text(value.value)}"
    if isinstance(value, re.Pattern):
        return f"{value.pattern!r}/{value.flags}"
    if isinstance(value, list | tuple):
        return _joined(type(value), [constant_text(one) for one in value])
    if isinstance(value, set | frozenset):
        return _joined(type(value), sorted(map(str, map(constant_text, value))))
    if isinstance(value, Mapping):
        return _joined(type(value), [f"{constant_text(key)}: {constant_text(one)}" for key, one in value.items()])
    if is_dataclass(value) and not isinstance(value, type):
        return _joined(type(value), [f"{one.name}={constant_text(getattr(value, one.name))}" for one in fields(value)])
    if type(value).__module__ == "pyspark.sql.types" and hasattr(value, "json"):
        return str(value.json())
    return None


def _joined(kind: type, parts: list[Any]) -> str:
    return f"{kind.__qualname__}({', '.join(map(str, parts))})"
