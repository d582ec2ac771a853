"""The chunks of one column in a file, one for each row group, and the statistics that they make together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lakebed.table.manifest.manifest_pb2 import ColumnStatistics
from lakebed.table.types.types import Type
from lakebed.table.types.values import lower_bound, upper_bound

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
