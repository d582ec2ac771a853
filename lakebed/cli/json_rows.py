"""Lines of JSON as Arrow, with the zones of times and the digits of numbers."""

import re
from collections.abc import Sequence
from typing import Any

import pyarrow
import pyarrow.json

from lakebed.cli.column_types import ZONED, Types, again, is_instant, is_large, matches
from lakebed.table.types.limits import too_deep

_WHOLE = pyarrow.decimal128(38, 0)
_BLOCK_BYTES = 4 << 20
_MOST_BRACKETS = 1_000
"""In brackets, of a line that Arrow sees. Its columns are checked afterwards, by their names."""

_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"?|([\[{])|([\]}])')


def read_json(source: Any, types: Types) -> pyarrow.Table:
    """Lines of JSON. Arrow infers no zone of a time and no decimal: such columns are read again, as what they are."""
    _check_lines(source)
    read = pyarrow.json.read_json(again(source))
    wanted = {name: type for name, type in types.items() if name in read.column_names}
    known = {name: pyarrow.string() if is_instant(type) else type for name, type in wanted.items() if _is_exact(type)}
    times = [field.name for field in read.schema if pyarrow.types.is_timestamp(field.type) and field.name not in types]
    floats = [name for name in read.column_names if name not in types and is_large(read.column(name))]
    exact = {**known, **_zoned(source, times), **_long_numbers(source, floats)}
    return _read_as(source, exact).select(read.column_names) if exact else read


def _check_lines(source: Any) -> None:
    """Refuse lines that would end the process: Arrow's parser (26) crashes at `null`, and at 20,000 lists in lists."""
    before, left = 0, b""
    opened = source if hasattr(source, "read") else pyarrow.input_stream(source, compression="detect")
    while block := opened.read(_BLOCK_BYTES):
        *whole, left = (left + block).split(b"\n")
        for number, line in enumerate(whole, before + 1):
            _check_line(number, line)
        before += len(whole)
    _check_line(before + 1, left)


def _check_line(number: int, line: bytes) -> None:
    if line.lstrip().startswith(b"null"):
        raise pyarrow.ArrowInvalid(f"JSON parse error: line {number:,} is null")
    if line.count(b"{") + line.count(b"[") <= _MOST_BRACKETS:
        return
    depth = deepest = 0
    for match in _BRACKETS.finditer(line):
        depth += (match[1] is not None) - (match[2] is not None)
        deepest = max(deepest, depth)
    if deepest > _MOST_BRACKETS:
        raise too_deep(f"line {number:,}", deepest - 1)  # the outermost is the row


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
