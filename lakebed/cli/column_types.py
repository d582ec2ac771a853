"""The types of columns that are loaded: those that a table or the caller wants, and those that values show."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pyarrow
import pyarrow.compute

from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema

Types = Mapping[str, pyarrow.DataType]

ZONED = r"[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
_DATE = r"^\d+-\d\d-\d\d$"
_EXACT = 2**53
"""Whole numbers from here on are not all floats."""


def types_of(schema: Schema) -> dict[str, pyarrow.DataType]:
    """The types of a table's columns, for rows that have none of their own."""
    return {field.name: field.type for field in arrow_schema(schema)}


def with_types(rows: Any, types: Types) -> Any:
    """The rows, with the types that were asked for."""
    names = rows.schema.names
    if unknown := [name for name in types if name not in names]:
        expected = f"one of {', '.join(names)}"
        raise Invalid("the rows have no such column", subject=repr(unknown[0]), expected=expected)
    fields = [field.with_type(types.get(field.name, field.type)) for field in rows.schema]
    if fields == list(rows.schema):
        return rows
    if not isinstance(rows, pyarrow.Table):
        raise Invalid("Parquet files have types of their own", advice="Leave --column out.")
    try:
        return rows.cast(pyarrow.schema(fields))
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise Invalid("the values do not have the type of --column", found=str(error).splitlines()[0]) from error


def typed(table: pyarrow.Table, types: Types) -> pyarrow.Table:
    """The rows, with columns that have no value at all as texts, and lists that are always empty as lists of texts."""
    full = table.cast(pyarrow.schema([field.with_type(_known_type(field.type)) for field in table.schema]))
    for place, field in enumerate(full.schema):
        wanted = types.get(field.name)
        if wanted is not None and is_read_as_text(wanted) and pyarrow.types.is_string(field.type):
            convert = _uuids if _is_uuid(wanted) else _instants
            full = full.set_column(place, field.name, convert(field.name, full.column(place), wanted))
    return full


def _known_type(type: pyarrow.DataType) -> pyarrow.DataType:
    if pyarrow.types.is_null(type):
        return pyarrow.string()
    if pyarrow.types.is_list(type):
        return pyarrow.list_(type.value_field.with_type(_known_type(type.value_type)))
    if pyarrow.types.is_struct(type):
        return pyarrow.struct([field.with_type(_known_type(field.type)) for field in type])
    return type


def is_read_as_text(type: pyarrow.DataType) -> bool:
    """Whether texts are converted here: Arrow converts none to uuids, and none without a zone to instants."""
    return _is_uuid(type) or is_instant(type)


def is_instant(type: pyarrow.DataType) -> bool:
    """Whether this is a time with a zone."""
    return bool(pyarrow.types.is_timestamp(type) and type.tz is not None)


def _is_uuid(type: pyarrow.DataType) -> bool:
    return bool(type == pyarrow.uuid())


def _instants(name: str, texts: Any, type: pyarrow.DataType) -> Any:
    """Times of texts; one without a zone is UTC."""
    ends = pyarrow.compute.if_else(pyarrow.compute.match_substring_regex(texts, _DATE), "T00:00:00Z", "Z")
    is_zoned = pyarrow.compute.match_substring_regex(texts, ZONED)
    in_utc = pyarrow.compute.binary_join_element_wise(texts, ends, "")
    complete = pyarrow.compute.if_else(is_zoned, texts, in_utc)
    try:
        return complete.cast(type)
    except pyarrow.ArrowInvalid:
        found = next(text for text, value in zip(texts.to_pylist(), complete, strict=True) if not _fits(value, type))
        expected = "ISO 8601, such as 2026-11-01T10:00:00Z"
        raise Invalid("this is not a time", subject=name, expected=expected, found=repr(found)) from None


def _fits(value: pyarrow.Scalar, type: pyarrow.DataType) -> bool:
    try:
        value.cast(type)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _uuids(name: str, texts: Any, type: pyarrow.DataType) -> pyarrow.ExtensionArray:
    values = texts.to_pylist()
    stored = pyarrow.array([None if text is None else _uuid(name, text) for text in values], pyarrow.binary(16))
    return pyarrow.ExtensionArray.from_storage(type, stored)


def _uuid(name: str, text: str) -> bytes:
    try:
        return UUID(text).bytes
    except ValueError:
        advice = "Correct it, or load the column as text: --column NAME:string."
        raise Invalid("this is not a uuid", subject=name, found=repr(text), advice=advice) from None


def is_large(column: Any) -> bool:
    """Whether a column of floats has a value that may have been a whole number, which it can't be exactly."""
    if not pyarrow.types.is_floating(column.type):
        return False
    sizes = pyarrow.compute.abs(column)
    return bool(pyarrow.compute.any(pyarrow.compute.greater_equal(sizes, float(_EXACT))).as_py())


def has_match(texts: Any, name: str, pattern: str) -> bool:
    """Whether a text of a column matches."""
    return bool(pyarrow.compute.any(matches(texts, name, pattern)).as_py())


def matches(texts: Any, name: str, pattern: str) -> Any:
    """For each text of a column whether it matches; null for null."""
    return pyarrow.compute.match_substring_regex(texts.column(name), pattern)


def again(source: Any) -> Any:
    """A source that is read from its beginning: a path, or bytes."""
    if hasattr(source, "seek"):
        source.seek(0)
    return source
