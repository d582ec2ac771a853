"""Metadata of segments and blocks, in the fixed form of source document 004.

A segment is a data file, a block one of its row groups, and the index of a column is its field id.

    columnmeta  = idx u16 ‖ 1 if there is a data location, plus 2 if there is one of a bloom filter, u8
                  ‖ min bound ‖ max bound ‖ location of the data ‖ location of the bloom filter
    bound       = length u8, or FF for none ‖ 32 bytes, zeros behind the length
    segmentmeta = table u64 ‖ segment u64 ‖ number of columns u16 ‖ columns
    blockmeta   = table u64 ‖ segment u64 ‖ block u64 ‖ number of columns u16 ‖ columns

All numbers are little-endian. Locations are as in `lakebed.table.manifest.locations`.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.manifest.locations import (
    ID_END,
    Location,
    MetaInfo,
    location_if_near,
    put_location,
    take_location,
)
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.manifest.meta_frame import Items, Piece
from lakebed.table.types.values import BOUND_BYTES

IDX_END: Final = 2**16 - 1
NO_BOUND: Final = 0xFF

_COLUMN = struct.Struct("<HB")
_BOUND = struct.Struct(f"<B{BOUND_BYTES}s")
_SEGMENT = struct.Struct("<QQH")
_BLOCK = struct.Struct("<QQQH")
_HAS_DATA, _HAS_BLOOM = 1, 2


@dataclass(frozen=True, slots=True)
class ColumnMeta:
    """A column of a segment or block. A bound that is None is unknown, or there are no values: nothing is cut by it."""

    idx: int
    data: Location | None = None
    min: bytes | None = None
    max: bytes | None = None
    bloom: Location | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.idx <= IDX_END:
            raise Invalid("a column's index does not fit two bytes", expected=f"0 to {IDX_END}", found=self.idx)
        for bound in (self.min, self.max):
            if bound is not None and len(bound) > BOUND_BYTES:
                raise Invalid(
                    "a bound is too long", subject=f"column {self.idx}", expected=BOUND_BYTES, found=len(bound)
                )


@dataclass(frozen=True, slots=True)
class SegmentMeta:
    """A data file."""

    table: int
    segment: int
    columns: tuple[ColumnMeta, ...]

    def __post_init__(self) -> None:
        _check_ids(self.table, self.segment)
        _check_columns(self.columns)


@dataclass(frozen=True, slots=True)
class BlockMeta:
    """A row group of a data file; blocks are counted from 0."""

    table: int
    segment: int
    block: int
    columns: tuple[ColumnMeta, ...]

    def __post_init__(self) -> None:
        _check_ids(self.table, self.segment, self.block)
        _check_columns(self.columns)


def table_number(table_id: str) -> int:
    """The first eight bytes of a table's uuid, as it is written."""
    try:
        return int.from_bytes(UUID(table_id).bytes[:8], "big")
    except ValueError as error:
        raise Invalid("a table's id is no uuid", subject=table_id) from error


def meta_info(file: DataFileRef, base: Location) -> MetaInfo:
    """What is where of a file: its metadata in the entry at `base`, its deletes in their file."""
    deletes = None
    if file.HasField("dv_path"):
        deletes = location_if_near(file.dv_path, file.dv_offset, file.dv_length, file.dv_length)
    return MetaInfo(_segment_id(file), base, deletes)


def segment_meta(file: DataFileRef, table_id: str) -> SegmentMeta:
    """A file as a segment, with its columns that have an index."""
    return SegmentMeta(table_number(table_id), _segment_id(file), _columns(file.path, file.statistics))


def block_metas(file: DataFileRef, table_id: str) -> list[BlockMeta]:
    """The row groups of a file. One that does not list them is one block, with what is known of the file."""
    table, segment = table_number(table_id), _segment_id(file)
    blocks = [one.columns for one in file.blocks] or [file.statistics]
    return [BlockMeta(table, segment, number, _columns(file.path, columns)) for number, columns in enumerate(blocks)]


def _segment_id(file: DataFileRef) -> int:
    if not file.HasField("first_row_id"):
        raise Invalid(
            "a file that is in no snapshot is no segment",
            subject=file.path,
            expected="a first row id",
            advice="Commit it first.",
        )
    return file.first_row_id


def _columns(path: str, statistics: Iterable[ColumnStatistics]) -> tuple[ColumnMeta, ...]:
    return tuple(_column(path, one) for one in statistics if 0 <= one.field_id <= IDX_END)


def _column(path: str, known: ColumnStatistics) -> ColumnMeta:
    data = bloom = None
    if known.HasField("offset") and known.HasField("size"):
        raw_size = known.raw_size if known.HasField("raw_size") else known.size
        data = location_if_near(path, known.offset, known.size, raw_size)
    if known.HasField("bloom_offset") and known.HasField("bloom_length"):
        bloom = location_if_near(path, known.bloom_offset, known.bloom_length, known.bloom_length)
    lower = known.lower if known.HasField("lower") else None
    upper = known.upper if known.HasField("upper") else None
    return ColumnMeta(known.field_id, data, _short(lower), _short(upper), bloom)


def _short(bound: bytes | None) -> bytes | None:
    # Another writer's may be longer. Where to cut it depends on the type, which is not known here.
    return bound if bound is None or len(bound) <= BOUND_BYTES else None


def _check_ids(*ids: int) -> None:
    for one in ids:
        if not 0 <= one <= ID_END:
            raise Invalid("an id does not fit eight bytes", expected=f"0 to {ID_END}", found=one)


def _check_columns(columns: Sequence[ColumnMeta]) -> None:
    if len(columns) > IDX_END:
        raise Invalid("a segment has too many columns", expected=f"{IDX_END} at most", found=len(columns))


def _put_bound(bound: bytes | None) -> bytes:
    return _BOUND.pack(NO_BOUND, b"") if bound is None else _BOUND.pack(len(bound), bound)


def _take_bound(piece: Piece) -> bytes | None:
    length, data = piece.numbers(_BOUND)
    is_none = length == NO_BOUND
    if not is_none and length > BOUND_BYTES:
        raise piece.corrupt("a bound has an impossible length", f"{BOUND_BYTES} at most", length)
    if any(data[0 if is_none else length :]):
        raise piece.corrupt("a bound has bytes behind its end", "zeros", data.hex())
    return None if is_none else data[:length]


def _put_column(column: ColumnMeta) -> bytes:
    places = [one for one in (column.data, column.bloom) if one is not None]
    flags = _HAS_DATA * (column.data is not None) + _HAS_BLOOM * (column.bloom is not None)
    head = _COLUMN.pack(column.idx, flags)
    return b"".join((head, _put_bound(column.min), _put_bound(column.max), *map(put_location, places)))


def _take_column(piece: Piece) -> ColumnMeta:
    idx, flags = piece.numbers(_COLUMN)
    if flags & ~(_HAS_DATA | _HAS_BLOOM):
        raise piece.corrupt("a column has unknown flags", "0 to 3", flags)
    low, high = _take_bound(piece), _take_bound(piece)
    data = take_location(piece) if flags & _HAS_DATA else None
    return ColumnMeta(idx, data, low, high, take_location(piece) if flags & _HAS_BLOOM else None)


def _put_segment(segment: SegmentMeta) -> bytes:
    head = _SEGMENT.pack(segment.table, segment.segment, len(segment.columns))
    return head + b"".join(map(_put_column, segment.columns))


def _take_segment(piece: Piece) -> SegmentMeta:
    table, segment, count = piece.numbers(_SEGMENT)
    return SegmentMeta(table, segment, tuple(_take_column(piece) for _ in range(count)))


def _put_block(block: BlockMeta) -> bytes:
    head = _BLOCK.pack(block.table, block.segment, block.block, len(block.columns))
    return head + b"".join(map(_put_column, block.columns))


def _take_block(piece: Piece) -> BlockMeta:
    table, segment, block, count = piece.numbers(_BLOCK)
    return BlockMeta(table, segment, block, tuple(_take_column(piece) for _ in range(count)))


SEGMENT_METAS: Final[Items[SegmentMeta]] = Items(b"LBSM", _put_segment, _take_segment)
BLOCK_METAS: Final[Items[BlockMeta]] = Items(b"LBBM", _put_block, _take_block)
