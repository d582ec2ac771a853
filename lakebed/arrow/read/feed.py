"""The rows of a feed, by the local engine: each step's rows that went and that came, matched by their ids.

A step in which rows only went, or only came, is streamed. If there are both, the ids and sequence numbers of both sides
are read first, which leaves out the rows that were only moved; then the rows that are left are read and held in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from lakebed.arrow.expression.evaluate import passing_rows
from lakebed.arrow.read.read import read_except
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.columns import COMMIT_TIME, COMMIT_VERSION, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lakebed.catalog.feed.steps import Rows, Step
from lakebed.table.filter.filter import Filter, fields_of
from lakebed.table.manifest.inline import inline_id, is_inline
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import LAST_UPDATED, ROW_ID
from lakebed.table.schema.schema import Schema

Ids = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a feed's rows are shown: the columns, how changed rows are called, and which rows pass.

    `schema` has the columns of the feed last; `read` are the columns of the table that a row needs to be tested.
    """

    schema: Schema
    read: Schema
    updates: bool = True
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """Rows of a step by their ids: those that went and that came, without those that only moved.

    `pairs` are in both; `doubtful` are pairs whose values have to be compared to know whether they changed.
    """

    gone: Ids
    come: Ids
    pairs: Ids
    doubtful: Ids


def shown_rows(table: Schema, schema: Schema, *, updates: bool, filter: Filter | None) -> Shown:
    """How rows are shown in these columns: those of the table that only the filter needs are read too."""
    tested = {field.name for field in (() if filter is None else fields_of(filter))}
    read = [field for field in table.fields if field.name in schema.names or field.name in tested]
    return Shown(schema, Schema(read), updates, filter)


class ArrowFeed:
    """The rows of a feed; each method reads them again."""

    def __init__(self, steps: Sequence[Step], shown: Shown) -> None:
        self._steps, self._shown = steps, shown
        self._form = arrow_schema(shown.schema)

    def to_arrow(self) -> pyarrow.Table:
        return pyarrow.Table.from_batches(self._batches(), self._form)

    def to_batches(self) -> pyarrow.RecordBatchReader:
        return pyarrow.RecordBatchReader.from_batches(self._form, self._batches())

    def counts(self) -> dict[str, int]:
        return count_rows(self._steps, self._shown)

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        for batch in feed_batches(self._steps, self._shown):
            yield pyarrow.RecordBatch.from_arrays(batch.columns, schema=self._form)


def feed_batches(steps: Sequence[Step], shown: Shown) -> Iterator[pyarrow.RecordBatch]:
    """The rows of all steps, oldest first; in a step with both kinds of rows by their ids, what was before first."""
    for step in steps:
        for batch in _paired(step, shown) if step.has_pairs else _streamed(step, shown):
            kept = batch if shown.filter is None else passing_rows(shown.filter, batch)
            if kept.num_rows:
                yield kept.select(list(shown.schema.names))


def count_rows(steps: Sequence[Step], shown: Shown) -> dict[str, int]:
    """How many rows there are of each type; without a filter a file is opened only to match ids, or to compare rows."""
    counts = dict.fromkeys((INSERT, DELETE, PREIMAGE, POSTIMAGE), 0)
    for step in steps:
        for kind, rows in _counted(step, shown).items():
            counts[kind] += rows
    return counts


def _counted(step: Step, shown: Shown) -> dict[str, int]:
    if shown.filter is None and not step.has_pairs:
        return {DELETE: step.removed.count, INSERT: step.added.count}
    if shown.filter is None:
        matched = _matched(step)
        if not len(matched.doubtful):
            return _pair_counts(matched, shown.updates)
    batches = _paired(step, shown) if step.has_pairs else _streamed(step, shown)
    tested = (batch if shown.filter is None else passing_rows(shown.filter, batch) for batch in batches)
    found: dict[str, int] = {}
    for batch in tested:
        for value in pyarrow.compute.value_counts(batch.column("_change_type")).to_pylist():
            found[value["values"]] = found.get(value["values"], 0) + value["counts"]
    return found


def _pair_counts(matched: Matched, updates: bool) -> dict[str, int]:
    pairs = len(matched.pairs) if updates else 0
    return {
        DELETE: len(matched.gone) - pairs,
        INSERT: len(matched.come) - pairs,
        PREIMAGE: pairs,
        POSTIMAGE: pairs,
    }


# Rows that only went, or only came.


def _streamed(step: Step, shown: Shown) -> Iterator[pyarrow.RecordBatch]:
    for rows, kind in ((step.removed, DELETE), (step.added, INSERT)):
        for batch in _read(rows, shown.read):
            yield _labelled(batch, step, pyarrow.repeat(kind, batch.num_rows))


# Rows of both sides, matched by their ids.


def _paired(step: Step, shown: Shown) -> Iterator[pyarrow.RecordBatch]:
    matched = _matched(step)
    wanted = shown.read if not len(matched.doubtful) else step.added.schema
    gone, come = _chosen(step.removed, wanted, matched.gone), _chosen(step.added, wanted, matched.come)
    unchanged = _equal_ids(gone, come, matched.doubtful, wanted)
    pairs = numpy.setdiff1d(matched.pairs, unchanged, assume_unique=True)
    kinds = (PREIMAGE, POSTIMAGE) if shown.updates else (DELETE, INSERT)
    sides = [
        _typed(_without(gone, unchanged), pairs, DELETE, kinds[0], order=0),
        _typed(_without(come, unchanged), pairs, INSERT, kinds[1], order=1),
    ]
    both = pyarrow.concat_tables(sides)
    order = pyarrow.compute.sort_indices(both, [(ROW_ID.name, "ascending"), (_ORDER, "ascending")])
    for batch in both.take(order).drop_columns([_ORDER]).combine_chunks().to_batches():
        types = batch.column(_KIND)
        yield _labelled(batch.drop_columns([_KIND]), step, types)


_ORDER, _KIND = "lakebed.order", "lakebed.kind"


def _matched(step: Step) -> Matched:
    """Which rows of a step to read."""
    return matched_rows(step, *_lineage(step.removed), *_lineage(step.added))


def matched_rows(step: Step, gone: Ids, gone_numbers: Ids, come: Ids, come_numbers: Ids) -> Matched:
    """Which rows of a step changed or may have changed, by the ids and sequence numbers of both sides."""
    both, in_gone, in_come = numpy.intersect1d(gone, come, assume_unique=True, return_indices=True)
    numbers = gone_numbers[in_gone]
    same = numbers == come_numbers[in_come]
    in_doubt = (numbers > step.doubt.start) & (numbers <= step.doubt.end)
    moved = both[same & ~in_doubt]
    doubtful = both[~(same & ~in_doubt)] if step.is_net else both[same & in_doubt]
    return Matched(
        numpy.setdiff1d(gone, moved, assume_unique=True),
        numpy.setdiff1d(come, moved, assume_unique=True),
        numpy.setdiff1d(both, moved, assume_unique=True),
        doubtful,
    )


def _lineage(rows: Rows) -> tuple[Ids, Ids]:
    batches = list(_read(rows, Schema([]), [ROW_ID, LAST_UPDATED]))
    table = pyarrow.Table.from_batches(batches, arrow_schema(Schema([ROW_ID, LAST_UPDATED])))
    ids, numbers = (table.column(name).to_numpy() for name in (ROW_ID.name, LAST_UPDATED.name))
    return ids, numbers


def _chosen(rows: Rows, schema: Schema, ids: Ids) -> pyarrow.Table:
    """The rows with these ids."""
    wanted = pyarrow.array(ids)
    batches = [
        batch.filter(pyarrow.compute.is_in(batch.column(ROW_ID.name), value_set=wanted))
        for batch in _read(rows, schema)
    ]
    return pyarrow.Table.from_batches(batches, arrow_schema(_with(schema, [ROW_ID])))


def _equal_ids(gone: pyarrow.Table, come: pyarrow.Table, doubtful: Ids, schema: Schema) -> Ids:
    """Which of the doubtful rows have the same values on both sides."""
    if not len(doubtful):
        return doubtful
    ours, theirs = (_by_id(side, doubtful) for side in (gone, come))
    equal = numpy.ones(len(doubtful), numpy.bool_)
    for name in schema.names:
        equal &= _same_values(ours.column(name), theirs.column(name))
    return doubtful[equal]


def _by_id(side: pyarrow.Table, ids: Ids) -> pyarrow.Table:
    """The rows with these ids, which are sorted."""
    chosen = side.filter(pyarrow.compute.is_in(side.column(ROW_ID.name), value_set=pyarrow.array(ids)))
    return chosen.take(pyarrow.compute.sort_indices(chosen, [(ROW_ID.name, "ascending")]))


def _same_values(one: pyarrow.ChunkedArray, other: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Where two columns have the same values; nulls are the same, and so are two NaNs."""
    if pyarrow.types.is_nested(one.type):
        values = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return numpy.array([repr(before) == repr(after) for before, after in values], numpy.bool_)
    equal = pyarrow.compute.equal(one, other).fill_null(False)
    equal = pyarrow.compute.or_(equal, pyarrow.compute.and_(one.is_null(), other.is_null()))
    if pyarrow.types.is_floating(one.type):
        both_nan = pyarrow.compute.and_(pyarrow.compute.is_nan(one), pyarrow.compute.is_nan(other)).fill_null(False)
        equal = pyarrow.compute.or_(equal, both_nan)
    found: NDArray[Any] = equal.combine_chunks().to_numpy(zero_copy_only=False)
    return found


def _without(side: pyarrow.Table, ids: Ids) -> pyarrow.Table:
    if not len(ids):
        return side
    return side.filter(
        pyarrow.compute.invert(pyarrow.compute.is_in(side.column(ROW_ID.name), value_set=pyarrow.array(ids)))
    )


def _typed(side: pyarrow.Table, pairs: Ids, alone: str, paired: str, *, order: int) -> pyarrow.Table:
    is_pair = pyarrow.compute.is_in(side.column(ROW_ID.name), value_set=pyarrow.array(pairs))
    kinds = pyarrow.compute.if_else(is_pair, paired, alone)
    orders = pyarrow.repeat(pyarrow.scalar(order, pyarrow.int8()), side.num_rows)
    return side.append_column(_KIND, kinds).append_column(_ORDER, orders)


# Both.


def _read(rows: Rows, wanted: Schema, added: Sequence[Any] = (ROW_ID,)) -> Iterator[pyarrow.RecordBatch]:
    """The rows of pieces, with these columns of the feed as the pieces' files have them, and metadata columns."""
    own = {field.name: field for field in rows.schema.fields}
    schema = _with(Schema([own[name] for name in wanted.names]), added)
    sources = _with_bodies(rows)
    for piece in rows.pieces:
        yield from read_except(sources, PlannedFile(piece.file), schema, None, piece.left_out or None)


def _with_bodies(rows: Rows) -> Sources:
    """The sources with all inline rows of the pieces, fetched at once."""
    inline = [piece.file for piece in rows.pieces if is_inline(piece.file)]
    if not inline:
        return rows.sources
    bodies = zip(map(inline_id, inline), rows.sources.inline_rows(inline), strict=True)
    return replace(rows.sources, pending=dict(bodies))


def _with(schema: Schema, added: Sequence[Any]) -> Schema:
    return Schema([*schema.fields, *added])


def _labelled(batch: pyarrow.RecordBatch, step: Step, kinds: pyarrow.Array) -> pyarrow.RecordBatch:
    """Rows with the columns of the feed."""
    form = arrow_schema(Schema([COMMIT_VERSION, COMMIT_TIME]))
    version, time = (
        pyarrow.repeat(pyarrow.scalar(value, field.type), batch.num_rows)
        for value, field in zip((Decimal(int(step.version)), step.time), form, strict=True)
    )
    ids = batch.column(ROW_ID.name)
    names = [name for name in batch.schema.names if name != ROW_ID.name]
    columns = [*(batch.column(name) for name in names), kinds, version, time, ids]
    return pyarrow.RecordBatch.from_arrays(
        columns, names=[*names, "_change_type", COMMIT_VERSION.name, COMMIT_TIME.name, ROW_ID.name]
    )
