"""Bringing Arrow columns to a schema: names inside structs, order, and types that hold the same values.

The same steps lead from a caller's rows to a file's, and from a file's rows to a scan's. Only the names by which fields
are found differ, and the values of missing fields: that is a `Naming`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute

from lakebed.arrow.types import PRIMITIVES, decoded, is_decimal, is_list, is_uuid, kernel_type
from lakebed.errors import Invalid
from lakebed.table.types.names import folded_column
from lakebed.table.types.times import TIMES_OF_DAY
from lakebed.table.types.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Struct,
    Type,
)

_WIDER = {(INT, LONG), (FLOAT, DOUBLE)}


@dataclass(frozen=True, slots=True)
class Naming:
    """How a field is found among given names, by equal keys, and its value if it is missing."""

    key: Callable[[str], str]
    key_of: Callable[[Field], str]
    default_of: Callable[[Field], Any]


AS_GIVEN = Naming(folded_column, lambda field: folded_column(field.name), lambda field: field.write_default)
AS_STORED = Naming(str, lambda field: field.physical_name, lambda field: field.initial_default)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A column that does not fit the schema; `expected` or `found` is None if there is no such column."""

    path: str
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.path}: {self.found}, which the table does not have"
        return f"{self.path}: {self.expected} expected, {self.found or 'no such column'} found"


def misfits(
    found: Iterable[pyarrow.Field], fields: Sequence[Field], naming: Naming, path: str = ""
) -> Iterator[Misfit]:
    """Why columns with these names and types can't be brought to the fields."""
    wanted = {naming.key_of(field): field for field in fields}
    seen: set[str] = set()
    for column in found:
        key = naming.key(column.name)
        field = wanted.get(key)
        if field is None or key in seen:
            yield Misfit(f"{path}{column.name}", None, f"{column.type}{' once more' if key in seen else ''}")
        else:
            yield from _type_misfits(column.type, field.type, naming, f"{path}{field.name}")
        seen.add(key)
    for key, field in wanted.items():
        if field.required and key not in seen and naming.default_of(field) is None:
            yield Misfit(f"{path}{field.name}", f"{field.type} not null", None)


def _type_misfits(found: pyarrow.DataType, type: Type, naming: Naming, path: str) -> Iterator[Misfit]:
    if pyarrow.types.is_dictionary(found):
        found = found.value_type
    if pyarrow.types.is_null(found):
        return  # `shaped` refuses nulls in required columns
    match type:
        case Struct(fields) if pyarrow.types.is_struct(found):
            yield from misfits(found, fields, naming, f"{path}.")
        case List() if is_list(found):
            yield from _type_misfits(found.value_type, type.element, naming, f"{path}.element")
        case Map() if pyarrow.types.is_map(found):
            yield from _type_misfits(found.key_type, type.key, naming, f"{path}.key")
            yield from _type_misfits(found.item_type, type.value, naming, f"{path}.value")
        case _ if not _holds(type, found):
            yield Misfit(path, str(type), str(found))


def _holds(type: Type, found: pyarrow.DataType) -> bool:
    """Whether our type can take an Arrow type; values that don't fit, such as finer times, are found by the cast."""
    if isinstance(type, Decimal):
        whole_digits = type.precision - type.scale
        return is_decimal(found) and 0 <= found.scale <= type.scale and found.precision - found.scale <= whole_digits
    if pyarrow.types.is_timestamp(found):
        return type in ((TIMESTAMP, TIMESTAMP_NS) if found.tz is None else (TIMESTAMPTZ, TIMESTAMPTZ_NS))
    if pyarrow.types.is_time(found):
        return type == TIME
    if is_uuid(found):
        return type == UUID
    if pyarrow.types.is_fixed_size_binary(found):
        return type == BINARY or found == kernel_type(type)
    known = PRIMITIVES.get(found.id)
    if known == BINARY and (type == UUID or isinstance(type, Fixed)):
        return True  # the cast finds values of another length
    return known is not None and (known == type or (known, type) in _WIDER)


def shaped(
    columns: Sequence[pyarrow.Array],
    names: Iterable[str],
    fields: Sequence[Field],
    target: Iterable[pyarrow.Field],
    naming: Naming,
    rows: int,
    *,
    path: str = "",
    nulls: int = 0,
) -> list[pyarrow.Array]:
    """Columns without misfits, brought to the fields, whose form in Arrow is `target`.

    `nulls` is how many of the rows, which may be structs, are null themselves; every column is null there. `Invalid`
    for a null in a required column, and for a value that would be lost.
    """
    found = {naming.key(name): column for name, column in zip(names, columns, strict=True)}
    return [
        _column(found.get(naming.key_of(field)), field, form.type, naming, rows, f"{path}{field.name}", nulls)
        for field, form in zip(fields, target, strict=True)
    ]


def _column(
    column: pyarrow.Array | None, field: Field, form: pyarrow.DataType, naming: Naming, rows: int, path: str, nulls: int
) -> pyarrow.Array:
    if column is None:
        default = naming.default_of(field)
        # A scalar can't have a type with UUIDs inside (pyarrow 26), not even a null.
        return pyarrow.nulls(rows, form) if default is None else pyarrow.repeat(pyarrow.scalar(default, form), rows)
    values = _converted(column, field.type, form, naming, path)
    if field.required and values.null_count:
        if values.null_count > nulls:
            raise _null(path)
        return _without_nulls(values)
    return values


def _converted(column: pyarrow.Array, type: Type, form: pyarrow.DataType, naming: Naming, path: str) -> pyarrow.Array:
    column = decoded(column)
    if pyarrow.types.is_null(column.type):
        return pyarrow.nulls(len(column), form)
    match type:
        case Struct(fields):
            return _struct(column, fields, form, naming, path)
        case List():
            return _list(column, type, form, naming, path)
        case Map():
            return _map(column, type, form, naming, path)
        case _:
            values = column if column.type == form else _cast(column, form, path)
            if type == TIME:
                _check_times(values, path)
            return values


def _struct(
    column: pyarrow.Array, fields: Sequence[Field], form: pyarrow.DataType, naming: Naming, path: str
) -> pyarrow.Array:
    names, rows, nulls = [field.name for field in column.type], len(column), column.null_count
    # Flattened, a struct's columns are null wherever it is.
    columns = shaped(column.flatten(), names, fields, form, naming, rows, path=f"{path}.", nulls=nulls)
    return pyarrow.StructArray.from_arrays(columns, fields=list(form), mask=column.is_null())


def _list(column: pyarrow.Array, type: List, form: pyarrow.DataType, naming: Naming, path: str) -> pyarrow.Array:
    offsets, mask = _offsets(column)
    elements = _converted(_elements(column, offsets), type.element, form.value_type, naming, f"{path}.element")
    if type.element_required and elements.null_count:
        raise _null(f"{path}.element")
    return pyarrow.ListArray.from_arrays(offsets, elements, form, mask=mask)


def _map(column: pyarrow.Array, type: Map, form: pyarrow.DataType, naming: Naming, path: str) -> pyarrow.Array:
    entries = column.cast(pyarrow.list_(pyarrow.struct([column.type.key_field, column.type.item_field])))
    offsets, mask = _offsets(entries)
    keys, values = _elements(entries, offsets).flatten()
    keys = _converted(keys, type.key, form.key_type, naming, f"{path}.key")
    values = _converted(values, type.value, form.item_type, naming, f"{path}.value")
    for part, required, name in ((keys, True, "key"), (values, type.value_required, "value")):
        if required and part.null_count:
            raise _null(f"{path}.{name}")
    return pyarrow.MapArray.from_arrays(offsets, keys, values, form, mask=mask)


def _elements(lists: pyarrow.Array, offsets: pyarrow.Array) -> pyarrow.Array:
    """The elements of all lists; without any elements `flatten` fails for UUIDs (pyarrow 26)."""
    return lists.flatten() if offsets[-1].as_py() else lists.values.slice(0, 0)


def _offsets(lists: pyarrow.Array) -> tuple[pyarrow.Array, pyarrow.Array | None]:
    """Where each list begins among the elements of all lists, and which lists are null.

    Computed from the lengths, since pyarrow 26 silently casts list views to lists with wrong elements.
    """
    lengths = pyarrow.compute.list_value_length(lists).fill_null(0).cast(pyarrow.int32())
    ends = pyarrow.compute.cumulative_sum_checked(lengths)
    return pyarrow.concat_arrays([pyarrow.array([0], pyarrow.int32()), ends]), lists.is_null()


def _cast(column: pyarrow.Array, form: pyarrow.DataType, path: str) -> pyarrow.Array:
    try:
        return column.cast(form)
    except pyarrow.ArrowInvalid as error:
        raise Invalid(
            "a value does not fit the column",
            subject=path,
            expected=str(form),
            found=str(error),
            advice="Round or split the values first: nothing is lost silently.",
        ) from error


def _check_times(column: pyarrow.Array, path: str) -> None:
    """Refuse times outside a day: Arrow allows them, Parquet and most readers don't."""
    extremes = pyarrow.compute.min_max(column.cast(pyarrow.int64())).as_py()
    for value in extremes.values():
        if value is not None and value not in TIMES_OF_DAY:
            raise Invalid(
                "a value is not a time of day",
                subject=path,
                expected=f"0 to {TIMES_OF_DAY[-1]} microseconds since midnight",
                found=value,
            )


def _without_nulls(column: pyarrow.Array) -> pyarrow.Array:
    """The column without marks of nulls, which are in null structs only: Parquet's writer refuses even these."""
    if pyarrow.types.is_struct(column.type):
        parts = [column.field(index) for index in range(column.type.num_fields)]
        return pyarrow.StructArray.from_arrays(parts, fields=list(column.type))
    if pyarrow.types.is_list(column.type):
        return pyarrow.ListArray.from_arrays(column.offsets, column.values, column.type)
    if pyarrow.types.is_map(column.type):
        return pyarrow.MapArray.from_arrays(column.offsets, column.keys, column.items, column.type)
    buffers = [None, *column.buffers()[1:]]
    return pyarrow.Array.from_buffers(column.type, len(column), buffers, 0, column.offset)


def _null(path: str) -> Invalid:
    return Invalid(
        "a required column has a null",
        subject=path,
        expected="a value in every row",
        found="null",
        advice="Give it a value, or leave out these rows.",
    )
