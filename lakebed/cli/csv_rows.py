"""CSV as Arrow: columns by their values, and nothing of a value lost."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow
import pyarrow.csv

from lakebed.cli.column_types import Types, again, has_match, is_large, is_read_as_text

_ZEROS = r"^[+-]?0[0-9]"
_LONG_NUMBER = r"^[+-]?[0-9]{16,}$"

SEPARATORS = ";\t|"
"""What separates fields instead of commas, and is rarely a part of a name."""


def read_csv(source: Any, delimiter: str | None, types: Types, otherwise: str = ",") -> pyarrow.Table:
    """The rows of a CSV: types by its values, unless they are given; texts that are empty and not in quotes are null.

    `otherwise` separates the fields unless a delimiter is given.
    """
    read = _read(source, delimiter or otherwise, types)
    _check_separated(read, delimiter)
    return _with_nulls(source, delimiter or otherwise, read)


def _read(source: Any, delimiter: str, types: Types) -> pyarrow.Table:
    known = {name: pyarrow.string() if is_read_as_text(type) else type for name, type in types.items()}
    convert = pyarrow.csv.ConvertOptions(column_types=known, timestamp_parsers=[pyarrow.csv.ISO8601])
    read = pyarrow.csv.read_csv(again(source), parse_options=_parsing(delimiter), convert_options=convert)
    _check_names(read)
    other = [field.name for field in read.schema if pyarrow.types.is_binary(field.type) and field.name not in types]
    if other:
        raise pyarrow.ArrowInvalid(f"not UTF-8: {', '.join(map(repr, other))}")
    inexact = _inexact(source, delimiter, read.select([name for name in read.column_names if name not in types]))
    return _read(source, delimiter, {**types, **dict.fromkeys(inexact, pyarrow.string())}) if inexact else read


def _check_names(read: pyarrow.Table) -> None:
    twice = [name for name, count in Counter(read.column_names).items() if count > 1]
    if twice:
        raise pyarrow.ArrowInvalid(f"a column comes twice: {', '.join(map(repr, twice))}")
    if "" in read.column_names:
        raise pyarrow.ArrowInvalid("a column has no name")


def _check_separated(read: pyarrow.Table, delimiter: str | None) -> None:
    """Refuse a single column whose name has what other files separate fields by, unless somebody said so."""
    [name, *others] = read.column_names or [""]
    if delimiter is None and not others and (found := set(name) & set(SEPARATORS)):
        raise pyarrow.ArrowInvalid(f"one column, and {', '.join(map(repr, sorted(found)))} in its name")


def _with_nulls(source: Any, delimiter: str, read: pyarrow.Table) -> pyarrow.Table:
    """The rows, with nulls for texts that are empty and not in quotes, as PostgreSQL has it and `export` writes it."""
    empty = [field.name for field in read.schema if _has_empty_texts(read.column(field.name))]
    if not empty:
        return read
    nulls = {"strings_can_be_null": True, "quoted_strings_can_be_null": False, "null_values": [""]}
    found = _texts(source, delimiter, empty, **nulls)
    for name in empty:
        read = read.set_column(read.schema.get_field_index(name), name, found.column(name))
    return read


def _has_empty_texts(column: Any) -> bool:
    """Whether texts are empty; a column without a type has nothing else, unless it has words such as NA."""
    if not pyarrow.types.is_string(column.type):
        return bool(pyarrow.types.is_null(column.type))
    return bool(pyarrow.compute.any(pyarrow.compute.equal(column, "")).as_py())


def _inexact(source: Any, delimiter: str, read: pyarrow.Table) -> list[str]:
    """Columns of whole numbers with leading zeros, as zip codes have, or more digits than a float: they are texts."""
    patterns = {field.name: _ZEROS for field in read.schema if pyarrow.types.is_integer(field.type)}
    patterns |= {name: _LONG_NUMBER for name in read.column_names if is_large(read.column(name))}
    if not patterns:
        return []
    texts = _texts(source, delimiter, list(patterns))
    return [name for name, pattern in patterns.items() if has_match(texts, name, pattern)]


def _texts(source: Any, delimiter: str, names: Sequence[str], **options: Any) -> pyarrow.Table:
    """Columns as texts."""
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()), include_columns=list(names), **options
    )
    return pyarrow.csv.read_csv(again(source), parse_options=_parsing(delimiter), convert_options=convert)


def _parsing(delimiter: str) -> pyarrow.csv.ParseOptions:
    return pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
