"""The entry of a data file, with the statistics of its columns and row groups from its Parquet footer.

Raw values of the footer are read by the column's annotation, never through Python's dates, whose range is smaller than
Parquet's. Whatever the footer does not state for certain stays unset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed.deferred import pyarrow
from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, COLUMNAR
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics
from lakebed.table.parquet.footer import Skipped
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom_values import can_have_bloom, physical_type
from lakebed.table.types.times import TIMES_OF_DAY
from lakebed.table.types.types import Decimal, Field, Fixed, Primitive, Type, leaves
from lakebed.table.types.values import lower_bound, scaled, upper_bound

if TYPE_CHECKING:
    from pyarrow import DataType
    from pyarrow.parquet import ColumnChunkMetaData, ColumnSchema, FileMetaData, RowGroupMetaData, Statistics

_Span = tuple[int, int]  # offset in the file, and length

_Read = Callable[[Any], Any]  # from a footer's raw value to a plain value, or to None if it is unusable

_INT32 = {
    ("INT32", "None"),
    ("INT32", "Int(bitWidth=8, isSigned=true)"),
    ("INT32", "Int(bitWidth=16, isSigned=true)"),
    ("INT32", "Int(bitWidth=32, isSigned=true)"),
}
_INT64 = {("INT64", "None"), ("INT64", "Int(bitWidth=64, isSigned=true)")}

# The physical types and annotations that a column of a type may have in a file, including types that widen to it.
_ANNOTATIONS = {
    "boolean": {("BOOLEAN", "None")},
    "int": _INT32,
    "long": _INT32 | _INT64,
    "float": {("FLOAT", "None")},
    "double": {("FLOAT", "None"), ("DOUBLE", "None")},
    "date": {("INT32", "Date")},
    "time": {("INT64", f"Time(isAdjustedToUTC={adjusted}, timeUnit=microseconds)") for adjusted in ("true", "false")},
    "timestamp": {("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds")},
    "timestamptz": {("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds")},
    "timestamp_ns": {("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds")},
    "timestamptz_ns": {("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds")},
    "string": {("BYTE_ARRAY", "String")},
    "uuid": {("FIXED_LEN_BYTE_ARRAY", "UUID")},
    "binary": {("BYTE_ARRAY", "None"), ("FIXED_LEN_BYTE_ARRAY", "None")},
}


class _Chunk(NamedTuple):
    """A column chunk in a footer; None is unknown. Extremes are plain values."""

    rows: int
    span: _Span
    raw_size: int
    nulls: int | None = None
    nans: int | None = None
    extremes: tuple[Any, Any] | None = None
    bloom: _Span | None = None


def data_file(
    metadata: FileMetaData,
    schema: Schema,
    *,
    path: str,
    size: int,
    nan_counts: Sequence[Mapping[int, int]] = (),
    skipped: Skipped = frozenset(),
) -> pb.DataFileRef:
    """The entry of a file that a commit adds; it lists the row groups if there are several.

    `nan_counts` has the number of NaNs by field id for each row group: footers don't have it. The statistics of the
    chunks in `skipped` are not asked for.
    """
    file = pb.DataFileRef(path=path, file_size=size, num_rows=metadata.num_rows, status=ADDED, format=COLUMNAR)
    footers = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    row_groups = [file.blocks.add(num_rows=footer.num_rows) for footer in footers] if len(footers) > 1 else []
    columns, places = metadata.schema, _places(metadata)
    for way in leaves(schema.fields):
        place, field = places.get(tuple([part.physical_name for part in way])), way[-1]
        if place is None or field.id in METADATA_IDS:  # no filter asks for a row's lineage
            continue
        chunks = _chunks(field, columns.column(place), footers, place, nan_counts, skipped)
        _fill_statistics(file.statistics.add(field_id=field.id), field.type, chunks)
        for row_group, chunk in zip(row_groups, chunks, strict=False):  # as many as chunks, or none
            _fill_statistics(row_group.columns.add(field_id=field.id), field.type, [chunk])
    return file


def chunk_start(chunk: ColumnChunkMetaData) -> int:
    """The offset of the first page; a dictionary comes before the data."""
    dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    return int(min(chunk.data_page_offset, dictionary or chunk.data_page_offset))


def is_form_of(type: Type, column: ColumnSchema) -> bool:
    """Whether a file's column holds values of a type, or of one that widens to it, as Iceberg stores them."""
    return _reader(type, column) is not None


def annotation_of(column: ColumnSchema) -> str:
    """Parquet's annotation of a file's column as text; that of timestamps without its last attributes."""
    return str(column.logical_type).partition(", is_from_converted_type")[0]


def _chunks(
    field: Field,
    column: ColumnSchema,
    row_groups: Sequence[RowGroupMetaData],
    place: int,
    nan_counts: Sequence[Mapping[int, int]],
    skipped: Skipped,
) -> list[_Chunk]:
    read = _reader(field.type, column)
    chunks = []
    for number, row_group in enumerate(row_groups):
        footer = row_group.column(place)
        statistics = None if (number, place) in skipped else footer.statistics
        chunk = _Chunk(
            rows=row_group.num_rows,
            span=(chunk_start(footer), footer.total_compressed_size),
            raw_size=footer.total_uncompressed_size,
            nulls=statistics.null_count if statistics is not None and statistics.has_null_count else None,
            nans=nan_counts[number].get(field.id) if nan_counts else None,
            extremes=_extremes(statistics, read),
            bloom=_bloom(footer, field.type, column) if read is not None else None,
        )
        chunks.append(chunk)
    return chunks


def _fill_statistics(known: ColumnStatistics, type: Type, chunks: Sequence[_Chunk]) -> None:
    """Set the statistics of a column with these chunks; its offset in the file only if there is one chunk."""
    known.value_count = sum([chunk.rows for chunk in chunks])
    known.size = sum([chunk.span[1] for chunk in chunks])
    known.raw_size = sum([chunk.raw_size for chunk in chunks])
    nulls, nans = [chunk.nulls for chunk in chunks], [chunk.nans for chunk in chunks]
    if None not in nulls:
        known.null_count = sum(nulls)  # type: ignore[arg-type]
    if nans and None not in nans:
        known.nan_count = sum(nans)  # type: ignore[arg-type]
    _set_bounds(known, type, chunks)
    if len(chunks) == 1:
        known.offset = chunks[0].span[0]
        if chunks[0].bloom is not None:
            known.bloom_offset, known.bloom_length = chunks[0].bloom


def _set_bounds(known: ColumnStatistics, type: Type, chunks: Sequence[_Chunk]) -> None:
    """Set the bounds of all values, if every chunk has its extremes; a chunk of nulls alone has none and needs none."""
    extremes: list[Any] = [chunk.extremes for chunk in chunks if chunk.nulls != chunk.rows]
    if not extremes or None in extremes:
        return
    lower = lower_bound(type, min([low for low, _ in extremes]))
    upper = upper_bound(type, max([high for _, high in extremes]))
    if lower is not None:
        known.lower = lower
    if upper is not None:
        known.upper = upper


def _width(column: ColumnSchema) -> int:
    return int(column.length) if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0


def _bloom(chunk: ColumnChunkMetaData, type: Type, column: ColumnSchema) -> _Span | None:
    """Where the bloom filter is, if the column is stored as its own type: values are looked up by their bytes."""
    offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
    if offset is None or length is None or not can_have_bloom(type):  # old files have no length
        return None
    return (offset, length) if physical_type(type) == (column.physical_type, _width(column)) else None


def _extremes(statistics: Statistics | None, read: _Read | None) -> tuple[Any, Any] | None:
    if statistics is None or read is None or not statistics.has_min_max:
        return None
    low, high = read(statistics.min_raw), read(statistics.max_raw)
    return None if low is None or high is None or low > high else (low, high)


def _places(metadata: FileMetaData) -> dict[tuple[str, ...], int | None]:
    """(path of names) -> the number of the column in the file, None if two columns have the path

    Parquet's own columns show a joined path, which does not distinguish `a.b` from `b` in `a`.
    """
    places: dict[tuple[str, ...], int | None] = {}
    for place, names in enumerate(_leaf_paths(metadata.schema.to_arrow_schema(), ())):
        if names is not None:
            places[names] = None if names in places else place
    return places


def _leaf_paths(fields: Any, path: tuple[str, ...] | None) -> Iterator[tuple[str, ...] | None]:
    """The path of each column through structs, in the file's order; None for a column inside a list or a map."""
    for field in fields:
        names = None if path is None else (*path, field.name)
        if field.type.num_fields == 0:
            yield names
        else:
            yield from _leaf_paths(_children(field.type), names if pyarrow.types.is_struct(field.type) else None)


def _children(type: DataType) -> list[Any]:
    return [type.field(index) for index in range(type.num_fields)]


def _reader(type: Type, column: ColumnSchema) -> _Read | None:
    """How to read raw values of a file's column as values of a type; None if the column has another type."""
    annotation = annotation_of(column)
    if isinstance(type, Primitive) and (column.physical_type, annotation) in _ANNOTATIONS[type.name]:
        read: _Read = _READERS.get(type.name, _as_it_is)
        return read
    if isinstance(type, Fixed) and (column.physical_type, annotation) == ("FIXED_LEN_BYTE_ARRAY", "None"):
        return partial(_sized, type.length)
    if isinstance(type, Decimal) and annotation.startswith("Decimal("):
        return _decimal_reader(type, column)
    return None


def _decimal_reader(type: Decimal, column: ColumnSchema) -> _Read | None:
    if column.scale != type.scale or column.precision > type.precision:
        return None
    if column.physical_type in ("INT32", "INT64"):
        return lambda raw: scaled(raw, type.scale)
    return lambda raw: scaled(int.from_bytes(raw, "big", signed=True), type.scale)


def _as_it_is(raw: Any) -> Any:
    return raw


def _number(raw: float) -> float | None:
    return raw if raw == raw else None  # NaN has no order


def _time(raw: int) -> int | None:
    return raw if raw in TIMES_OF_DAY else None  # Arrow also writes times outside of a day


def _sized(length: int, raw: bytes) -> bytes | None:
    return raw if len(raw) == length else None  # some writers cut their bounds


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None  # some writers cut their bounds in the middle of a code point


_READERS: dict[str, _Read] = {
    "float": _number,
    "double": _number,
    "string": _text,
    "time": _time,
    "uuid": partial(_sized, 16),
}
