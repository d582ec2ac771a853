"""New rows of one side of a merge that are among those which the other side overwrote, found by the local engine."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy
import pyarrow

from lakebed.arrow.expression.evaluate import passing_mask
from lakebed.arrow.from_numpy import bool_values, int64_values
from lakebed.arrow.read.copies import Copies, copies_of
from lakebed.arrow.read.pieces import Mask, Numbers, read_pieces, row_values
from lakebed.arrow.rows.three_way import ThreeWayRows, equal_cells
from lakebed.catalog.merge.rows import OURS, THEIRS, Overwritten, Phantoms, RowSides, phantom_row
from lakebed.table.filter.filter import ALWAYS, fields_of
from lakebed.table.schema.metadata_columns import POSITION, ROW_ID
from lakebed.table.schema.schema import Schema


def settle_phantoms(merged: ThreeWayRows, sides: RowSides) -> None:
    """Ask for each row that one side added, or changed, where the other side overwrote what there was."""
    for side, phantoms in sides.phantoms.items():
        merged.rows_read += sides.tested_rows(side)
        found = _undecided(merged, _passing(sides, phantoms, side), side)
        for rows in (*_pairs(merged, found, side), *_alone(merged, sides, phantoms, found, side)):
            _settle(merged, side, rows)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a side, and the same rows as the other has them, if it has them."""

    own: Copies
    other: Copies | None


def _settle(merged: ThreeWayRows, side: str, rows: _Rows) -> None:
    own, other = rows.own, rows.other
    if not own.count:
        return
    values = own.values(merged.schema)
    before = None if other is None else other.values(merged.schema)
    differs = numpy.ones((values.num_columns, own.count), numpy.bool_)
    if before is not None:
        differs = ~equal_cells(values, before)
    for row in numpy.flatnonzero(differs.any(axis=0)).tolist():
        names = [name for name, changed in zip(merged.schema.names, differs[:, row], strict=True) if changed]
        disputed = phantom_row(
            merged.schema,
            side,
            int(own.ids[row]),
            (row_values(values, row), own.place(row)),
            None if other is None or before is None else (row_values(before, row), other.place(row)),
            tuple(names) if other is not None else (),
        )
        choice = merged.asked(disputed)
        if choice is None or choice == side:
            continue
        merged.gone_of(side).add(own, numpy.array([row]))
        if isinstance(choice, dict):
            merged.put_given(choice, int(own.ids[row]), disputed)
        elif other is not None:
            merged.kept.add(other, numpy.array([row]))


def _passing(sides: RowSides, phantoms: Phantoms, side: str) -> Copies:
    """The new rows of a side that pass a filter of the other's overwrites; only the filters' columns are read."""
    parts = [part for one in phantoms.overwritten for part in _places(sides, side, one)]
    none = numpy.empty(0, numpy.int64)
    ids, numbers, positions = (
        numpy.concatenate([none, *(part[place] for part in parts)]).astype(numpy.int64) for place in range(3)
    )
    found = Copies(sides.sources, sides.new_rows(side), ids, numbers, positions)
    _, first = numpy.unique(_codes(found), return_index=True)
    return found.chosen(first)


def _places(sides: RowSides, side: str, overwritten: Overwritten) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """The ids of rows that pass, the numbers of their pieces and their positions."""
    for number, piece in enumerate(sides.new_rows(side)):
        if piece.file.path not in overwritten.paths:
            continue
        if overwritten.filter == ALWAYS:
            copies = copies_of(sides.sources, [piece])
            yield copies.ids, numpy.full(copies.count, number), copies.positions
            continue
        read_as = Schema([*fields_of(overwritten.filter), ROW_ID, POSITION])
        for batch in read_pieces(sides.sources, [piece], read_as):
            tested = pyarrow.RecordBatch.from_arrays(batch.columns[:-2], batch.schema.names[:-2])
            passes = bool_values(passing_mask(overwritten.filter, tested))
            ids, positions = (int64_values(column)[passes] for column in batch.columns[-2:])
            yield ids, numpy.full(len(ids), number), positions


def _codes(copies: Copies) -> Numbers:
    """A number for each place."""
    return (copies.numbers << 40) + copies.positions


def _undecided(merged: ThreeWayRows, copies: Copies, side: str) -> Copies:
    """The rows that stay, and that are in no dispute yet."""
    is_known: Mask = merged.gone_of(side).has(copies)
    places = {row.ours_place if side == OURS else row.theirs_place for row in merged.conflicts}
    if places:
        is_known |= numpy.array([copies.place(row) in places for row in range(copies.count)], numpy.bool_)
    return copies.chosen(numpy.flatnonzero(~is_known))


def _pairs(merged: ThreeWayRows, found: Copies, side: str) -> Iterator[_Rows]:
    """The rows that the other side has moved too, under the ids that they were matched by.

    A row that the other side wrote again with its key has been merged cell by cell.
    """
    replaced = merged.replaced.get(THEIRS if side == OURS else OURS, numpy.empty(0, numpy.int64))
    for ours, theirs in merged.pairs:
        own, other = (ours, theirs) if side == OURS else (theirs, ours)
        rows = numpy.flatnonzero(numpy.isin(_codes(own), _codes(found)) & ~numpy.isin(own.ids, replaced))
        yield _Rows(own.chosen(rows), other.chosen(rows))


def _alone(merged: ThreeWayRows, sides: RowSides, phantoms: Phantoms, found: Copies, side: str) -> Iterator[_Rows]:
    """The rows that the other side has as the base has them, and those that it does not have."""
    pairs = [ours if side == OURS else theirs for ours, theirs in merged.pairs]
    matched = numpy.concatenate([numpy.empty(0, numpy.int64), *map(_codes, pairs)])
    alone = found.chosen(numpy.flatnonzero(~numpy.isin(_codes(found), matched)))
    within = range(int(alone.ids.min()), int(alone.ids.max()) + 1) if alone.count else range(0)
    left = copies_of(sides.sources, phantoms.left, within)
    is_old = numpy.isin(alone.ids, left.ids)
    old = alone.chosen(numpy.flatnonzero(is_old))
    yield _Rows(old, left.of(old.ids))
    yield _Rows(alone.chosen(numpy.flatnonzero(~is_old)), None)
