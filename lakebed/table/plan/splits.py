"""Splits: a plan cut into tasks of about the same size; every process cuts it in the same way.

A row group is never cut, and each is in exactly one split. Splits keep the order of the plan: the rows of all splits in
order are the plan's rows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from operator import attrgetter
from typing import Final

from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import Block, DataFileRef
from lakebed.table.plan.plan import PlannedFile

TARGET_BYTES: Final = 128 << 20
TASK_BYTES: Final = 4 << 20
"""What a thread reads in one go: opening a file and handing over its rows take 1 ms, decoding so many bytes 20."""


@dataclass(frozen=True, slots=True)
class Split:
    """A task: files, or some of their row groups.

    `bytes` and `rows` count what is stored: all columns, and also rows that are deleted or that the filter drops.
    """

    files: tuple[PlannedFile, ...]
    bytes: int
    rows: int


def splits(files: Iterable[PlannedFile], target_bytes: int = TARGET_BYTES) -> list[Split]:
    """Files of a plan as tasks: each has as many row groups as fit, and at least one."""
    if not isinstance(target_bytes, int) or isinstance(target_bytes, bool) or target_bytes < 1:
        raise Invalid("a split can't have this size", expected="a number of bytes, 1 or more", found=repr(target_bytes))
    finished: list[Split] = []
    pending: list[_Piece] = []
    size = 0
    for piece in (piece for place, file in enumerate(files) for piece in _pieces(place, file)):
        if pending and size + piece.bytes > target_bytes:
            finished.append(_split(pending))
            pending, size = [], 0
        pending.append(piece)
        size += piece.bytes
    return [*finished, _split(pending)] if pending else finished


def tasks(files: Sequence[PlannedFile], ids: Collection[int], threads: int) -> list[Split]:
    """Files of a plan as tasks for threads that read the columns with these ids: not too small, and enough for all.

    A task has more of a file than its columns take: two of thirty columns are a fifteenth of what is stored.
    """
    stored = sum(planned.file.file_size for planned in files)
    for_all = min(stored // (2 * threads), int(TASK_BYTES / _share(files, ids)))
    return splits(files, max(TASK_BYTES, for_all))


def _share(files: Iterable[PlannedFile], ids: Collection[int]) -> float:
    """Which part of the bytes these columns have, by the first row group of a plan; 1 if it does not say."""
    columns = next((planned.file.blocks[0].columns for planned in files if planned.file.blocks), ())
    stored = sum(column.size for column in columns)
    return max(sum(column.size for column in columns if column.field_id in ids) / stored, 0.001) if stored else 1.0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A row group of the plan's file at a place, or the whole file if its entry lists none: then it is None."""

    place: int
    planned: PlannedFile
    row_group: int | None
    bytes: int
    rows: int


def _pieces(place: int, planned: PlannedFile) -> Iterator[_Piece]:
    file = planned.file
    if not file.blocks:
        yield _Piece(place, planned, None, file.file_size, file.num_rows)
        return
    sizes = _row_group_bytes(file)
    for number in range(len(file.blocks)) if planned.row_groups is None else planned.row_groups:
        yield _Piece(place, planned, number, sizes[number], file.blocks[number].num_rows)


def _row_group_bytes(file: DataFileRef) -> list[int]:
    """The bytes of each row group, with its share of the footer: together they are the file's."""
    weights = _weights(file.blocks)
    total = sum(weights)
    ends = [file.file_size * end // total for end in accumulate(weights, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def _weights(row_groups: Sequence[Block]) -> list[int]:
    """The weights of row groups: the sizes of their columns, or their rows if not all sizes are known."""
    sizes = [sum(column.size for column in row_group.columns) for row_group in row_groups]
    if any(sizes) and all(column.HasField("size") for row_group in row_groups for column in row_group.columns):
        return sizes
    rows = [row_group.num_rows for row_group in row_groups]
    return rows if any(rows) else [1] * len(row_groups)


def _split(pieces: list[_Piece]) -> Split:
    files = tuple(_planned_file(list(of_file)) for _, of_file in groupby(pieces, attrgetter("place")))
    return Split(files, sum(piece.bytes for piece in pieces), sum(piece.rows for piece in pieces))


def _planned_file(pieces: list[_Piece]) -> PlannedFile:
    """The file of these pieces of one split, with their row groups."""
    planned = pieces[0].planned
    if len(pieces) == planned.num_row_groups:
        return planned
    return replace(planned, row_groups=tuple(piece.row_group for piece in pieces if piece.row_group is not None))
