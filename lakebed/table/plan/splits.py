"""Splits: a plan cut into tasks of about one size, the same ones whoever cuts it.

A row group is never cut, and each is in exactly one split. Splits keep the order of the plan: their rows, one split
after the other, are the plan's rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from operator import attrgetter
from typing import Final

from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import Block, DataFileRef
from lakebed.table.plan.plan import PlannedFile

TARGET_BYTES: Final = 128 << 20


@dataclass(frozen=True, slots=True)
class Split:
    """A task: files, or some row groups of them.

    `bytes` and `rows` are what is stored: all columns, and rows too that are deleted or that no filter keeps.
    """

    files: tuple[PlannedFile, ...]
    bytes: int
    rows: int


def splits(files: Iterable[PlannedFile], target_bytes: int = TARGET_BYTES) -> list[Split]:
    """Files of a plan as tasks: each has as many row groups as fit, and one if that alone is larger."""
    if not isinstance(target_bytes, int) or isinstance(target_bytes, bool) or target_bytes < 1:
        raise Invalid("a split has no such size", expected="a number of bytes, 1 or more", found=repr(target_bytes))
    made: list[Split] = []
    held: list[_Piece] = []
    size = 0
    for piece in (one for place, file in enumerate(files) for one in _pieces(place, file)):
        if held and size + piece.bytes > target_bytes:
            made.append(_split(held))
            held, size = [], 0
        held.append(piece)
        size += piece.bytes
    return [*made, _split(held)] if held else made


@dataclass(frozen=True, slots=True)
class _Piece:
    """A row group of the plan's file in a place, or all of it if its entry lists none: then `block` is None."""

    place: int
    planned: PlannedFile
    block: int | None
    bytes: int
    rows: int


def _pieces(place: int, planned: PlannedFile) -> Iterator[_Piece]:
    file = planned.file
    if not file.blocks:
        yield _Piece(place, planned, None, file.file_size, file.num_rows)
        return
    sizes = _block_bytes(file)
    for number in range(len(file.blocks)) if planned.blocks is None else planned.blocks:
        yield _Piece(place, planned, number, sizes[number], file.blocks[number].num_rows)


def _block_bytes(file: DataFileRef) -> list[int]:
    """The file's bytes by row group, all of them: also those of the footer."""
    weights = _weights(file.blocks)
    whole = sum(weights)
    ends = [file.file_size * end // whole for end in accumulate(weights, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def _weights(blocks: Sequence[Block]) -> list[int]:
    """What row groups weigh: what their columns take, or their rows where that is not known of all."""
    sizes = [sum(one.size for one in block.columns) for block in blocks]
    if any(sizes) and all(one.HasField("size") for block in blocks for one in block.columns):
        return sizes
    rows = [block.num_rows for block in blocks]
    return rows if any(rows) else [1] * len(blocks)


def _split(pieces: list[_Piece]) -> Split:
    files = tuple(_joined(list(some)) for _, some in groupby(pieces, attrgetter("place")))
    return Split(files, sum(one.bytes for one in pieces), sum(one.rows for one in pieces))


def _joined(pieces: list[_Piece]) -> PlannedFile:
    """The file of these pieces, which are in one split, with their row groups."""
    planned = pieces[0].planned
    if len(pieces) == planned.num_blocks:
        return planned
    return replace(planned, blocks=tuple(one.block for one in pieces if one.block is not None))
