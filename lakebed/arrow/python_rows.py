"""Rows as plain Python: a list of dicts, one for each row, or a dict of lists, one for each column."""

import decimal
import math
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import pyarrow

from lakebed.arrow.shape import AS_GIVEN, misfits
from lakebed.arrow.types import UUID_BYTES, arrow_schema, is_uuid
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import LEVELS, too_deep
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import FLOAT, Decimal, Field, List, Map, Simple, Struct, Type

PythonRows = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]

_EXPECTED = 'a list of dicts such as [{"id": 1}], or a dict of lists such as {"id": [1]}'
_NESTED = (list, tuple, dict, Mapping, set, frozenset)
_FAILED = (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


def is_python_rows(data: object) -> TypeGuard[PythonRows]:
    """Whether it is a list or a dict, whatever is in it."""
    return isinstance(data, list | tuple | Mapping)


def table_of(rows: PythonRows, schema: Schema) -> pyarrow.Table:
    """The rows as an Arrow table. Values get the types of the schema's columns where that loses nothing.

    A row without one of the others' columns has a null there. `Invalid` if the values of a column have no common type.
    """
    columns = _of_lists(rows) if isinstance(rows, Mapping) else _of_dicts(rows)
    if not columns:
        return arrow_schema(schema).empty_table()
    fields = {folded_column(field.name): field for field in schema.fields}
    arrays = {name: _array(name, values, fields.get(folded_column(name))) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise Invalid(
            "the lists of columns have different lengths",
            expected="a value for each row in every list",
            found=", ".join(f"{name}: {length}" for name, length in lengths.items()),
        )
    return pyarrow.table(arrays)


def _of_dicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise Invalid("a row is not a dict", subject=f"row {place}", expected=_EXPECTED, found=f"{row!r:.80}")
    names = dict.fromkeys(name for row in rows for name in row)
    _check_names(names)
    if rows and not names:
        raise Invalid("the rows have no columns", expected=_EXPECTED, found=f"{rows!r:.80}")
    return {name: [row.get(name) for row in rows] for name in names}


def _of_lists(columns: Mapping[str, Any]) -> dict[str, Any]:
    _check_names(columns)
    for name, values in columns.items():
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise Invalid(
                "a column is not a list",
                subject=name,
                expected=_EXPECTED,
                found=f"{values!r:.80}",
                advice="Give one row in a list: [row].",
            )
    return dict(columns)


def _check_names(names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise Invalid("the name of a column is not text", subject=f"{name!r:.80}", expected=_EXPECTED)


def _array(name: str, values: Any, field: Field | None) -> pyarrow.Array | pyarrow.ChunkedArray:
    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return values
    listed = [*values] if not hasattr(values, "__array__") else values
    check_nested_values(name, listed)
    try:
        found = pyarrow.array(listed, from_pandas=True) if hasattr(listed, "__array__") else pyarrow.array(listed)
    except _FAILED as error:
        typed = typed_values(listed, field)
        if typed is None:
            raise _mixed(name, error) from error
        return typed
    if field is not None and pyarrow.types.is_null(found.type):
        return pyarrow.nulls(len(found), arrow_schema(Schema([field])).field(0).type)
    if field is None or not any(misfits([pyarrow.field(field.name, found.type)], [field], AS_GIVEN)):
        return found
    typed = typed_values(listed, field)
    return found if typed is None else typed


def check_nested_values(name: str, values: Any) -> None:
    """Refuse values nested more deeply than a column can be: Arrow recurses into a list that holds itself for ever.

    Values without lists or dicts take a look at the type of each; arrays of numpy none, unless they hold objects.
    """
    if hasattr(values, "__array__") and getattr(values, "dtype", None) != "object":
        return
    pending = [(value, 1) for value in values if isinstance(value, _NESTED)]
    while pending:
        value, depth = pending.pop()
        if depth > LEVELS:
            raise too_deep(name, depth)
        inner = value.values() if isinstance(value, Mapping) else value
        pending += [(part, depth + 1) for part in inner if isinstance(part, _NESTED)]


def typed_values(values: Any, field: Field | None) -> pyarrow.Array | None:
    """The values in the type of a column; None if they are of another, or would not be the same."""
    if field is None or hasattr(values, "__array__"):
        return None
    wanted = _buildable(arrow_schema(Schema([field])).field(0).type)
    given = [_as_given(value, field.type) for value in values]
    if not isinstance(field.type, Simple):
        given = [_with_plain_uuids(value) for value in given]
    try:
        typed = pyarrow.array(given, wanted)
        # Arrow cuts 1.5 to 1, a time to its day, and a float of 1e300 to infinity without an error.
        return typed if _are_same(typed.to_pylist(), given) else None
    except _FAILED:  # also of a number that Arrow takes for a moment that Python has no value for
        return None


def _as_given(value: Any, type: Type) -> Any:
    """A value in the form that Arrow takes for the type, if there is one."""
    if isinstance(type, Map) and isinstance(value, Mapping):
        return [(_as_given(key, type.key), _as_given(item, type.value)) for key, item in value.items()]
    if isinstance(type, Struct) and isinstance(value, Mapping):
        return {**value, **_parts(value, type)}
    if isinstance(type, List) and isinstance(value, list | tuple):
        return [_as_given(element, type.element) for element in value]
    if isinstance(type, Decimal) and isinstance(value, float) and math.isfinite(value):
        return decimal.Decimal(repr(value))
    if type == FLOAT and isinstance(value, float):  # Python's floats have no shorter form of their own
        return _nearest_float(value)
    return value


def _nearest_float(value: float) -> float:
    """The float of 32 bits that is meant by one of 64; one that is out of range stays as it is."""
    try:
        [nearest] = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return value
    return float(nearest)


def _are_same(one: Any, other: Any) -> bool:
    """Whether values are equal, where two NaNs are."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_are_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_are_same(one[name], other[name]) for name in one)
    return bool(one == other) or (one != one and other != other)


def _buildable(type: pyarrow.DataType) -> pyarrow.DataType:
    """The type with bytes for UUIDs inside lists, maps and structs, which pyarrow can't build (pyarrow 26)."""
    match type:
        case pyarrow.ListType():
            return pyarrow.list_(_plain(type.value_type))
        case pyarrow.MapType():
            return pyarrow.map_(_plain(type.key_type), _plain(type.item_type))
        case pyarrow.StructType():
            return pyarrow.struct([(part.name, _plain(part.type)) for part in type])
    return type


def _plain(type: pyarrow.DataType) -> pyarrow.DataType:
    return UUID_BYTES if is_uuid(type) else _buildable(type)


def _with_plain_uuids(value: Any) -> Any:
    match value:
        case uuid.UUID():
            return value.bytes
        case list():
            return [_with_plain_uuids(part) for part in value]
        case tuple():
            return tuple(map(_with_plain_uuids, value))
        case dict():
            return {name: _with_plain_uuids(part) for name, part in value.items()}
    return value


def _parts(value: Mapping[str, Any], type: Struct) -> dict[str, Any]:
    """The fields of a struct; those that are missing are null, unless they have a default, which would be lost."""
    given = [field for field in type.fields if field.name in value or field.write_default is None]
    return {field.name: _as_given(value.get(field.name), field.type) for field in given}


def _mixed(name: str, error: Exception) -> Invalid:
    return Invalid(
        "a column has values of different types",
        subject=name,
        expected="values that Arrow can hold in one column",
        found=str(error),
        advice="Give all values of a column one type.",
    )
