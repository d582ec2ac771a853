"""Rows of a pandas DataFrame, whose lists, maps and structs are Python objects: pandas has no types for them."""

import math
from typing import Any

import pyarrow

from lakebed.arrow.casting import EXACT
from lakebed.arrow.python_rows import check_nested_values, typed_values
from lakebed.arrow.shape import AS_GIVEN, misfits
from lakebed.errors import Invalid
from lakebed.table.expression.types import WHOLE
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, List, Map, Struct, Type

_FAILED = (pyarrow.ArrowException, TypeError, ValueError)


def pandas_table(data: Any, schema: Schema) -> pyarrow.Table:
    """The rows as an Arrow table, without the index.

    Lists, maps and structs get the types of the schema's columns where that loses nothing: `to_pandas` shows maps as
    lists of pairs, and whole numbers beside nulls as floats.
    """
    wanted = {folded_column(field.name): field for field in schema.fields}
    nested: dict[str, pyarrow.Array] = {}
    for name, kind in data.dtypes.items() if data.columns.is_unique else ():
        if kind == "object":
            check_nested_values(f"{name}", data[name])
            field = wanted.get(folded_column(f"{name}"))
            values = None if field is None else _nested(data[name], field)
            if values is not None:
                nested[name] = values
    rows = _table(data.drop(columns=list(nested)))
    for place, name in enumerate(data.columns):
        if name in nested:
            rows = rows.add_column(place, f"{name}", nested[name])
    return rows


def _nested(values: Any, field: Field) -> pyarrow.Array | None:
    """The values of a column of lists, maps or structs in its type; None if Arrow reads them as they are, or not."""
    if not isinstance(field.type, List | Map | Struct):
        return None
    try:
        found = pyarrow.array(values, from_pandas=True)
    except _FAILED:
        found = None
    if found is not None and not any(misfits([pyarrow.field(field.name, found.type)], [field], AS_GIVEN)):
        return None
    try:
        return typed_values([_without_floats(value, field.type) for value in values], field)
    except ValueError:
        return None


def _without_floats(value: Any, type: Type) -> Any:
    """A value as it was before pandas: NaN is a null, and whole floats are whole numbers, at any depth.

    `ValueError` for a float that may have been another number.
    """
    match type:
        case List(element=element) if _is_list(value):
            return [_without_floats(part, element) for part in value]
        case Map() if isinstance(value, dict):
            return _pairs(value.items(), type)
        case Map() if _is_list(value):
            return _pairs(value, type)
        case Struct(fields) if isinstance(value, dict):
            types = {folded_column(field.name): field.type for field in fields}
            return {
                name: _without_floats(part, types[folded_column(name)]) if folded_column(name) in types else part
                for name, part in value.items()
            }
    if not isinstance(value, float):  # numpy's float64 is one, too
        return value
    if math.isnan(value):
        return None
    if type not in WHOLE:
        return float(value)
    if not value.is_integer() or abs(value) > EXACT:
        raise ValueError(value)
    return int(value)


def _pairs(pairs: Any, type: Map) -> list[tuple[Any, Any]]:
    return [(_without_floats(key, type.key), _without_floats(value, type.value)) for key, value in pairs]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or hasattr(value, "__array__")


def _table(data: Any) -> pyarrow.Table:
    try:
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    except _FAILED as error:
        if not data.columns.is_unique:
            twice = sorted({f"{name}" for name in data.columns[data.columns.duplicated()]})
            raise Invalid(
                "columns of the DataFrame have the same name", subject=", ".join(twice), advice="Rename all but one."
            ) from error
        raise Invalid(
            "a column of the DataFrame has values of different types",
            expected="columns that Arrow can hold",
            found=str(error),
            advice="Convert it with astype, or build a pyarrow table.",
        ) from error
