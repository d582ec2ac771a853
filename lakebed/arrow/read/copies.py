"""Rows of files by their ids, with the place of each: which rows to read is decided before their values are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy
import pyarrow
from pyroaring import BitMap64

from lakebed.arrow.from_numpy import int64_array
from lakebed.arrow.read.pieces import (
    Mask,
    Numbers,
    may_have_ids,
    positions_in,
    read_pieces,
    row_places,
    rows_at,
    same_values,
)
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import Numbered
from lakebed.table.schema.metadata_columns import LAST_UPDATED, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema

_PLACES = Schema([ROW_ID, POSITION, LAST_UPDATED])


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows by their ids: the number of each one's piece, and its position."""

    sources: Sources
    pieces: Sequence[Piece]
    ids: Numbers
    numbers: Numbers
    positions: Numbers

    @property
    def count(self) -> int:
        return len(self.ids)

    def chosen(self, rows: Numbers) -> "Copies":
        columns = (column[rows] for column in (self.ids, self.numbers, self.positions))
        return Copies(self.sources, self.pieces, *columns)

    def of(self, ids: Numbers) -> "Copies":
        """The rows with these ids, in this order; all are there."""
        order = numpy.argsort(self.ids, kind="stable")
        return self.chosen(order[numpy.searchsorted(self.ids[order], ids)])

    def values(self, schema: Schema) -> pyarrow.Table:
        """The rows' values, in the order of the rows; only row groups that have such rows are read."""
        return rows_at(self.sources, self.pieces, schema, self.numbers, self.positions)

    def is_at_place_of(self, other: "Copies") -> Mask:
        """Which rows are where the other, which has the same rows in the same order, has them."""
        numbers = {piece.file.path: number for number, piece in enumerate(self.pieces)}
        known = numpy.array([numbers.get(piece.file.path, -1) for piece in other.pieces], numpy.int64)
        found: Mask = (known[other.numbers] == self.numbers) & (other.positions == self.positions)
        return found

    def is_in(self, places: Mapping[str, BitMap64]) -> Mask:
        """Which rows are in these places."""
        found = numpy.zeros(self.count, numpy.bool_)
        for number in numpy.unique(self.numbers).tolist():
            wanted = places.get(self.pieces[number].file.path)
            if wanted is not None:
                rows = numpy.flatnonzero(self.numbers == number)
                found[rows] = numpy.isin(self.positions[rows], positions_in(wanted))
        return found

    def place(self, row: int) -> tuple[str, int]:
        return self.pieces[int(self.numbers[row])].file.path, int(self.positions[row])


def copies_of(sources: Sources, pieces: Sequence[Piece], ids_within: range | None = None) -> Copies:
    """All rows of pieces; only ids are read, and only from files that have a column of them.

    Files whose rows have other ids than `ids_within`, as their entries say, may be left out.
    """
    columns: list[list[Numbers]] = [[], [], []]
    for number, piece in enumerate(pieces):
        for ids, positions in row_places(sources, piece, ids_within):
            for column, values in zip(columns, (ids, numpy.full(len(ids), number), positions), strict=True):
                column.append(values)
    return Copies(sources, pieces, *map(_joined, columns))


def copies_with_sequences(sources: Sources, pieces: Sequence[Piece]) -> tuple[Copies, Numbers]:
    """All rows of pieces, and the sequence number of each one's last change; no other column is read."""
    columns: list[list[Numbers]] = [[], [], [], []]
    for number, piece in enumerate(pieces):
        for batch in read_pieces(sources, [piece], _PLACES):
            ids, positions, sequences = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            found = (ids, numpy.full(batch.num_rows, number), positions, sequences)
            for column, values in zip(columns, found, strict=True):
                column.append(values)
    *placed, last = map(_joined, columns)
    return Copies(sources, pieces, *placed), last


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return numpy.concatenate([numpy.empty(0, numpy.int64), *parts]).astype(numpy.int64)


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Rows with their values, by their ids, which are sorted."""

    copies: Copies
    values: pyarrow.Table

    def differing(self, other: "KnownRows") -> dict[int, tuple[tuple[str, int], frozenset[str]]]:
        """By id: the place of each row, and the columns in which it differs from the same row of the other."""
        places = int64_array(numpy.searchsorted(other.copies.ids, self.copies.ids))
        same = [
            same_values(self.values.column(name), other.values.column(name).take(places))
            for name in self.values.column_names
        ]
        return {
            int(id): (self.copies.place(row), self._where(row, same)) for row, id in enumerate(self.copies.ids.tolist())
        }

    def _where(self, row: int, same: Sequence[Mask]) -> frozenset[str]:
        return frozenset(name for name, equal in zip(self.values.column_names, same, strict=True) if not equal[row])


def rows_with_ids(sources: Sources, pieces: Sequence[Piece], schema: Schema, ids: Sequence[int]) -> KnownRows:
    """The rows of pieces that have one of these ids; the values of no other row group are read."""
    found = copies_of(sources, pieces)
    chosen = found.chosen(numpy.flatnonzero(numpy.isin(found.ids, numpy.array(ids, numpy.int64))))
    ordered = chosen.chosen(numpy.argsort(chosen.ids, kind="stable"))
    return KnownRows(ordered, ordered.values(schema))


@dataclass(frozen=True, slots=True)
class NumberedCopies:
    """Rows by their ids, which are sorted, with the sequence numbers of their last changes."""

    copies: Copies
    last: Numbers

    def get(self, row_id: int) -> Numbered | None:
        row = int(numpy.searchsorted(self.copies.ids, row_id))
        if row == self.copies.count or self.copies.ids[row] != row_id:
            return None
        return Numbered(self.copies.place(row), int(self.last[row]))


def numbered_copies(sources: Sources, pieces: Sequence[Piece], ids_within: range | None) -> NumberedCopies:
    """The rows of pieces; files that, as their entries say, have no id of a range may be left out."""
    wanted = [piece for piece in pieces if ids_within is None or may_have_ids(sources, piece, ids_within)]
    copies, last = copies_with_sequences(sources, wanted)
    order = numpy.argsort(copies.ids, kind="stable")
    return NumberedCopies(copies.chosen(order), last[order])
