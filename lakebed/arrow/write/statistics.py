"""Statistics of the columns of rows in memory: the same as in a Parquet footer, except for sizes."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow
import pyarrow.compute

from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import STRING, Field, Type, leaves
from lakebed.table.types.values import lower_bound, upper_bound

FEW_ROWS = 16  # up to this number Python is faster: a row of 8 columns takes 60 µs, by Arrow's kernels 140

_INT32, _INT64, _BINARY = pyarrow.int32(), pyarrow.int64(), pyarrow.binary()
# By the type's id: what its values are compared as. Python's dates end before Arrow's, and text may not be UTF-8.
_COMPARED: dict[int, Callable[[pyarrow.Array], pyarrow.Array]] = {
    pyarrow.lib.Type_DATE32: lambda values: values.view(_INT32),
    pyarrow.lib.Type_TIME64: lambda values: values.view(_INT64),
    pyarrow.lib.Type_TIMESTAMP: lambda values: values.view(_INT64),
    pyarrow.lib.Type_STRING: lambda values: values.view(_BINARY),
    pyarrow.uuid().id: lambda values: values.storage,
}


def add_statistics(file: DataFileRef, schema: Schema, rows: pyarrow.RecordBatch) -> None:
    """Add counts and bounds of each column of rows in the form of files; what is not certain is left out."""
    for place, (field, *inner) in _ways(schema):
        last = inner[-1] if inner else field
        known = file.statistics.add(field_id=last.id, value_count=rows.num_rows)
        _fill(known, last.type, _values(rows.column(place), inner))


@lru_cache(maxsize=256)
def _ways(schema: Schema) -> list[tuple[int, tuple[Field, ...]]]:
    """The ways to the columns with statistics, each with the place of its first field."""
    places = {field.id: place for place, field in enumerate(schema.fields)}
    # Filters never ask for a row's lineage.
    return [(places[way[0].id], way) for way in leaves(schema.fields) if way[-1].id not in METADATA_IDS]


def _values(column: pyarrow.Array, inner: Sequence[Field]) -> pyarrow.Array:
    """A column, or a column inside structs: null wherever one of the structs is."""
    return pyarrow.compute.struct_field(column, [field.physical_name for field in inner]) if inner else column


def _fill(known: ColumnStatistics, type: Type, values: pyarrow.Array) -> None:
    known.null_count = values.null_count
    compared = _COMPARED.get(values.type.id)
    plain = values if compared is None else compared(values)
    nans, low, high = _few(plain) if len(plain) <= FEW_ROWS else _many(plain)
    if pyarrow.types.is_floating(values.type):
        known.nan_count = nans
    if low is not None and high is not None:
        _fill_bounds(known, type, low, high)


def _few(values: pyarrow.Array) -> tuple[int, Any, Any]:
    """How many values are NaN, and the least and the greatest of the rest."""
    present = [value for value in values.to_pylist() if value is not None]
    numbers = [value for value in present if value == value]
    return len(present) - len(numbers), min(numbers, default=None), max(numbers, default=None)


def _many(values: pyarrow.Array) -> tuple[int, Any, Any]:
    nans = 0
    if pyarrow.types.is_floating(values.type):
        nans = pyarrow.compute.sum(pyarrow.compute.is_nan(values), min_count=0).as_py()
    if nans + values.null_count == len(values):
        return nans, None, None
    extremes = pyarrow.compute.min_max(values)  # ignores NaN if there is a number
    return nans, extremes["min"].as_py(), extremes["max"].as_py()


def _fill_bounds(known: ColumnStatistics, type: Type, low: Any, high: Any) -> None:
    if type == STRING:
        try:
            low, high = low.decode(), high.decode()
        except UnicodeDecodeError:
            return
    lower, upper = lower_bound(type, low), upper_bound(type, high)
    if lower is not None:
        known.lower = lower
    if upper is not None:
        known.upper = upper
