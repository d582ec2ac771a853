"""What a feed reads: for each commit, or for two states, the files and positions of rows that went and that came."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.deletion_vectors import read_vector
from lakebed.catalog.data.row_sources import Sources
from lakebed.files import Files
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema

_NONE = FrozenBitMap64()


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one file: all except those at the positions `left_out`."""

    file: DataFileRef
    left_out: FrozenBitMap64

    @property
    def rows(self) -> int:
        return self.file.num_rows - len(self.left_out)


@dataclass(frozen=True, slots=True)
class Rows:
    """Pieces of one edition's files, where they are, and the columns by which they are read."""

    sources: Sources
    schema: Schema
    pieces: tuple[Piece, ...] = ()

    @property
    def count(self) -> int:
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Sequence numbers that two different changes of one row may both have: those after `start`, up to `end`.

    A row that was only moved keeps its sequence number. A change gives a row that of its commit, and numbers count on
    each line: a row that came from another branch may already have the number.
    """

    start: int
    end: int


ALWAYS: Final = Doubt(-1, (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Step:
    """Rows that went and rows that came, in one commit or between two states.

    Rows of both sides with one id are the same row, unless it is not `matched`: ids of two editions have nothing to do
    with each other. `is_net` says that a row which ends as it began did not change.
    """

    version: Version
    time: int
    removed: Rows
    added: Rows
    doubt: Doubt = ALWAYS
    matched: bool = True
    is_net: bool = False

    @property
    def has_pairs(self) -> bool:
        """Whether rows of both sides have to be compared."""
        return self.matched and bool(self.removed.pieces) and bool(self.added.pieces)


def live_piece(files: Files, file: DataFileRef) -> Piece:
    """All rows of a file that its vector does not delete."""
    return Piece(file, read_vector(files, file) or _NONE)


def newly_deleted(files: Files, before: DataFileRef, after: DataFileRef) -> list[Piece]:
    """The rows of a file that are deleted after a change and were not before, if there are any."""
    if same_vector(before, after):
        return []
    positions = (read_vector(files, after) or _NONE) - (read_vector(files, before) or _NONE)
    if not positions:
        return []
    left_out = BitMap64()
    left_out.add_range(0, after.num_rows)
    return [Piece(after, FrozenBitMap64(left_out - positions))]


def same_vector(one: DataFileRef, other: DataFileRef) -> bool:
    """Whether two entries of a file have the same deleted rows, judged by where their vectors are."""
    return (one.dv_path, one.dv_offset, one.dv_length) == (other.dv_path, other.dv_offset, other.dv_length)


def differing(
    files: Files, before: Mapping[str, DataFileRef], after: Mapping[str, DataFileRef]
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The rows that are only in the first files, and those that are only in the second; shared files aren't read."""
    both = [(before[path], after[path]) for path in before if path in after]
    gone = [live_piece(files, file) for path, file in before.items() if path not in after]
    come = [live_piece(files, file) for path, file in after.items() if path not in before]
    gone += [piece for old, new in both for piece in newly_deleted(files, old, new)]
    come += [piece for old, new in both for piece in newly_deleted(files, new, old)]
    return _ordered(gone), _ordered(come)


def _ordered(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """By the ids of their rows; pieces without rows are left out."""
    kept = [piece for piece in pieces if piece.rows]
    return tuple(sorted(kept, key=lambda piece: (piece.file.first_row_id, piece.file.path)))
