"""The entry of a data file, with the statistics that its Parquet footer has.

Values are taken as the footer holds them and read by the column's annotation, never through Python's dates, which end
before Parquet's do. What the footer does not say for certain stays unset.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pyarrow import DataType
from pyarrow.parquet import ColumnChunkMetaData, ColumnSchema, FileMetaData, RowGroupMetaData, Statistics
from pyarrow.types import is_struct

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, COLUMNAR
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom_values import can_have_bloom, physical_type
from lakebed.table.types.times import TIMES_OF_DAY
from lakebed.table.types.types import Decimal, Field, Fixed, Primitive, Type, leaves
from lakebed.table.types.values import lower_bound, scaled, upper_bound

Span = tuple[int, int]  # where bytes of a file begin, and how many there are


class Chunk(NamedTuple):
    """What a footer says of one chunk; None is unknown. Extremes are plain values."""

    rows: int
    span: Span
    raw_size: int
    nulls: int | None = None
    nans: int | None = None
    extremes: tuple[Any, Any] | None = None
    bloom: Span | None = None


def fill_statistics(known: ColumnStatistics, type: Type, chunks: Sequence[Chunk]) -> None:
    """Set the statistics of a column that has these chunks. A place in the file is known of one chunk alone."""
    known.value_count = sum([one.rows for one in chunks])
    known.size = sum([one.span[1] for one in chunks])
    known.raw_size = sum([one.raw_size for one in chunks])
    nulls, nans = [one.nulls for one in chunks], [one.nans for one in chunks]
    if None not in nulls:
        known.null_count = sum(nulls)  # type: ignore[arg-type]
    if nans and None not in nans:
        known.nan_count = sum(nans)  # type: ignore[arg-type]
    _set_bounds(known, type, chunks)
    if len(chunks) == 1:
        known.offset = chunks[0].span[0]
        if chunks[0].bloom is not None:
            known.bloom_offset, known.bloom_length = chunks[0].bloom


def _set_bounds(known: ColumnStatistics, type: Type, chunks: Sequence[Chunk]) -> None:
    """Set the bounds of all values, if every chunk has its extremes; one of only nulls has none, and needs none."""
    extremes: list[Any] = [one.extremes for one in chunks if one.nulls != one.rows]
    if not extremes or None in extremes:
        return
    lower = lower_bound(type, min([low for low, _ in extremes]))
    upper = upper_bound(type, max([high for _, high in extremes]))
    if lower is not None:
        known.lower = lower
    if upper is not None:
        known.upper = upper


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
    "time": {("INT64", f"Time(isAdjustedToUTC={adjusted}, timeUnit=microseconds)") for adjusted in ("true", "false")},
    "timestamp": {("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds")},
    "timestamptz": {("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds")},
    "timestamp_ns": {("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds")},
    "timestamptz_ns": {("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds")},
    "string": {("BYTE_ARRAY", "String")},
    "uuid": {("FIXED_LEN_BYTE_ARRAY", "UUID")},
    "binary": {("BYTE_ARRAY", "None"), ("FIXED_LEN_BYTE_ARRAY", "None")},
}

Read = Callable[[Any], Any]  # from a footer's raw value to a plain one, or to None if there is none


def data_file(
    metadata: FileMetaData, schema: Schema, *, path: str, size: int, nan_counts: Sequence[Mapping[int, int]] = ()
) -> pb.DataFileRef:
    """The entry of a file that a commit adds, with a block for each row group if there are several.

    `nan_counts` has for each row group how many NaNs there are, by field id: footers don't have them.
    """
    file = pb.DataFileRef(path=path, file_size=size, num_rows=metadata.num_rows, status=ADDED, format=COLUMNAR)
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    blocks = [file.blocks.add(num_rows=group.num_rows) for group in groups] if len(groups) > 1 else []
    columns, places = metadata.schema, _places(metadata)
    for names in leaves(schema.fields):
        place, field = places.get(tuple([one.physical_name for one in names])), names[-1]
        if place is None or field.id in METADATA_IDS:  # a row's lineage is nothing that a filter asks for
            continue
        chunks = _chunks(field, columns.column(place), groups, place, nan_counts)
        fill_statistics(file.statistics.add(field_id=field.id), field.type, chunks)
        for block, chunk in zip(blocks, chunks, strict=False):  # there are as many, or no blocks
            fill_statistics(block.columns.add(field_id=field.id), field.type, [chunk])
    return file


def _chunks(
    field: Field,
    column: ColumnSchema,
    groups: Sequence[RowGroupMetaData],
    place: int,
    nan_counts: Sequence[Mapping[int, int]],
) -> list[Chunk]:
    read = _reader(field.type, column)
    chunks = []
    for number, group in enumerate(groups):
        chunk = group.column(place)
        found = chunk.statistics
        made = Chunk(
            rows=group.num_rows,
            span=(chunk_start(chunk), chunk.total_compressed_size),
            raw_size=chunk.total_uncompressed_size,
            nulls=found.null_count if found is not None and found.has_null_count else None,
            nans=nan_counts[number].get(field.id) if nan_counts else None,
            extremes=_extremes(found, read),
            bloom=_bloom(chunk, field.type, column) if read is not None else None,
        )
        chunks.append(made)
    return chunks


def _width(column: ColumnSchema) -> int:
    return int(column.length) if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0


def chunk_start(chunk: ColumnChunkMetaData) -> int:
    """Where the first page is; a dictionary stands before the data."""
    dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    return int(min(chunk.data_page_offset, dictionary or chunk.data_page_offset))


def _bloom(chunk: ColumnChunkMetaData, type: Type, column: ColumnSchema) -> Span | None:
    """Where the bloom filter is. Values are looked up in it by their bytes, so these have to be the type's own."""
    offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
    if offset is None or length is None or not can_have_bloom(type):  # old files have no length
        return None
    return (offset, length) if physical_type(type) == (column.physical_type, _width(column)) else None


def _extremes(found: Statistics | None, read: Read | None) -> tuple[Any, Any] | None:
    if found is None or read is None or not found.has_min_max:
        return None
    low, high = read(found.min_raw), read(found.max_raw)
    return None if low is None or high is None else (low, high)


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


def is_form_of(type: Type, column: ColumnSchema) -> bool:
    """Whether a file's column holds values of a type, as Iceberg has it: its own, or what widens to it."""
    return _reader(type, column) is not None


def annotation_of(column: ColumnSchema) -> str:
    """What Parquet says of the values of a file's column, as text; that of times is without its end."""
    return str(column.logical_type).partition(", is_from_converted_type")[0]


def _reader(type: Type, column: ColumnSchema) -> Read | None:
    """How raw values of a file's column are read as values of a type; None if it is of another type."""
    annotation = annotation_of(column)
    if isinstance(type, Primitive) and (column.physical_type, annotation) in _ANNOTATIONS[type.name]:
        read: Read = _READERS.get(type.name, _as_it_is)
        return read
    if isinstance(type, Fixed) and (column.physical_type, annotation) == ("FIXED_LEN_BYTE_ARRAY", "None"):
        return partial(_sized, type.length)
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


def _time(raw: int) -> int | None:
    return raw if raw in TIMES_OF_DAY else None  # Arrow writes others too, if it is given them


def _sized(length: int, raw: bytes) -> bytes | None:
    return raw if len(raw) == length else None  # some writers cut their bounds


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None  # some writers cut their bounds in the middle of a code point


_READERS: dict[str, Read] = {
    "float": _number,
    "double": _number,
    "string": _text,
    "time": _time,
    "uuid": partial(_sized, 16),
}
