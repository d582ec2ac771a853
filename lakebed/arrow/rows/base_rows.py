"""The rows that both sides of a merge follow from, each once, with the values that count."""

from dataclasses import dataclass, replace

import numpy
import pyarrow

from lakebed.arrow.from_numpy import int64_array
from lakebed.arrow.read.copies import Copies, copies_of
from lakebed.arrow.read.pieces import Mask, Numbers, same_values
from lakebed.catalog.merge.rows import Places, RowSides, places_of
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class BaseRows:
    """Rows of the base. Where merges crossed, a row may have a twin: both were made of an older copy, each in its way.

    A cell that differs from the older copy is the newer one; if both do, the row's own counts. A row with an older copy
    and without a twin, in a `single` place, was deleted by one of the commits that both sides follow from: it is in
    dispute no more.
    """

    rows: Copies
    twins: Copies
    older: Copies
    single: Places

    @property
    def count(self) -> int:
        return self.rows.count

    @property
    def ids(self) -> Numbers:
        return self.rows.ids

    def chosen(self, rows: Numbers) -> "BaseRows":
        return replace(self, rows=self.rows.chosen(rows))

    def of(self, ids: Numbers) -> "BaseRows":
        """The rows with these ids, in this order; all are there."""
        return replace(self, rows=self.rows.of(ids))

    def place(self, row: int) -> tuple[str, int]:
        return self.rows.place(row)

    def has_unmoved(self, side: Copies) -> Mask:
        """Which rows a side, which has the same rows in the same order, has where they were: it did not change them."""
        return self.rows.is_at_place_of(side) & ~numpy.isin(self.ids, self.twins.ids)

    def was_deleted(self) -> Mask:
        """Which rows were deleted on the way to one of the sides, and are there again because somebody decided so."""
        has_older, has_twin = (numpy.isin(self.ids, copies.ids) for copies in (self.older, self.twins))
        found: Mask = has_older & ~has_twin & self.rows.is_in(self.single)
        return found

    def values(self, schema: Schema) -> pyarrow.Table:
        """The rows' values, in the order of the rows."""
        values = self.rows.values(schema)
        is_twice = numpy.isin(self.ids, self.twins.ids)
        if not is_twice.any():
            return values
        rows = numpy.flatnonzero(is_twice)
        own = values.take(int64_array(rows))
        twins, older = (copies.of(self.ids[rows]).values(schema) for copies in (self.twins, self.older))
        columns = []
        for name, column in zip(values.column_names, values.columns, strict=True):
            taken = numpy.arange(values.num_rows)
            is_old = same_values(own.column(name), older.column(name))
            taken[rows[is_old]] = values.num_rows + numpy.flatnonzero(is_old)
            both = pyarrow.chunked_array([*column.chunks, *twins.column(name).chunks], column.type)
            columns.append(both.take(int64_array(taken)))
        return pyarrow.Table.from_arrays(columns, schema=values.schema)


def base_rows(sides: RowSides, shared: Copies) -> BaseRows:
    """The contested rows, without those that both sides have in a file that they got since."""
    found = copies_of(sides.sources, sides.contested)
    if shared.count:
        paths = {piece.file.path for piece in shared.pieces}
        is_shared = numpy.array([piece.file.path in paths for piece in found.pieces], numpy.bool_)[found.numbers]
        found = found.chosen(numpy.flatnonzero(is_shared | ~numpy.isin(found.ids, shared.ids)))
    # A row that was changed again, and given to both again, is in several shared files: the youngest one counts.
    rows, others = _youngest(found)
    older, _ = _youngest(copies_of(sides.sources, sides.older))
    twins, _ = _youngest(others.chosen(numpy.flatnonzero(numpy.isin(others.ids, older.ids))))
    return BaseRows(rows, twins, older, places_of(sides.single))


def _youngest(copies: Copies) -> tuple[Copies, Copies]:
    """The last copy of each row, and the others."""
    _, last = numpy.unique(copies.ids[::-1], return_index=True)
    rows = copies.count - 1 - last
    return copies.chosen(rows), copies.chosen(numpy.setdiff1d(numpy.arange(copies.count), rows))
