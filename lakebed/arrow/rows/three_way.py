"""The three-way merge of rows by the local engine: rows are matched by their ids, new ones by their primary keys.

The ids of all rows that either side has in new places are read; then, of the rows that both sides moved, the values.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy
import pyarrow
from pyroaring import BitMap64

from lakebed.arrow.fit import typed_rows
from lakebed.arrow.from_numpy import int64_array
from lakebed.arrow.read.copies import Copies, copies_of
from lakebed.arrow.read.pieces import Mask, Numbers, read_pieces, row_values, same_values
from lakebed.arrow.rows.base_rows import BaseRows, base_rows
from lakebed.arrow.rows.keys import filter_of_keys, key_columns, keys_in
from lakebed.arrow.rows.repeated_keys import WrittenRows, repeated_keys
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.checks import broken_by
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import (
    OURS,
    THEIRS,
    Choice,
    Decide,
    DisputedRow,
    KeyCheck,
    Row,
    RowSides,
    given_row,
    has_other_key,
    key_of,
)
from lakebed.catalog.tables.properties import Check
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema


class Gone:
    """The copies of one side that go."""

    def __init__(self) -> None:
        self.places: defaultdict[str, BitMap64] = defaultdict(BitMap64)

    def add(self, copies: Copies, rows: Numbers) -> None:
        numbers, positions = copies.numbers[rows], copies.positions[rows]
        for number in numpy.unique(numbers).tolist():
            path = copies.pieces[number].file.path
            self.places[path] |= BitMap64(positions[numbers == number].tolist())

    def has(self, copies: Copies) -> Mask:
        """Which of the copies go."""
        return copies.is_in(self.places)


@dataclass(slots=True)
class ThreeWayRows:
    """What becomes of the rows that both sides changed.

    `kept` are places that rows keep although a copy there would go. `pairs` are the copies of rows that both sides
    have, `replaced` for each side the ids of rows that it deleted and wrote again with their keys.
    """

    schema: Schema
    decide: Decide
    ours: Gone = field(default_factory=Gone)
    theirs: Gone = field(default_factory=Gone)
    conflicts: list[DisputedRow] = field(default_factory=list)
    unsettled: list[DisputedRow] = field(default_factory=list)
    rows_read: int = 0
    rows: list[pyarrow.Table] = field(default_factory=list)
    ids: list[Numbers] = field(default_factory=list)
    rekeyed: list[Mask] = field(default_factory=list)  # which may have another key than on one of the sides
    kept: Gone = field(default_factory=Gone)
    pairs: list[tuple[Copies, Copies]] = field(default_factory=list)
    replaced: dict[str, Numbers] = field(default_factory=dict)

    @property
    def back(self) -> dict[str, BitMap64]:
        return dict(self.kept.places)

    def gone_of(self, side: str) -> Gone:
        return self.ours if side == OURS else self.theirs

    @property
    def ours_gone(self) -> dict[str, BitMap64]:
        return dict(self.ours.places)

    @property
    def theirs_gone(self) -> dict[str, BitMap64]:
        return dict(self.theirs.places)

    @property
    def written_rows(self) -> pyarrow.Table:
        return pyarrow.concat_tables([pyarrow.Table.from_batches([], arrow_schema(self.schema)), *self.rows])

    @property
    def is_rekeyed(self) -> bool:
        return any(some.any() for some in self.rekeyed)

    @property
    def rekeyed_rows(self) -> Numbers:
        """The places, among the rows to write, of those that may have another key than on one of the sides."""
        return numpy.flatnonzero(numpy.concatenate([numpy.empty(0, numpy.bool_), *self.rekeyed]))

    def repeated_keys(self, check: KeyCheck) -> list[DisputedRow]:
        ids = numpy.concatenate([numpy.empty(0, numpy.int64), *self.ids])
        return repeated_keys(check, WrittenRows(self.written_rows, ids, self.rekeyed_rows))

    def write(self, target: Target) -> Written:
        rows = self.written_rows
        if not rows.num_rows:
            return Written()
        written_as = target.with_columns(ROW_ID)
        ids = pyarrow.chunked_array([int64_array(numpy.concatenate(self.ids))])
        form = arrow_schema(written_as.schema)
        return write_rows(written_as, pyarrow.Table.from_arrays([*rows.columns, ids], schema=form))

    def broken(self, checks: Sequence[Check]) -> list[DisputedRow]:
        rows = self.written_rows.combine_chunks()
        if not rows.num_rows or not checks:
            return []
        ids, broken = numpy.concatenate(self.ids).tolist(), broken_by(checks, self.schema)
        [batch] = rows.to_batches()
        return [_broken(self.schema, check, rows, place, ids[place], OURS) for check, place in broken(batch)]

    def put(self, rows: pyarrow.Table, ids: Numbers, rekeyed: Mask) -> None:
        if rows.num_rows:
            self.rows.append(rows)
            self.ids.append(ids)
            self.rekeyed.append(rekeyed)

    def put_given(self, given: Row, row_id: int, subject: DisputedRow) -> None:
        """Write the row that somebody decided for."""
        row = typed_rows(self.schema, [given_row(self.schema, given, subject)])
        is_rekeyed = has_other_key(self.schema, row_values(row, 0), subject)
        self.put(row, numpy.array([row_id], numpy.int64), numpy.array([is_rekeyed], numpy.bool_))

    def asked(self, disputed: DisputedRow) -> Choice:
        choice = self.decide(disputed)
        self.conflicts.append(disputed)
        if choice is None:
            self.unsettled.append(disputed)
        return choice


def merge_sides(sides: RowSides, decide: Decide) -> ThreeWayRows:
    """Compare the rows that both sides changed, cell by cell, and the keys of new rows."""
    merged = ThreeWayRows(sides.schema, decide)
    shared = copies_of(sides.sources, sides.shared)
    base = base_rows(sides, shared)
    ours, theirs = _new_copies(sides, base)
    merged.rows_read = base.count + ours.count + theirs.count
    if base.count or sides.check_ids:
        if base.count and sides.schema.identifier_ids:
            again = [_with_replaced(sides.schema, base, side, shared) for side in (ours, theirs)]
            merged.replaced = {
                side: new.ids[new.ids != old.ids]
                for side, new, old in zip((OURS, THEIRS), again, (ours, theirs), strict=True)
            }
            ours, theirs = again
        _merge_changed(merged, base, ours, theirs)
    if sides.check_keys:
        _merge_keys(merged, ours, theirs)
    if sides.schema.identifier_ids:
        _merge_all_written(merged, sides)
    return merged


def _new_copies(sides: RowSides, base: BaseRows) -> tuple[Copies, Copies]:
    """The rows in new places of both sides; unless keys are compared, only those with ids that others may have."""
    if sides.check_keys:
        return copies_of(sides.sources, sides.ours), copies_of(sides.sources, sides.theirs)
    ours_first = sum(piece.rows for piece in sides.ours) <= sum(piece.rows for piece in sides.theirs)
    few, many = (sides.ours, sides.theirs) if ours_first else (sides.theirs, sides.ours)
    found = copies_of(sides.sources, few)
    known = numpy.concatenate([base.ids, found.ids])
    others = copies_of(sides.sources, many, range(int(known.min()), int(known.max()) + 1) if len(known) else range(0))
    return (found, others) if ours_first else (others, found)


def broken_rows(
    sources: Sources, schema: Schema, pieces: Sequence[Piece], checks: Sequence[Check], side: str
) -> list[DisputedRow]:
    """The rows of a side that break checks of the other."""
    broken, found = broken_by(checks, schema), []
    read_as = Schema([*schema.fields, ROW_ID])
    for batch in read_pieces(sources, pieces, read_as):
        own = pyarrow.RecordBatch.from_arrays(batch.columns[:-1], schema=arrow_schema(schema))
        ids, rows = batch.columns[-1].to_pylist(), pyarrow.Table.from_batches([own])
        found += [_broken(schema, check, rows, place, ids[place], side) for check, place in broken(own)]
    return found


def _broken(
    schema: Schema, check: Check, rows: pyarrow.Table, place: int, row_id: int | None, side: str
) -> DisputedRow:
    values = row_values(rows, place)
    sides = (values, None) if side == OURS else (None, values)
    return DisputedRow(f"check {check.name}", row_id, _key(schema, rows, place), (), None, *sides)


def _with_replaced(schema: Schema, base: BaseRows, side: Copies, shared: Copies) -> Copies:
    """The side with the ids of the base for rows that it deleted and wrote again with the same key."""
    gone = numpy.flatnonzero(~numpy.isin(base.ids, side.ids))
    new = numpy.flatnonzero(~numpy.isin(side.ids, numpy.concatenate([base.ids, shared.ids])))
    if not len(gone) or not len(new):
        return side
    lost, found = base.rows.chosen(gone), side.chosen(new)
    ids = side.ids.copy()
    before, after = _pairs(_keys(schema, lost), _keys(schema, found))
    ids[new[after]] = lost.ids[before]
    return replace(side, ids=ids)


# Rows that both sides moved.


def _merge_changed(merged: ThreeWayRows, base: BaseRows, ours: Copies, theirs: Copies) -> None:
    in_ours, in_theirs = numpy.isin(base.ids, ours.ids), numpy.isin(base.ids, theirs.ids)
    is_whole = ~base.was_deleted()
    both, here, there = (
        base.ids[rows]
        for rows in (in_ours & in_theirs, in_ours & ~in_theirs & is_whole, ~in_ours & in_theirs & is_whole)
    )
    _merge_both(merged, base.of(both), ours.of(both), theirs.of(both))
    merged.pairs.append((ours.of(both), theirs.of(both)))
    _merge_deleted(merged, base.of(here), ours.of(here), winner=OURS)
    _merge_deleted(merged, base.of(there), theirs.of(there), winner=THEIRS)
    again = numpy.setdiff1d(numpy.intersect1d(ours.ids, theirs.ids), base.ids)
    if len(again):  # rows that the base never had, and that came to both sides in different files
        _merge_both(merged, None, ours.of(again), theirs.of(again))
        merged.pairs.append((ours.of(again), theirs.of(again)))


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of rows that both sides have: which are as in the base, or the same on both sides."""

    ours_kept: Mask
    theirs_kept: Mask

    @property
    def disputed(self) -> Mask:
        return ~(self.ours_kept | self.theirs_kept)


def _merge_both(merged: ThreeWayRows, base: BaseRows | None, ours: Copies, theirs: Copies) -> None:
    if base is not None:  # what theirs has where the base has it, it did not change: ours stays, whatever it is
        is_unmoved = base.has_unmoved(theirs)
        merged.theirs.add(theirs, numpy.flatnonzero(is_unmoved))
        moved = numpy.flatnonzero(~is_unmoved)
        base, ours, theirs = base.chosen(moved), ours.chosen(moved), theirs.chosen(moved)
    if not ours.count:
        return
    here, there = ours.values(merged.schema), theirs.values(merged.schema)
    cells = _cells(merged.schema, base, here, there)
    is_same = cells.theirs_kept.all(axis=0)
    takes_theirs = ~is_same & cells.ours_kept.all(axis=0)
    merged.theirs.add(theirs, numpy.flatnonzero(is_same))
    merged.ours.add(ours, numpy.flatnonzero(takes_theirs))
    rest = ~is_same & ~takes_theirs
    is_disputed = cells.disputed.any(axis=0)
    combined = numpy.flatnonzero(rest & ~is_disputed)
    _combine(merged, combined, cells.ours_kept, (ours, here), (theirs, there))
    rows = numpy.flatnonzero(rest & is_disputed)
    before = None if base is None or not len(rows) else base.chosen(rows).values(merged.schema)
    for place, row in enumerate(rows.tolist()):
        names = [name for name, found in zip(merged.schema.names, cells.disputed[:, row], strict=True) if found]
        disputed = DisputedRow(
            "row",
            int(ours.ids[row]),
            _key(merged.schema, here, row),
            tuple(names),
            None if before is None else row_values(before, place),
            row_values(here, row),
            row_values(there, row),
            None if base is None else base.place(row),
            ours.place(row),
            theirs.place(row),
        )
        choice = merged.asked(disputed)
        if choice in (OURS, THEIRS):
            # A disputed cell is the winner's; any other is that of the side that changed it.
            from_theirs = cells.ours_kept if choice == OURS else ~cells.theirs_kept
            _combine(merged, numpy.array([row]), from_theirs, (ours, here), (theirs, there))
        elif choice is not None:
            _replace(merged, row, ours, theirs, choice, disputed)


def _cells(schema: Schema, base: BaseRows | None, ours: pyarrow.Table, theirs: pyarrow.Table) -> _Cells:
    """Compare the cells. Of the base only columns are read that differ between the sides, in rows that do."""
    same = equal_cells(ours, theirs)
    cells = _Cells(same, same.copy())
    rows = numpy.flatnonzero(~same.all(axis=0))
    if base is None or not len(rows):
        return cells
    places = numpy.flatnonzero(~same.all(axis=1)).tolist()
    before = base.chosen(rows).values(schema.select([schema.names[place] for place in places]))
    chosen = int64_array(rows)
    for place, column in zip(places, before.columns, strict=True):
        cells.ours_kept[place, rows] |= same_values(column, ours.column(place).take(chosen))
        cells.theirs_kept[place, rows] |= same_values(column, theirs.column(place).take(chosen))
    return cells


def equal_cells(one: pyarrow.Table, other: pyarrow.Table) -> Mask:
    """Which cells are the same: a row of the array for each column."""
    pairs = zip(one.columns, other.columns, strict=True)
    return numpy.array([same_values(*pair) for pair in pairs], numpy.bool_).reshape(one.num_columns, one.num_rows)


def _combine(
    merged: ThreeWayRows,
    rows: Numbers,
    from_theirs: Mask,
    ours: tuple[Copies, pyarrow.Table],
    theirs: tuple[Copies, pyarrow.Table],
) -> None:
    """Write rows with the cells of both sides, unless one side has the row as it is."""
    (our_copies, here), (their_copies, there) = ours, theirs
    merged.ours.add(our_copies, rows)
    merged.theirs.add(their_copies, rows)
    columns = [
        pyarrow.chunked_array([*one.chunks, *other.chunks], one.type).take(
            int64_array(numpy.where(from_theirs[place, rows], rows + here.num_rows, rows))
        )
        for place, (one, other) in enumerate(zip(here.columns, there.columns, strict=True))
    ]
    rekeyed = _have_other_keys(merged.schema, here, there, rows)
    merged.put(pyarrow.Table.from_arrays(columns, schema=here.schema), our_copies.ids[rows], rekeyed)


def _have_other_keys(schema: Schema, ours: pyarrow.Table, theirs: pyarrow.Table, rows: Numbers) -> Mask:
    """Which of these rows differ between the sides in a column of the key."""
    found, chosen = numpy.zeros(len(rows), numpy.bool_), int64_array(rows)
    for name in key_columns(schema):
        found |= ~same_values(ours.column(name).take(chosen), theirs.column(name).take(chosen))
    return found


def _merge_deleted(merged: ThreeWayRows, base: BaseRows, side: Copies, *, winner: str) -> None:
    """Rows that one side deleted: they go, unless the other side, the possible winner, changed them."""
    gone = merged.ours if winner == OURS else merged.theirs
    is_unmoved = base.has_unmoved(side)
    gone.add(side, numpy.flatnonzero(is_unmoved))
    base, side = base.chosen(numpy.flatnonzero(~is_unmoved)), side.chosen(numpy.flatnonzero(~is_unmoved))
    if not side.count:
        return
    before, after = base.values(merged.schema), side.values(merged.schema)
    is_kept = equal_cells(before, after)
    gone.add(side, numpy.flatnonzero(is_kept.all(axis=0)))
    for row in numpy.flatnonzero(~is_kept.all(axis=0)).tolist():
        names = [name for name, kept in zip(merged.schema.names, is_kept[:, row], strict=True) if not kept]
        values, place = row_values(after, row), side.place(row)
        disputed = DisputedRow(
            "row",
            int(side.ids[row]),
            _key(merged.schema, after, row),
            tuple(names),
            row_values(before, row),
            values if winner == OURS else None,
            values if winner == THEIRS else None,
            base.place(row),
            place if winner == OURS else None,
            place if winner == THEIRS else None,
        )
        choice = merged.asked(disputed)
        if choice is not None and choice != winner:
            gone.add(side, numpy.array([row]))
        if isinstance(choice, dict):
            merged.put_given(choice, int(side.ids[row]), disputed)


def _replace(
    merged: ThreeWayRows, row: int, ours: Copies, theirs: Copies, choice: Choice, disputed: DisputedRow
) -> None:
    """Write a row that somebody gave in place of both copies."""
    assert isinstance(choice, dict)
    merged.ours.add(ours, numpy.array([row]))
    merged.theirs.add(theirs, numpy.array([row]))
    merged.put_given(choice, int(ours.ids[row]), disputed)


# New rows with one key.


def _merge_keys(merged: ThreeWayRows, ours: Copies, theirs: Copies) -> None:
    """Find keys that both sides have in new places: one row stays of two that are alike, others are disputed."""
    mine, other = (side.chosen(numpy.flatnonzero(~gone.has(side))) for side, gone in _sides(merged, ours, theirs))
    here, there = _pairs(_keys(merged.schema, mine), _keys(merged.schema, other))
    is_new = mine.ids[here] != other.ids[there]  # else it is in dispute already
    if is_new.any():
        _merge_pairs(merged, mine.chosen(here[is_new]), other.chosen(there[is_new]))


def _merge_all_written(merged: ThreeWayRows, sides: RowSides) -> None:
    """Find new rows of both sides whose key a row to write has got: only files are read that may have such a row."""
    for pieces, theirs in ((sides.ours, False), (sides.theirs, True)):
        if merged.is_rekeyed:
            keys = keys_in(merged.written_rows.take(int64_array(merged.rekeyed_rows)), merged.schema)
            filter = filter_of_keys(merged.schema, keys)
            near = [piece for piece in pieces if filter is None or may_match(filter, piece.file)]
            _merge_written(merged, copies_of(sides.sources, near), theirs=theirs)


def _sides(merged: ThreeWayRows, ours: Copies, theirs: Copies) -> list[tuple[Copies, Gone]]:
    return [(ours, merged.ours), (theirs, merged.theirs)]


def _merge_pairs(merged: ThreeWayRows, ours: Copies, theirs: Copies) -> None:
    here, there = ours.values(merged.schema), theirs.values(merged.schema)
    same = equal_cells(here, there)
    merged.theirs.add(theirs, numpy.flatnonzero(same.all(axis=0)))
    for row in numpy.flatnonzero(~same.all(axis=0)).tolist():
        names = [name for name, alike in zip(merged.schema.names, same[:, row], strict=True) if not alike]
        disputed = _disputed_key(merged.schema, names, (here, row), (there, row), ours, theirs, row)
        choice = merged.asked(disputed)
        if choice == OURS:
            merged.theirs.add(theirs, numpy.array([row]))
        elif choice == THEIRS:
            merged.ours.add(ours, numpy.array([row]))
        elif choice is not None:
            _replace(merged, row, ours, theirs, choice, disputed)


def _merge_written(merged: ThreeWayRows, side: Copies, *, theirs: bool) -> None:
    """Find rows of a side whose key a row has that was combined of cells of both: a side changed its key."""
    if not side.count:
        return
    written, rekeyed = merged.written_rows, merged.rekeyed_rows
    is_gone = (merged.theirs if theirs else merged.ours).has(side)
    keys = keys_in(written.take(int64_array(rekeyed)), merged.schema)
    pairs = numpy.stack(_pairs(keys, _keys(merged.schema, side)))
    pairs = pairs[:, ~is_gone[pairs[1]]]
    if not pairs.size:
        return
    found, chosen, given = side.chosen(pairs[1]).values(merged.schema), [], []
    ids = numpy.concatenate(merged.ids)
    for place, (written_row, row) in enumerate(zip(rekeyed[pairs[0]].tolist(), pairs[1].tolist(), strict=True)):
        one, other = (written, written_row), (found, place)
        mine, its = (one, other) if theirs else (other, one)
        disputed = _disputed_key(merged.schema, [], mine, its, side, side, row, row_id=int(ids[written_row]))
        choice = merged.asked(disputed)
        if choice == (OURS if theirs else THEIRS) or isinstance(choice, dict):
            (merged.theirs if theirs else merged.ours).add(side, numpy.array([row]))
        if choice == (THEIRS if theirs else OURS) or isinstance(choice, dict):
            chosen.append(written_row)
        if isinstance(choice, dict):
            given.append((choice, int(ids[written_row]), disputed))
    kept = numpy.setdiff1d(numpy.arange(written.num_rows), numpy.array(chosen, numpy.int64))
    is_rekeyed = numpy.concatenate(merged.rekeyed)
    merged.rows, merged.ids, merged.rekeyed = [written.take(int64_array(kept))], [ids[kept]], [is_rekeyed[kept]]
    for row_given in given:
        merged.put_given(*row_given)


def _disputed_key(
    schema: Schema,
    names: Sequence[str],
    ours: tuple[pyarrow.Table, int],
    theirs: tuple[pyarrow.Table, int],
    our_copies: Copies,
    their_copies: Copies,
    row: int,
    row_id: int | None = None,
) -> DisputedRow:
    return DisputedRow(
        "key",
        row_id,
        _key(schema, *ours),
        tuple(names),
        None,
        row_values(*ours),
        row_values(*theirs),
        None,
        our_copies.place(row),
        their_copies.place(row),
    )


def _keys(schema: Schema, copies: Copies) -> pyarrow.Table:
    return keys_in(copies.values(schema.select(key_columns(schema))), schema)


def _pairs(one: pyarrow.Table, other: pyarrow.Table) -> tuple[Numbers, Numbers]:
    """The rows of two tables of keys that have the same key, in the order of the first."""
    if not one.num_rows or not other.num_rows:  # Arrow's join loads pandas, which takes 0.4 s
        return numpy.empty(0, numpy.int64), numpy.empty(0, numpy.int64)
    left = one.append_column("left", int64_array(numpy.arange(one.num_rows)))
    right = other.append_column("right", int64_array(numpy.arange(other.num_rows)))
    found = left.join(right, keys=one.column_names, join_type="inner", use_threads=False)
    rows, others = found["left"].to_numpy(), found["right"].to_numpy()
    order = numpy.lexsort((others, rows))
    return rows[order], others[order]


def _key(schema: Schema, rows: pyarrow.Table, row: int) -> dict[str, object]:
    """The primary key of a row by the paths of its columns."""
    return key_of(schema, row_values(rows, row)) if schema.identifier_ids else {}
