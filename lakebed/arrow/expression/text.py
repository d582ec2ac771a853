"""Functions of text, by code points, as in Spark."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute

from lakebed.table.expression.expression import Function
from lakebed.table.filter.like import Pattern

_TRIMS = {Function.TRIM: compute.utf8_trim, Function.LTRIM: compute.utf8_ltrim, Function.RTRIM: compute.utf8_rtrim}


def by_value(column: pyarrow.Array, change: Callable[[Any], Any], type: pyarrow.DataType) -> pyarrow.Array:
    """A column with a Python function applied once to each distinct value; nulls stay."""
    coded = column.dictionary_encode()
    changed = [None if value is None else change(value) for value in coded.dictionary.to_pylist()]
    return pyarrow.array(changed, type).take(coded.indices)


def concatenate(values: Sequence[pyarrow.Array]) -> pyarrow.Array:
    """The texts, or the bytes, one after the other."""
    empty = pyarrow.scalar("" if pyarrow.types.is_string(values[0].type) else b"", values[0].type)
    return compute.binary_join_element_wise(*values, empty, null_handling="emit_null")


def upper(text: pyarrow.Array) -> pyarrow.Array:
    """In upper case. Arrow's own function can't turn a letter into two: ß is SS."""
    return compute.ascii_upper(text) if _is_ascii(text) else by_value(text, str.upper, text.type)


def lower(text: pyarrow.Array) -> pyarrow.Array:
    """In lower case, with the final sigma at the end of a word."""
    return compute.ascii_lower(text) if _is_ascii(text) else by_value(text, str.lower, text.type)


def _is_ascii(text: pyarrow.Array) -> bool:
    return compute.all(compute.string_is_ascii(text), min_count=0).as_py() is not False


def trimmed(function: Function, text: pyarrow.Array) -> pyarrow.Array:
    """Without spaces at both ends, or at one; other whitespace stays."""
    return _TRIMS[function](text, characters=" ")


def length(value: pyarrow.Array) -> pyarrow.Array:
    """The characters of texts, the bytes of bytes."""
    counted = compute.utf8_length if pyarrow.types.is_string(value.type) else compute.binary_length
    return counted(value).cast(pyarrow.int32())


def substring(text: pyarrow.Array, start: pyarrow.Array, size: pyarrow.Array) -> pyarrow.Array:
    """Substrings, counted from 1 or, if negative, from the end; beyond the text they are empty."""
    first, count = _only(start), _only(size)
    if first is not None and count is not None and first >= 0:
        begin = max(first - 1, 0)
        return compute.utf8_slice_codeunits(text, begin, max(begin, begin + count))
    parts = zip(text.to_pylist(), start.to_pylist(), size.to_pylist(), strict=True)
    return pyarrow.array([None if None in part else _part(*part) for part in parts], text.type)


def _only(numbers: pyarrow.Array) -> int | None:
    """The number that all rows have; None if they differ, or if one is null."""
    extremes = compute.min_max(numbers).as_py()
    return extremes["min"] if extremes["min"] == extremes["max"] and not numbers.null_count else None


def _part(text: str, start: int, size: int) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + size, 0)]


def matches(text: pyarrow.Array, pattern: Pattern) -> pyarrow.Array:
    """Whether texts match a LIKE pattern."""
    if pattern.is_prefix:
        return compute.starts_with(text, pattern.prefix)
    return compute.match_like(text, pattern.text)
