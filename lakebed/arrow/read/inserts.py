"""Which rows of a commit are new: those that came, and whose ids no row had that went."""

from collections.abc import Iterator

import numpy
from pyroaring import BitMap64, FrozenBitMap64

from lakebed.arrow.read.pieces import row_places
from lakebed.catalog.feed.steps import Piece, Step


def inserted_pieces(step: Step) -> Iterator[Piece]:
    """The pieces of a step that came, without rows that were only updated or copied."""
    if not step.has_pairs:
        yield from step.added.pieces
        return
    gone = [ids for piece in step.removed.pieces for ids, _ in row_places(step.removed.sources, piece)]
    known = numpy.concatenate(gone) if gone else numpy.empty(0, numpy.int64)
    for piece in step.added.pieces:
        left_out = BitMap64(piece.left_out)
        for ids, positions in row_places(step.added.sources, piece):
            left_out |= BitMap64(positions[numpy.isin(ids, known)].tolist())
        if len(left_out) < piece.file.num_rows:
            yield Piece(piece.file, FrozenBitMap64(left_out))
