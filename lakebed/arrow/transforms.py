"""Transforms of whole columns: by Arrow's kernels, or in Python once for each distinct value."""

import pyarrow
import pyarrow.compute

from lakebed.arrow.types import UUID_BYTES
from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.partition.transforms import Function, Transform
from lakebed.table.types.times import HOUR_MICROS, HOUR_NANOS
from lakebed.table.types.types import (
    BINARY,
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Field,
    Type,
)

_INT = pyarrow.int32()
_NANOS = (TIMESTAMP_NS, TIMESTAMPTZ_NS)
_PLAIN: dict[Type, pyarrow.DataType] = {
    DATE: pyarrow.int32(),
    **dict.fromkeys((TIME, TIMESTAMP, TIMESTAMPTZ, *_NANOS), pyarrow.int64()),
    UUID: UUID_BYTES,
}
"""What columns are cast to if their Python values are not plain values, or not exact."""


def column_at(table: pyarrow.Table, path: tuple[Field, ...]) -> pyarrow.ChunkedArray:
    """A column of a table in the form of files, or one inside structs: null wherever one of the structs is."""
    column, *inner = path
    values = table.column(column.physical_name)
    return pyarrow.compute.struct_field(values, [field.physical_name for field in inner]) if inner else values


def transformed(column: pyarrow.ChunkedArray, transform: Transform, type: Type) -> pyarrow.ChunkedArray:
    """The partition values of a column of this type; `Invalid` for a value whose partition value overflows its type.

    UUIDs become bytes: Arrow can neither sort nor compare UUIDs.
    """
    try:
        return _transformed(column.cast(UUID_BYTES) if type == UUID else column, transform, type)
    except pyarrow.ArrowInvalid as error:
        problem = "a value is too near the end of its type to be transformed"
        raise Invalid(problem, subject=str(transform), expected=type, found=str(error)) from error


def plain_value(scalar: pyarrow.Scalar, type: Type) -> Value | None:
    """One value of a column of this type as a plain value."""
    plain = _PLAIN.get(type)
    value: Value | None = (scalar if plain is None else scalar.cast(plain)).as_py()
    return value


def _transformed(column: pyarrow.ChunkedArray, transform: Transform, type: Type) -> pyarrow.ChunkedArray:
    match transform.name:
        case "identity":
            return _one_nan(column) if pyarrow.types.is_floating(column.type) else column
        case "void":
            return pyarrow.chunked_array([pyarrow.nulls(len(column), column.type)])
        case "day":
            return column if type == DATE else column.cast(pyarrow.date32())
        case "hour":
            hour = HOUR_NANOS if type in _NANOS else HOUR_MICROS
            return _floor_divided(column.cast(pyarrow.int64()), hour).cast(_INT)
        case "truncate" if not isinstance(type, Decimal):
            return _truncated(column, transform.parameter or 0, type)
        case "year" | "month":
            # There are far fewer days than timestamps.
            days = _transformed(column, Transform("day"), type)
            return _by_value(days.cast(_INT), transform.function(DATE), _INT)
        case "bucket":
            plain = _PLAIN.get(type, column.type)
            return _by_value(column.cast(plain), transform.function(type), _INT)
        case _:
            return _by_value(column, transform.function(type), column.type)


def _one_nan(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """The column with a single NaN: its sign, which depends on the processor, would make two partitions."""
    return pyarrow.compute.if_else(pyarrow.compute.is_nan(column), pyarrow.scalar(float("nan"), column.type), column)


def _by_value(column: pyarrow.ChunkedArray, function: Function, form: pyarrow.DataType) -> pyarrow.ChunkedArray:
    values = pyarrow.compute.unique(column)
    results = pyarrow.array([None if value is None else function(value) for value in values.to_pylist()], form)
    return results.take(pyarrow.compute.index_in(column, value_set=values))


def _truncated(column: pyarrow.ChunkedArray, width: int, type: Type) -> pyarrow.ChunkedArray:
    if type == STRING:
        return pyarrow.compute.utf8_slice_codeunits(column, 0, width)  # code points, despite its name
    if type == BINARY:
        return pyarrow.compute.binary_slice(column, 0, width)
    whole = column.cast(pyarrow.int64())
    return pyarrow.compute.multiply_checked(_floor_divided(whole, width), width).cast(column.type)


def _floor_divided(column: pyarrow.ChunkedArray, divisor: int) -> pyarrow.ChunkedArray:
    """The quotient, rounded down as Iceberg does; Arrow's division rounds towards zero."""
    towards_zero = pyarrow.compute.divide(column, divisor)
    above = pyarrow.compute.less(column, pyarrow.compute.multiply(towards_zero, divisor))
    return pyarrow.compute.subtract(towards_zero, above.cast(pyarrow.int64()))
