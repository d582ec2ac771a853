"""The entry of a data file, with the statistics that its Parquet footer has.

Values are taken as the footer holds them and read by the column's annotation, never through Python's dates, which end
before Parquet's do. What the footer does not say for certain stays unset.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyarrow import DataType
from pyarrow.parquet import ColumnSchema, FileMetaData, RowGroupMetaData
from pyarrow.types import is_struct

from lakebed.table import manifest_pb2 as pb
from lakebed.table.bounds import lower_bound, scaled, upper_bound
from lakebed.table.delta import ADDED, COLUMNAR
from lakebed.table.schema import Schema
from lakebed.table.types import Decimal, Primitive, Type, leaves

_INT32 = {
    ("INT32", "None"),
    ("INT32", "Int(bitWidth=8, isSigned=true)"),
    ("INT32", "Int(bitWidth=16, isSigned=true)"),
    ("INT32", "Int(bitWidth=32, isSigned=true)"),
}
_INT64 = {("INT64", "None"), ("INT64", "Int(bitWidth=64, isSigned=true)")}

# What a column of a type may be in a file: physical type and annotation. Those that widen to it are among them.
_ANNOTATIONS = {
    "boolean": {("BOOLEAN", "None")},
    "int": _INT32,
    "long": _INT32 | _INT64,
    "float": {("FLOAT", "None")},
    "double": {("FLOAT", "None"), ("DOUBLE", "None")},
    "date": {("INT32", "Date")},
    "timestamp": {("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds")},
    "timestamptz": {("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds")},
    "string": {("BYTE_ARRAY", "String")},
    "binary": {("BYTE_ARRAY", "None"), ("FIXED_LEN_BYTE_ARRAY", "None")},
}

_UNKNOWN = -1  # of a count

Read = Callable[[Any], Any]  # from a footer's raw value to a plain one, or to None if there is none
Groups = Sequence[tuple[int, RowGroupMetaData]]  # each with its number of rows


def data_file(
    metadata: FileMetaData, schema: Schema, *, path: str, size: int, nan_counts: Mapping[int, int] | None = None
) -> pb.DataFileRef:
    """The entry of a file that a commit adds. `nan_counts` are by field id: footers don't have them."""
    file = pb.DataFileRef(path=path, file_size=size, num_rows=metadata.num_rows, status=ADDED, format=COLUMNAR)
    groups = [(group.num_rows, group) for group in map(metadata.row_group, range(metadata.num_row_groups))]
    columns, places = metadata.schema, _places(metadata)
    for names in leaves(schema.fields):
        place, field = places.get(tuple(one.physical_name for one in names)), names[-1]
        if place is None:
            continue
        known = file.statistics.add(field_id=field.id, value_count=metadata.num_rows)
        _fill(known, field.type, _reader(field.type, columns.column(place)), groups, place)
        if nan_counts and field.id in nan_counts:
            known.nan_count = nan_counts[field.id]
    return file


def _places(metadata: FileMetaData) -> dict[tuple[str, ...], int | None]:
    """Where each column stands in the file, by the names on the way to it; None for two of one name.

    The joined path that Parquet's own columns show can't tell `a.b` from `b` in `a`.
    """
    places: dict[tuple[str, ...], int | None] = {}
    for place, names in enumerate(_leaf_paths(metadata.schema.to_arrow_schema(), ())):
        if names is not None:
            places[names] = None if names in places else place
    return places


def _leaf_paths(fields: Any, path: tuple[str, ...] | None) -> Iterator[tuple[str, ...] | None]:
    """The path of each column through structs, in the file's order; None for what is inside a list or a map."""
    for field in fields:
        names = None if path is None else (*path, field.name)
        if field.type.num_fields == 0:
            yield names
        else:
            yield from _leaf_paths(_children(field.type), names if is_struct(field.type) else None)


def _children(type: DataType) -> list[Any]:
    return [type.field(index) for index in range(type.num_fields)]


def _fill(known: pb.ColumnStatistics, type: Type, read: Read | None, groups: Groups, place: int) -> None:
    size, nulls, extremes, bounded = 0, 0, [], read is not None
    for rows, group in groups:
        chunk = group.column(place)
        found = chunk.statistics
        size += chunk.total_compressed_size
        null_count = found.null_count if found is not None and found.has_null_count else _UNKNOWN
        nulls = nulls + null_count if nulls != _UNKNOWN != null_count else _UNKNOWN
        if null_count == rows:
            continue  # only nulls have no bounds, and need none
        if found is not None and found.has_min_max:
            extremes.append((found.min_raw, found.max_raw))
        else:
            bounded = False
    known.size = size
    if nulls != _UNKNOWN:
        known.null_count = nulls
    if read is not None and bounded and extremes:
        _fill_bounds(known, type, [read(low) for low, _ in extremes], [read(high) for _, high in extremes])


def _fill_bounds(known: pb.ColumnStatistics, type: Type, lows: list[Any], highs: list[Any]) -> None:
    if None in lows or None in highs:
        return
    lower, upper = lower_bound(type, min(lows)), upper_bound(type, max(highs))
    if lower is not None:
        known.lower = lower
    if upper is not None:
        known.upper = upper


def _reader(type: Type, column: ColumnSchema) -> Read | None:
    """How raw values of a file's column are read as values of a type; None if it is of another type."""
    annotation = str(column.logical_type).partition(", is_from_converted_type")[0]
    if isinstance(type, Primitive) and (column.physical_type, annotation) in _ANNOTATIONS[type.name]:
        read: Read = _READERS.get(type.name, _as_it_is)
        return read
    if isinstance(type, Decimal) and annotation.startswith("Decimal("):
        return _decimal_reader(type, column)
    return None


def _decimal_reader(type: Decimal, column: ColumnSchema) -> Read | None:
    if column.scale != type.scale or column.precision > type.precision:
        return None
    if column.physical_type in ("INT32", "INT64"):
        return lambda raw: scaled(raw, type.scale)
    return lambda raw: scaled(int.from_bytes(raw, "big", signed=True), type.scale)


def _as_it_is(raw: Any) -> Any:
    return raw


def _number(raw: float) -> float | None:
    return raw if raw == raw else None  # a NaN has no order


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None  # some writers cut their bounds in the middle of a code point


_READERS: dict[str, Read] = {"float": _number, "double": _number, "string": _text}
