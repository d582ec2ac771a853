"""The rows in which two states of a table differ, by the local engine: matched by id, then by key, compared by cell.

Rows that only one state has, if the other has none, are streamed. Otherwise the ids of both sides are read first, and
the keys of rows without a partner; then the values of the rows that are left, window by window, so that whoever wants a
few differences reads the row groups of a few.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
import pyarrow
import pyarrow.compute

from lakebed.arrow.expression.evaluate import passing_mask
from lakebed.arrow.read.copies import Copies, copies_with_sequences
from lakebed.arrow.read.feed import matched_rows
from lakebed.arrow.read.pieces import Mask, Numbers, read_pieces, same_values
from lakebed.arrow.rows.keys import joinable
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.feed.compare import DELETED, INSERTED, KEY, UPDATED, Compared
from lakebed.catalog.feed.steps import Rows, Step
from lakebed.table.filter.filter import Filter, fields_of
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema

FIRST_WINDOW, LAST_WINDOW, GROWTH = 256, 1 << 20, 4
"""How many rows are compared at once: few at first for readers who may stop, then more, since each window reads."""

_NONE = -1


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows of one state: their values in the columns that are read, and which of the rows to show have one here.

    `places` says, for each row to show, where its values are; `_NONE` if this state does not have the row.
    """

    values: pyarrow.Table
    places: Numbers

    @property
    def has(self) -> Mask:
        has: Mask = self.places != _NONE
        return has

    def column(self, array: pyarrow.Array) -> pyarrow.Array:
        """An array with a value for each row of `values` as one for each row to show, null where there is none."""
        return array.take(pyarrow.array(self.places, mask=~self.has))


class ArrowDifferences:
    """Differences of rows, as batches of `compared.form`; each method reads them again."""

    def __init__(self, compared: Compared, filter: Filter | None) -> None:
        self._compared, self._filter, self._step = compared, filter, compared.step
        self._read = compared.read(() if filter is None else [field.name for field in fields_of(filter)])
        self.form: pyarrow.Schema = arrow_schema(compared.form)

    def batches(self, limit: int | None = None, *, is_gradual: bool = False) -> Iterator[pyarrow.RecordBatch]:
        """The differences, by row id where both states have rows; `is_gradual` if the caller may stop early."""
        left = limit
        for batch in self._all(FIRST_WINDOW if limit is not None or is_gradual else LAST_WINDOW):
            kept = batch if left is None else batch.slice(0, left)
            if kept.num_rows:
                yield kept
            left = None if left is None else left - kept.num_rows
            if left == 0:
                return

    def reader(self, limit: int | None = None) -> pyarrow.RecordBatchReader:
        """The differences as a reader."""
        return pyarrow.RecordBatchReader.from_batches(self.form, self.batches(limit))

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many rows were changed in each way, and how many cells of each column; read only as far as needed."""
        changes = dict.fromkeys((INSERTED, DELETED, UPDATED), 0)
        cells = dict.fromkeys(self._compared.shown.names, 0)
        if self._step is not None and self._filter is None and not _has_both(self._step):
            return changes | {INSERTED: self._step.added.count, DELETED: self._step.removed.count}, cells
        for batch in self.batches():
            _add_counts(changes, batch.column("change"))
            _add_counts(cells, batch.column("columns").flatten())
        return changes, cells

    def _all(self, window: int) -> Iterator[pyarrow.RecordBatch]:
        if self._step is None:
            return
        if not _has_both(self._step):
            yield from self._streamed(self._step)
            return
        gone, come = (
            copies_with_sequences(rows.sources, rows.pieces) for rows in (self._step.removed, self._step.added)
        )
        before, after = self._pairs(self._step, *gone, *come)
        start = 0
        while start < len(before):
            chosen = slice(start, start + window)
            yield self._compare(
                self._side(self._step.removed, gone[0], before[chosen]),
                self._side(self._step.added, come[0], after[chosen]),
                _shown_ids(gone[0], come[0], before[chosen], after[chosen]),
            )
            start, window = start + window, min(window * GROWTH, LAST_WINDOW)

    # Rows that only one state has.

    def _streamed(self, step: Step) -> Iterator[pyarrow.RecordBatch]:
        rows, is_added = (step.added, True) if step.added.pieces else (step.removed, False)
        schema = Schema([*_own(rows, self._read).fields, ROW_ID])
        for batch in read_pieces(rows.sources, rows.pieces, schema):
            values = pyarrow.Table.from_batches([batch])
            there = _Side(values, numpy.arange(values.num_rows))
            absent = _Side(values.slice(0, 0), numpy.full(values.num_rows, _NONE))
            ids = batch.column(ROW_ID.name).to_numpy()
            yield self._compare(*((absent, there) if is_added else (there, absent)), ids)

    # Rows of both states.

    def _pairs(
        self, step: Step, gone: Copies, was_changed: Numbers, come: Copies, is_changed: Numbers
    ) -> tuple[Numbers, Numbers]:
        """The rows to compare, by their places on each side, `_NONE` where a side has no such row; ordered by id."""
        if step.matched:
            matched = matched_rows(step, gone.ids, was_changed, come.ids, is_changed)
            before, after = _rows_with(gone.ids, matched.gone), _rows_with(come.ids, matched.come)
            _, in_before, in_after = numpy.intersect1d(gone.ids[before], come.ids[after], return_indices=True)
            pairs = before[in_before], after[in_after]
        else:
            before, after = numpy.arange(gone.count), numpy.arange(come.count)
            pairs = before[:0], after[:0]
        alone = numpy.setdiff1d(before, pairs[0]), numpy.setdiff1d(after, pairs[1])
        again = self._with_one_key(step, gone, come, *alone)
        only = numpy.setdiff1d(alone[0], again[0]), numpy.setdiff1d(alone[1], again[1])
        befores = numpy.concatenate([pairs[0], again[0], only[0], numpy.full(len(only[1]), _NONE)])
        afters = numpy.concatenate([pairs[1], again[1], numpy.full(len(only[0]), _NONE), only[1]])
        order = numpy.argsort(_shown_ids(gone, come, befores, afters), kind="stable")
        return befores[order], afters[order]

    def _with_one_key(
        self, step: Step, gone: Copies, come: Copies, before: Numbers, after: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Rows without a partner that have the same key on both sides, if it comes once on each."""
        if not self._compared.key or not len(before) or not len(after):
            return before[:0], after[:0]
        wanted = Schema([field for field in self._read.fields if field.name in self._compared.key_columns])
        old = _once(self._keys(gone.chosen(before).values(_own(step.removed, wanted))), "old")
        new = _once(self._keys(come.chosen(after).values(_own(step.added, wanted))), "new")
        names = [name for name in old.column_names if name != "old"]
        found = old.join(new, keys=names, join_type="inner", use_threads=False)
        return before[found["old"].to_numpy()], after[found["new"].to_numpy()]

    def _keys(self, rows: pyarrow.Table) -> pyarrow.Table:
        parts = [joinable(rows[way[0]], list(way[1:])) for way in self._compared.key.values()]
        return pyarrow.table(parts, names=[f"key {number}" for number in range(len(parts))])

    def _side(self, rows: Rows, copies: Copies, chosen: Numbers) -> _Side:
        has = chosen != _NONE
        places = numpy.where(has, numpy.cumsum(has) - 1, _NONE)
        return _Side(copies.chosen(chosen[has]).values(_own(rows, self._read)), places)

    # Showing them.

    def _compare(self, before: _Side, after: _Side, ids: Numbers) -> pyarrow.RecordBatch:
        """The rows that differ and pass, with the columns in which they do."""
        both = before.has & after.has
        differs = self._differing_cells(before, after, both)
        kept = numpy.flatnonzero((~both | differs.any(axis=0)) & self._passing(before, after))
        before, after = _Side(before.values, before.places[kept]), _Side(after.values, after.places[kept])
        changes = numpy.where(both[kept], UPDATED, numpy.where(after.has, INSERTED, DELETED))
        columns = {
            "change": pyarrow.array(changes, pyarrow.string()),
            "row_id": pyarrow.array(ids[kept], pyarrow.int64()),
            **({KEY: self._key(before, after)} if self._compared.key else {}),
            "columns": _names_where(differs[:, kept], self._compared.shown.names),
            "before": before.column(_structs(before.values, self.form.field("before").type)),
            "after": after.column(_structs(after.values, self.form.field("after").type)),
        }
        return pyarrow.RecordBatch.from_arrays([columns[name] for name in self.form.names], schema=self.form)

    def _differing_cells(self, before: _Side, after: _Side, both: Mask) -> Mask:
        """Which cells of each row differ, a line for each column; none of a row that only one side has."""
        names = self._compared.shown.names
        differs = numpy.zeros((len(names), len(both)), numpy.bool_)
        if both.any():
            old, new = (side.values.take(pyarrow.array(side.places[both])) for side in (before, after))
            for place, name in enumerate(names):
                if name in self._compared.dropped:
                    continue
                differs[place, both] = ~same_values(old.column(name), new.column(name))
        return differs

    def _passing(self, before: _Side, after: _Side) -> Mask:
        """Which rows pass the condition, as they were before or as they are after."""
        if self._filter is None:
            return numpy.ones(len(before.places), numpy.bool_)
        masks = (side.column(_mask(self._filter, side.values)).fill_null(False) for side in (before, after))
        one, other = (mask.to_numpy(zero_copy_only=False) for mask in masks)
        passing: Mask = one | other
        return passing

    def _key(self, before: _Side, after: _Side) -> pyarrow.StructArray:
        """The key of each row: as it is after, before if the row is gone."""
        is_after = pyarrow.array(after.has)
        form = self.form.field(KEY).type
        parts = []
        for place, way in enumerate(self._compared.key.values()):
            old, new = (side.column(_whole(_inside(side.values[way[0]], way[1:]))) for side in (before, after))
            parts.append(pyarrow.compute.if_else(is_after, _stored(new), _stored(old)).cast(form.field(place).type))
        return pyarrow.StructArray.from_arrays(parts, fields=list(form))


def _has_both(step: Step) -> bool:
    """Whether both states have rows that the other does not have in the same place."""
    return bool(step.removed.pieces) and bool(step.added.pieces)


def _own(rows: Rows, wanted: Schema) -> Schema:
    """The wanted columns as the files of these rows have them."""
    own = {field.name: field for field in rows.schema.fields}
    return Schema([own[name] for name in wanted.names])


def _shown_ids(gone: Copies, come: Copies, before: Numbers, after: Numbers) -> Numbers:
    """The id that each row is shown with: the one that it has after, before if it is gone."""
    if not come.count or not gone.count:
        return gone.ids[before] if gone.count else come.ids[after]
    return numpy.where(after != _NONE, come.ids[after], gone.ids[before])


def _rows_with(ids: Numbers, wanted: Numbers) -> Numbers:
    """The places of the wanted ids."""
    return numpy.flatnonzero(numpy.isin(ids, wanted))


def _once(keys: pyarrow.Table, name: str) -> pyarrow.Table:
    """The keys that come once, each with its place."""
    placed = keys.append_column("place", pyarrow.array(numpy.arange(keys.num_rows)))
    found = placed.group_by(keys.column_names).aggregate([("place", "min"), ("place", "count")])
    single = found.filter(pyarrow.compute.equal(found["place_count"], 1))
    return single.drop_columns(["place_count"]).rename_columns({"place_min": name})


def _names_where(differs: Mask, names: Sequence[str]) -> pyarrow.ListArray:
    """For each row the names of the columns that differ."""
    _, columns = numpy.nonzero(differs.T)
    offsets = numpy.concatenate([[0], numpy.cumsum(differs.sum(axis=0))]).astype(numpy.int32)
    return pyarrow.ListArray.from_arrays(
        pyarrow.array(offsets), pyarrow.array(names, pyarrow.string()).take(pyarrow.array(columns))
    )


def _structs(values: pyarrow.Table, form: pyarrow.StructType) -> pyarrow.StructArray:
    if not form.num_fields:
        return pyarrow.array([{}] * values.num_rows, form)
    columns = [_whole(values.column(field.name)) for field in form]
    return pyarrow.StructArray.from_arrays(columns, fields=list(form))


def _mask(filter: Filter, values: pyarrow.Table) -> pyarrow.BooleanArray:
    masks = [passing_mask(filter, batch) for batch in values.combine_chunks().to_batches()]
    return pyarrow.concat_arrays(masks) if masks else pyarrow.array([], pyarrow.bool_())


def _inside(column: pyarrow.ChunkedArray, path: Sequence[str]) -> pyarrow.ChunkedArray:
    for name in path:
        column = pyarrow.compute.struct_field(column, name)
    return column


def _stored(column: pyarrow.Array) -> pyarrow.Array:
    """A column in a form that Arrow's functions take, which know no extension types."""
    return column.storage if isinstance(column, pyarrow.ExtensionArray) else column


def _whole(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    return column.combine_chunks()


def _add_counts(counts: dict[str, int], values: pyarrow.Array) -> None:
    for found in pyarrow.compute.value_counts(values).to_pylist():
        counts[found["values"]] += found["counts"]
