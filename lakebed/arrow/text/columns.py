"""Texts as values of columns: cast as SQL's CAST does, and a reason for those that would lose something."""

import datetime
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.casting import Convert, cast_of
from lakebed.arrow.expression.text import by_value
from lakebed.arrow.shape import AS_GIVEN, shaped
from lakebed.arrow.types import UUID_BYTES, arrow_schema
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, STRING, TIME, TIMESTAMP, TIMESTAMP_NS, UUID, Field, Fixed, Type

ZONED: Final = r"[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
"""Times that have a zone: as local times they would lose it."""

LEADING_ZERO: Final = r"^[+-]?0[0-9]"
"""Whole numbers that would lose their zeros, as zip codes and phone numbers."""

_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
_LOCAL = (TIMESTAMP, TIMESTAMP_NS)


def typed_column(
    texts: pyarrow.Array, field: Field, nulls: Sequence[str], *, in_text: bool
) -> tuple[pyarrow.Array, pyarrow.Array | None]:
    """The values that texts mean in a column, and which of them mean none; None if all do.

    `nulls` are texts that mean null; in a column of text only with `in_text`.
    """
    form = arrow_schema(Schema([field])).field(0).type
    if nulls and (in_text or field.type != STRING):
        is_null = compute.is_in(texts, pyarrow.array(nulls, pyarrow.string()))
        texts = compute.if_else(is_null, pyarrow.scalar(None, pyarrow.string()), texts)
    convert = _conversion(field, form)
    if convert is None:
        return texts, None
    given = texts
    if field.type in _LOCAL:
        is_zoned = compute.match_substring_regex(texts, ZONED)
        given = compute.if_else(is_zoned.fill_null(False), pyarrow.scalar(None, pyarrow.string()), texts)
    values = convert(given)
    wrong = compute.and_(texts.is_valid(), values.is_null())
    return values.cast(form), wrong if compute.any(wrong).as_py() else None


def _conversion(field: Field, form: pyarrow.DataType) -> Convert | None:
    """What makes values of texts, null where they mean none; None for a column of text."""
    if field.type == STRING:
        return None
    if field.type == UUID:
        return lambda texts: by_value(texts, _uuid, UUID_BYTES)
    cast = cast_of(pyarrow.field(field.name, pyarrow.string()), field)
    if cast is not None:
        return cast
    parse = _parse(field.type)
    return lambda texts: by_value(texts, parse, form)


def _parse(type: Type) -> Callable[[str], Any]:
    """Reads values that no cast of SQL makes of text; nothing is a value of a type that is nested."""
    if type == TIME:
        return _time
    if type == BINARY:
        return str.encode
    return lambda text: text.encode() if isinstance(type, Fixed) and len(text.encode()) == type.length else None


def _uuid(text: str) -> bytes | None:
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return None


def _time(text: str) -> datetime.time | None:
    try:
        return datetime.time.fromisoformat(text) if _TIME.fullmatch(text) else None
    except ValueError:
        return None


def missing_values(
    fields: Sequence[Field], columns: Mapping[str, pyarrow.Array], rows: int
) -> list[tuple[Field, pyarrow.Array, pyarrow.Array]]:
    """The required columns without a value in some rows, with nulls for the texts, and which rows these are."""
    found = []
    for field in fields:
        column = columns.get(field.name)
        if not field.required or (column is None and field.write_default is not None):
            continue
        is_null = pyarrow.repeat(True, rows) if column is None else column.is_null()
        if compute.any(is_null).as_py():
            found.append((field, pyarrow.nulls(rows, pyarrow.string()), is_null))
    return found


def in_columns(columns: Mapping[str, pyarrow.Array], schema: Schema, rows: int) -> pyarrow.RecordBatch:
    """The columns of a table; those that are not there have their default, and required ones may have no value yet."""
    form = arrow_schema(optional(schema))
    fields = optional(schema).fields
    made = shaped(list(columns.values()), list(columns), fields, form, AS_GIVEN, rows)
    return pyarrow.RecordBatch.from_arrays(made, schema=form)


def optional(schema: Schema) -> Schema:
    """The columns as rows are read for them: one without a value is found by its row, and not refused with all."""
    return Schema([replace(field, required=False) for field in schema.fields])


def reasons(wrong: Sequence[tuple[Field, pyarrow.Array, pyarrow.Array]], row: int) -> str:
    """Why a row can't be read: for each column whose text means no value of its type, the text."""
    return "; ".join(_reason(field, texts[row].as_py()) for field, texts, is_wrong in wrong if is_wrong[row].as_py())


def _reason(field: Field, text: str | None) -> str:
    if text is None:
        return f"{field.name}: no value, and the table requires one"
    return f"{field.name}: {_shown(text)} is not {_article(field)}"


def any_of(masks: Sequence[pyarrow.Array]) -> pyarrow.Array:
    """Where any of these is true."""
    return reduce(compute.or_, masks)


def _article(field: Field) -> str:
    name = str(field.type)
    return f"{'an' if re.match('[aeiou]', name) else 'a'} {name}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
