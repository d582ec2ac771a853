"""The columns of rows that are text, and their types, inferred from the first rows of the first files."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.text.columns import LEADING_ZERO
from lakebed.arrow.text.csv import csv_names, csv_sample
from lakebed.arrow.text.json import json_lines
from lakebed.arrow.types import schema_of
from lakebed.catalog.data.foreign import CSV, BadRow, TextForm
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    Field,
    List,
    Struct,
    Type,
)

SAMPLE_BYTES: Final = 16 << 20
SAMPLE_FILES: Final = 10

_MICROSECONDS: dict[Type, Type] = {TIMESTAMP_NS: TIMESTAMP, TIMESTAMPTZ_NS: TIMESTAMPTZ}
_TEXTS = {STRING, DATE, TIMESTAMP, TIMESTAMPTZ}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(rf"{_DAY.pattern}[ T]\d\d:\d\d(:\d\d(\.\d{{1,6}})?)?")
_INSTANT = re.compile(rf"{_MOMENT.pattern}(Z|[+-]\d\d(:?\d\d)?)")


def sampled_fields(files: Files, paths: Sequence[str], form: TextForm, known: Mapping[str, Type]) -> list[Field]:
    """The columns of files, without the types that are `known` by folded name; `Invalid` for a file without columns.

    The names of all files of CSV are read; those of lines of JSON are those of the sample.
    """
    columns: dict[str, Field] = {}
    for number, path in enumerate(paths):
        if form.format == CSV:
            own = _csv_fields(files, path, form, known, number < SAMPLE_FILES)
        elif number < SAMPLE_FILES:
            own = list(_json_fields(files, path, form))
        else:
            continue
        for field in own:
            key = folded_column(field.name)
            if key not in form.without:
                typed = replace(field, type=known.get(key, field.type))
                columns[key] = (_as_text if form.format == CSV else _joined)(columns.get(key), typed)
    return [replace(field, type=_settled(field.type)) for field in columns.values()]


_UNKNOWN: Final[Type] = List(STRING, element_id=-1)
"""The type of a column without a value in the sample."""


def _as_text(before: Field | None, field: Field) -> Field:
    """A column of two files of CSV: what no type has is text."""
    if before is None or before.type == _UNKNOWN:
        return field
    return replace(before, type=_wider(before.type, field.type) or STRING)


def _joined(before: Field | None, field: Field) -> Field:
    """A column of two files; where no type has the values of both, it keeps the first."""
    if before is None or before.type == _UNKNOWN:
        return field
    return replace(before, type=_wider(before.type, field.type) or before.type)


def _wider(first: Type, second: Type) -> Type | None:
    """A type for the values of both: a number for numbers, text for what is text, fields of both structs."""
    if second == _UNKNOWN or first == second:
        return first
    if first == _UNKNOWN:
        return second
    if {first, second} == {LONG, DOUBLE}:
        return DOUBLE
    if first in _TEXTS and second in _TEXTS:
        return STRING
    if isinstance(first, Struct) and isinstance(second, Struct):
        fields = {field.name: field for field in first.fields}
        for field in second.fields:
            fields[field.name] = _joined(fields.get(field.name), field)
        return Struct(tuple(fields.values()))
    if isinstance(first, List) and isinstance(second, List):
        return List(_wider(first.element, second.element) or first.element)
    return None


def _settled(type: Type) -> Type:
    """The type, with text wherever the sample has no value."""
    if type == _UNKNOWN:
        return STRING
    if isinstance(type, Struct):
        return Struct(tuple(replace(field, type=_settled(field.type)) for field in type.fields))
    return List(_settled(type.element)) if isinstance(type, List) else type


# CSV


def _csv_fields(files: Files, path: str, form: TextForm, known: Mapping[str, Type], looks: bool) -> list[Field]:
    names = csv_names(files, path, form)
    if not looks or all(folded_column(name) in known for name in names):
        return [Field(name, _UNKNOWN) for name in names]
    rows = csv_sample(files, path, form, SAMPLE_BYTES)
    whole = [name for name, column in zip(names, rows.columns, strict=True) if pyarrow.types.is_integer(column.type)]
    texts = csv_sample(files, path, form, SAMPLE_BYTES, dict.fromkeys(whole, pyarrow.string())) if whole else None
    zeros = {name for name in whole if texts is not None and _any_match(texts.column(name), LEADING_ZERO)}
    return [Field(name, STRING if name in zeros else _csv_type(rows.schema.field(name))) for name in names]


def _csv_type(column: pyarrow.Field) -> Type:
    if pyarrow.types.is_null(column.type):
        return _UNKNOWN
    type = schema_of(pyarrow.schema([column])).fields[0].type
    return STRING if type == BINARY else _MICROSECONDS.get(type, type)


def _any_match(texts: pyarrow.ChunkedArray, pattern: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())


# JSON


def _json_fields(files: Files, path: str, form: TextForm) -> Iterator[Field]:
    names: dict[str, str] = {}
    types: dict[str, Counter[Type]] = {}
    size, first = 0, list[BadRow]()
    for lines, bad in json_lines(files, path, form):
        first += bad[:1]
        for _, text, values in lines:
            size += len(text)
            for key, value in values.items():
                name = folded_column(key)
                if name not in form.without:
                    names.setdefault(name, key)
                    types.setdefault(name, Counter())[_json_type(value)] += 1
        if size >= SAMPLE_BYTES:
            break
    if first and not size:
        problem = f"line {first[0].row}: {first[0].reason}"
        raise Invalid("the file can't be read as lines of JSON", subject=path, found=problem)
    yield from (Field(key, _most_common(types[name])) for name, key in names.items())


def _most_common(counts: Counter[Type]) -> Type:
    """The type of most values, as wide as others need it; a line with a value of another type can't be read."""
    found: Type = _UNKNOWN
    for type, _ in counts.most_common():
        found = _wider(found, type) or found
    return found


def _json_type(value: Any) -> Type:
    match value:
        case None:
            return _UNKNOWN
        case bool():
            return BOOLEAN
        case int():
            return LONG
        case float():
            return DOUBLE
        case str():
            return _text_type(value)
        case list():
            return List(_element_type(value))
        case dict() if value:
            return Struct(tuple(Field(key, _json_type(one)) for key, one in value.items()))
    return _UNKNOWN


def _element_type(values: Sequence[Any]) -> Type:
    found: Type = _UNKNOWN
    for value in values:
        found = _wider(found, _json_type(value)) or found
    return found


def _text_type(text: str) -> Type:
    for pattern, type in ((_DAY, DATE), (_MOMENT, TIMESTAMP), (_INSTANT, TIMESTAMPTZ)):
        if pattern.fullmatch(text):
            return type
    return STRING
