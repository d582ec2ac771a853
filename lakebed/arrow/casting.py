"""A caller's columns, cast to a table's where no value is lost: whole numbers always, all else by choice.

pandas has no nulls in a column of whole numbers, and shows such a column as floats; its whole numbers have 64 bits, as
Python's have in Arrow. As in SQL's assignments, values that fit are taken, and others are refused.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.casts import try_cast
from lakebed.arrow.expression.compare import equal
from lakebed.arrow.expression.evaluate import for_kernels
from lakebed.arrow.expression.text import by_value
from lakebed.arrow.shape import AS_GIVEN, misfits
from lakebed.arrow.types import UUID_BYTES, arrow_schema, decoded, kernel_type, schema_of, shown_value
from lakebed.errors import Invalid
from lakebed.table.expression.types import FLOATING, WHOLE, can_cast
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.casts import dropped_pattern, is_kept
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import FLOAT, STRING, UUID, Field, Simple, Type

EXACT: Final = float(2**53)
"""Above this, a float may have been another whole number before it became a float."""

_WIDER: Final = frozenset((pyarrow.int64(), pyarrow.uint32(), pyarrow.uint64()))

Convert = Callable[[pyarrow.Array], pyarrow.Array]
"""The values as another type; null also where a value would be lost."""


def with_whole_numbers(reader: pyarrow.RecordBatchReader, schema: Schema) -> pyarrow.RecordBatchReader:
    """The rows; floats and whole numbers are the table's whole numbers. `Invalid` for a value that is not one."""
    return _converted(reader, schema, _whole_conversion)


def cast_rows(reader: pyarrow.RecordBatchReader, schema: Schema) -> pyarrow.RecordBatchReader:
    """The rows with columns of the table's types, as SQL's CAST has it; `Invalid` for a value that would be lost.

    Columns that fit, or that no cast leads from, are left as they are, and so are lists, maps and structs.
    """
    return _converted(reader, schema, cast_of)


def a_cast_helps(columns: pyarrow.Schema, schema: Schema) -> bool:
    """Whether `cast_rows` would convert one of the columns."""
    wanted = {folded_column(field.name): field for field in schema.fields}
    both = ((column, wanted.get(folded_column(column.name))) for column in columns)
    return any(field is not None and cast_of(column, field) is not None for column, field in both)


def _converted(
    reader: pyarrow.RecordBatchReader, schema: Schema, conversion: Callable[[pyarrow.Field, Field], Convert | None]
) -> pyarrow.RecordBatchReader:
    wanted = {folded_column(field.name): field for field in schema.fields}
    found: dict[int, tuple[Field, Convert]] = {}
    for place, column in enumerate(reader.schema):
        field = wanted.get(folded_column(column.name))
        convert = None if field is None else conversion(column, field)
        if field is not None and convert is not None:
            found[place] = field, convert
    if not found:
        return reader
    form = reader.schema
    for place, (field, _) in found.items():
        form = form.set(
            place, arrow_schema(Schema([field])).field(0).with_name(form.field(place).name).with_nullable(True)
        )
    return pyarrow.RecordBatchReader.from_batches(form, _batches(reader, found, form))


def _batches(
    reader: pyarrow.RecordBatchReader, conversions: Mapping[int, tuple[Field, Convert]], form: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    before = 0
    for batch in reader:
        columns = batch.columns
        for place, (field, convert) in conversions.items():
            values = convert(columns[place])
            _check_none_lost(columns[place], values, field, before)
            columns[place] = values.cast(form.field(place).type)
        before += batch.num_rows
        yield pyarrow.RecordBatch.from_arrays(columns, schema=form)


def _check_none_lost(given: pyarrow.Array, values: pyarrow.Array, field: Field, before: int) -> None:
    if values.null_count == given.null_count:
        return
    place = compute.index(compute.and_(values.is_null(), given.is_valid()), True).as_py()
    raise Invalid(
        "a value does not fit the column",
        subject=f"column {field.name!r}",
        expected=str(field.type),
        found=f"{shown_value(given[place])} in row {before + place}, counted from 0",
        advice="Round, fix or leave out such values: nothing is lost silently.",
    )


def _whole_conversion(column: pyarrow.Field, field: Field) -> Convert | None:
    if field.type not in WHOLE:
        return None
    if pyarrow.types.is_floating(column.type):
        return lambda values: _whole(values, field.type)
    if column.type in _WIDER and any(misfits([column.with_name(field.name)], [field], AS_GIVEN)):
        return lambda values: _narrowed(values, kernel_type(field.type))
    return None


def _whole(values: pyarrow.Array, type: Type) -> pyarrow.Array:
    doubles = values.cast(pyarrow.float64())
    is_whole = compute.and_(
        compute.equal(compute.trunc(doubles), doubles), compute.less_equal(compute.abs(doubles), EXACT)
    )
    whole = compute.if_else(is_whole, doubles, pyarrow.scalar(None, doubles.type))
    return try_cast(whole, FLOATING[1], type, kernel_type(type))


def _narrowed(values: pyarrow.Array, wanted: pyarrow.DataType) -> pyarrow.Array:
    """The values in fewer bits, null where there are too few."""
    cut = values.cast(wanted, safe=False)
    is_same = compute.equal(cut.cast(values.type, safe=False), values)
    if pyarrow.types.is_unsigned_integer(values.type):  # one that became negative has the same bits
        is_same = compute.and_(is_same, compute.greater_equal(cut, 0))
    return compute.if_else(is_same, cut, pyarrow.scalar(None, wanted))


def cast_of(column: pyarrow.Field, field: Field) -> Convert | None:
    """What casts the values of a column to those of a table's, null where one would be lost; None if nothing has to."""
    if not any(misfits([column.with_name(field.name)], [field], AS_GIVEN)) or not isinstance(field.type, Simple):
        return None
    try:
        found = schema_of(pyarrow.schema([column])).fields[0].type
    except Invalid:
        return None  # a type that no table has: the rows will be refused for it
    if (found, field.type) in _OF_UUIDS:
        return _OF_UUIDS[found, field.type]
    if not can_cast(found, field.type):
        return None
    return lambda values: _cast(values, found, field.type)


def _uuids(texts: pyarrow.Array) -> pyarrow.Array:
    return by_value(decoded(texts).cast(pyarrow.string()), _uuid_bytes, UUID_BYTES).cast(pyarrow.uuid())


def _uuid_bytes(text: str) -> bytes | None:
    try:
        return uuid.UUID(text.strip()).bytes
    except ValueError:
        return None


def _uuid_texts(uuids: pyarrow.Array) -> pyarrow.Array:
    return by_value(decoded(uuids).cast(UUID_BYTES), lambda value: str(uuid.UUID(bytes=value)), pyarrow.string())


_OF_UUIDS: Mapping[tuple[Type, Type], Convert] = {(STRING, UUID): _uuids, (UUID, STRING): _uuid_texts}
"""Casts that SQL does not have, since Spark has no such type: a UUID comes as text from JSON, and from DuckDB."""


def _cast(values: pyarrow.Array, found: Type, wanted: Type) -> pyarrow.Array:
    given = for_kernels(decoded(values), found)
    result = try_cast(given, found, wanted, kernel_type(wanted))
    if wanted == STRING:
        return result
    if found == STRING:
        is_same = _are_kept(given, result, wanted)
    elif wanted == FLOAT:  # the nearest float is meant; only what is out of range is lost
        is_same = compute.or_(compute.is_finite(result), compute.invert(compute.is_finite(given)))
    else:
        is_same = equal(try_cast(result, wanted, found, given.type), given)
    return compute.if_else(is_same.fill_null(False), result, pyarrow.scalar(None, result.type))


def _are_kept(texts: pyarrow.Array, values: pyarrow.Array, wanted: Type) -> pyarrow.Array:
    """Whether texts say no more than the values that they were cast to; a number out of range became infinity."""
    if wanted in FLOATING:
        return compute.or_(compute.is_finite(values), compute.match_substring_regex(texts, "(?i)inf|nan"))
    if dropped_pattern(wanted) is None:
        return texts.is_valid()
    return by_value(texts, lambda text: is_kept(text, wanted), pyarrow.bool_())
