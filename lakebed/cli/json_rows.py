"""Lines of JSON as Arrow, with the zones of times and the digits of numbers."""

from collections.abc import Sequence
from typing import Any

import pyarrow
import pyarrow.json

from lakebed.cli.column_types import ZONED, Types, again, is_instant, is_large, matches

_WHOLE = pyarrow.decimal128(38, 0)


def read_json(source: Any, types: Types) -> pyarrow.Table:
    """Lines of JSON. Arrow infers no zone of a time and no decimal: such columns are read again, as what they are."""
    read = pyarrow.json.read_json(source)
    wanted = {name: type for name, type in types.items() if name in read.column_names}
    known = {name: pyarrow.string() if is_instant(type) else type for name, type in wanted.items() if _is_exact(type)}
    times = [field.name for field in read.schema if pyarrow.types.is_timestamp(field.type) and field.name not in types]
    floats = [name for name in read.column_names if name not in types and is_large(read.column(name))]
    exact = {**known, **_zoned(source, times), **_long_numbers(source, floats)}
    return _read_as(source, exact).select(read.column_names) if exact else read


def _is_exact(type: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_decimal(type) or pyarrow.types.is_timestamp(type))


def _zoned(source: Any, times: Sequence[str]) -> Types:
    """The types of columns whose times have a zone, which Arrow would leave out; if only some have one, text."""
    texts = _read_as(source, dict.fromkeys(times, pyarrow.string())) if times else None
    found = {name: matches(texts, name, ZONED) for name in times}
    instant = pyarrow.timestamp("us", "UTC")
    return {
        name: instant if pyarrow.compute.all(matches).as_py() else pyarrow.string()
        for name, matches in found.items()
        if pyarrow.compute.any(matches).as_py()
    }


def _long_numbers(source: Any, floats: Sequence[str]) -> Types:
    """Columns of whole numbers that floats would round, as decimals; those that have fractions stay floats."""
    return {name: _WHOLE for name in floats if _can_read_as(source, name, _WHOLE)}


def _can_read_as(source: Any, name: str, type: pyarrow.DataType) -> bool:
    try:
        _read_as(source, {name: type})
    except pyarrow.ArrowInvalid:
        return False
    return True


def _read_as(source: Any, types: Types) -> pyarrow.Table:
    parsing = pyarrow.json.ParseOptions(explicit_schema=pyarrow.schema(list(types.items())))
    return pyarrow.json.read_json(again(source), parse_options=parsing)
