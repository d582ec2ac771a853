"""Metadata of segments and blocks, in the structures of source document 004.

A segment is a data file, a block one of its row groups, and the index of a column is its field id. They are derived
from files' entries, whose columns hold all of it; `__segments` and `__blocks` show them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.manifest.locations import ID_END, Location, MetaInfo, location_if_near
from lakebed.table.manifest.manifest_pb2 import Block, ColumnStatistics, DataFileRef
from lakebed.table.types.values import BOUND_BYTES

IDX_END: Final = 2**16 - 1


@dataclass(frozen=True, slots=True)
class ColumnMeta:
    """A column of a segment or block. A bound is None if it is unknown or there are no values: it prunes nothing."""

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
    """A row group of a data file; `block` counts from 0."""

    table: int
    segment: int
    block: int
    columns: tuple[ColumnMeta, ...]

    def __post_init__(self) -> None:
        _check_ids(self.table, self.segment, self.block)
        _check_columns(self.columns)


def table_number(table_id: str) -> int:
    """A table's number: the first eight bytes of its uuid, big-endian."""
    try:
        return int.from_bytes(UUID(table_id).bytes[:8], "big")
    except ValueError as error:
        raise Invalid("a table's id is not a uuid", subject=table_id) from error


def meta_info(file: DataFileRef, base: Location) -> MetaInfo:
    """The locations of a file's metadata, in the entry at `base`, and of its deletes."""
    deletes = None
    if file.HasField("dv_path"):
        deletes = location_if_near(file.dv_path, file.dv_offset, file.dv_length, file.dv_length)
    return MetaInfo(_segment_id(file), base, deletes)


def segment_meta(file: DataFileRef, table_id: str) -> SegmentMeta:
    """A data file as a segment, with the columns whose field id fits an index."""
    return SegmentMeta(table_number(table_id), _segment_id(file), _columns(file.path, file.statistics))


def block_metas(file: DataFileRef, table_id: str) -> list[BlockMeta]:
    """The row groups of a file as blocks. A file that does not list them is one block, with the file's statistics."""
    table, segment = table_number(table_id), _segment_id(file)
    metas = enumerate(_columns(file.path, row_group.columns) for row_group in row_groups(file))
    return [BlockMeta(table, segment, number, columns) for number, columns in metas]


def row_groups(file: DataFileRef) -> list[Block]:
    """The row groups of a file, in its order; a file that does not list them is one."""
    return list(file.blocks) or [Block(num_rows=file.num_rows, columns=file.statistics)]


def _segment_id(file: DataFileRef) -> int:
    if not file.HasField("first_row_id"):
        raise Invalid(
            "a file that was not committed is not a segment",
            subject=file.path,
            expected="a first row id",
            advice="Commit it first.",
        )
    return file.first_row_id


def _columns(path: str, statistics: Iterable[ColumnStatistics]) -> tuple[ColumnMeta, ...]:
    return tuple(_column(path, known) for known in statistics if 0 <= known.field_id <= IDX_END)


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
    # Another writer's bound may be longer. Where to cut it depends on the type, which is not known here.
    return bound if bound is None or len(bound) <= BOUND_BYTES else None


def _check_ids(*ids: int) -> None:
    for id in ids:
        if not 0 <= id <= ID_END:
            raise Invalid("an id does not fit eight bytes", expected=f"0 to {ID_END}", found=id)


def _check_columns(columns: Sequence[ColumnMeta]) -> None:
    if len(columns) > IDX_END:
        raise Invalid("a segment has too many columns", expected=f"at most {IDX_END}", found=len(columns))
