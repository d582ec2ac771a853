"""Hive's folders: `region=eu/month=2026-01/x.parquet` says the values of columns, as text."""

import re
import struct
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.sql.casts import (
    day_text,
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_timestamp,
    parse_whole,
    plain_number,
)
from lakebed.table.types import types
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Decimal, Field, Fields, Type
from lakebed.table.types.values import scaled, unscaled

NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the folder of rows without a value; Spark does so for empty text, too."""

_LEADING_ZERO = re.compile(r"[+-]?0[0-9]{2,}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"  # `2026-01` and `2026` are not days
_INFERRED = {
    types.INT: _WHOLE,
    types.LONG: _WHOLE,
    types.DATE: re.compile(_DAY),
    types.TIMESTAMP: re.compile(rf"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?"),
}
_INTS = range(-(2**31), 2**31)
_LONGS = range(-(2**63), 2**63)


def folder_values(folders: Iterable[str]) -> dict[str, str | None]:
    """(name) -> the text that folders of these names say, None for null; `Invalid` if two say different things."""
    found: dict[str, str | None] = {}
    for folder in folders:
        name, equals, text = (unquote(part) for part in folder.partition("="))
        if not (name and equals):
            continue
        value = None if text == NULL else text
        if found.setdefault(name, value) != value:
            raise Invalid(f"two folders of the path say {name}", found=f"{found[name]!r} and {value!r}")
    return found


def inferred_type(texts: Iterable[str | None]) -> Type:
    """The type of a column that only folders say: int, long, date or timestamp if all texts are, else string.

    As in Spark, `month=01` is a number. A longer text that begins with 0, as a zip code may, stays text.
    """
    given = [text for text in texts if text is not None]
    if not given or any(_LEADING_ZERO.fullmatch(text) for text in given):
        return types.STRING
    for type, form in _INFERRED.items():
        if all(form.fullmatch(text) and _READERS[type](text) is not None for text in given):
            return type
    return types.STRING


def column_values(texts: dict[str, str | None], fields: Fields) -> dict[Field, Value | None]:
    """The columns among these fields that folders say the value of; other folders are only folders.

    A name is a column's own, in any case, or the one that the table's files use.
    """
    found: dict[Field, Value | None] = {}
    for name, text in texts.items():
        field = _named(folded_column(name), fields)
        if field is not None:
            found[field] = None if text is None else value_of(field, text)
    return found


def value_of(field: Field, text: str) -> Value:
    """The plain value that a folder's text means in a column; `Invalid` if it does not mean one."""
    read = _decimal(field.type) if isinstance(field.type, Decimal) else _READERS.get(field.type)
    value = None if read is None else read(text)
    if value is None:
        raise Invalid(f"the path says {text!r}", subject=field.name, expected=str(field.type))
    found: Value = value
    return found


def _named(name: str, fields: Fields) -> Field | None:
    by_name = (field for field in fields if folded_column(field.name) == name)
    by_physical_name = (field for field in fields if folded_column(field.physical_name) == name)
    return next(by_name, None) or next(by_physical_name, None)


def _whole(allowed: range) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        number = parse_whole(text)
        return number if number is not None and number in allowed else None

    return read


def _double(text: str) -> float | None:
    number = plain_number(text)
    return None if number is None else float(number)


def _float(text: str) -> float | None:
    number = _double(text)
    try:
        return None if number is None else float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return None


def _decimal(type: Decimal) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        number = parse_decimal(text)
        try:
            digits = None if number is None else unscaled(number, type.scale)
        except Invalid:
            return None
        return scaled(digits, type.scale) if digits is not None and abs(digits) < 10**type.precision else None

    return read


def _date(text: str) -> int | None:
    days = parse_date(text)
    return days if days is not None and day_text(days) == text else None


def _local(text: str) -> int | None:
    moment = parse_timestamp(text)
    return None if moment is None or moment.local != moment.instant else moment.local


def _instant(text: str) -> int | None:
    moment = parse_timestamp(text)
    return None if moment is None else moment.instant


def _uuid(text: str) -> bytes | None:
    try:
        return UUID(text).bytes
    except ValueError:
        return None


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None


_READERS: dict[Type, Callable[[str], Any]] = {
    types.BOOLEAN: parse_boolean,
    types.INT: _whole(_INTS),
    types.LONG: _whole(_LONGS),
    types.FLOAT: _float,
    types.DOUBLE: _double,
    types.DATE: _date,
    types.TIMESTAMP: _local,
    types.TIMESTAMPTZ: _instant,
    types.STRING: str,
    types.UUID: _uuid,
    types.BINARY: _bytes,
}
