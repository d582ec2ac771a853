"""SQL's MERGE: the table's rows stream past the source, which is in memory; clauses decide what becomes of each."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as compute
from pyroaring import BitMap64

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.fit import reader_of
from lakebed.arrow.rows.assignments import assigned
from lakebed.arrow.rows.delete import add_positions, deletion_of, placed_rows
from lakebed.arrow.rows.merge_match import check_single, matched_pairs
from lakebed.arrow.rows.source import KeyedRows, check_keys, column_filter
from lakebed.arrow.shape import AS_GIVEN, shaped
from lakebed.arrow.types import arrow_schema, schema_of
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import RowChange, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.errors import TooLarge
from lakebed.table.expression.expression import ColumnOf
from lakebed.table.expression.merge_clauses import (
    BoundClause,
    BoundClauses,
    Clause,
    KeyPair,
    Then,
    bind_clauses,
    bind_keys,
)
from lakebed.table.expression.scope import SOURCE, TARGET, micros_now
from lakebed.table.filter.filter import ALWAYS, NEVER, Filter, all_of
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT


@dataclass(frozen=True, slots=True)
class Merge:
    """A source bound to a table: what its rows are matched by, and what becomes of them."""

    target: Schema
    source: pyarrow.RecordBatch
    keys: tuple[KeyPair, ...]
    clauses: BoundClauses


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge for some rows of a table: which are updated and deleted, by ascending places.

    `rows` are the new values of the updated rows, with the table's columns; `matched` are the places of the source's
    rows that matched one of the table's.
    """

    updated: pyarrow.Array
    rows: pyarrow.RecordBatch
    deleted: pyarrow.Array
    matched: pyarrow.Array


def bind_merge(target: Schema, source: Any, on: str | Sequence[str], clauses: Sequence[Clause]) -> Merge:
    """Bind a source, rows in memory, to a table; `Invalid` if columns, keys or clauses don't fit."""
    given = _one_batch(reader_of(source, target).read_all())
    schema = schema_of(given.schema)
    form = arrow_schema(schema)
    # In the layouts that kernels take: few of them support views or dictionaries.
    columns = shaped(given.columns, given.schema.names, schema.fields, form, AS_GIVEN, given.num_rows)
    rows = pyarrow.RecordBatch.from_arrays(columns, schema=form)
    return Merge(target, rows, bind_keys(on, target, schema), bind_clauses(clauses, target, schema, micros_now()))


def merge_rows(target: Target, merge: Merge) -> RowChange:
    """Update, delete and insert rows as the clauses say. Only files that may have a matching row are read.

    Clauses for rows that the source does not match read all files. `Invalid` if several rows of the source match a row.
    """
    filter = None if merge.clauses.not_matched_by_source else _match_filter(merge)
    planned = (target.plan_keys if merge.clauses.not_matched else target.plan)(filter).files
    positions: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    written_as = target.with_columns(ROW_ID)
    form = arrow_schema(written_as.schema)

    def new_rows() -> Iterator[pyarrow.RecordBatch]:
        matched: list[pyarrow.Array] = []
        for rows, paths, places, ids in placed_rows(target, planned, filter):
            result = apply_clauses(merge, rows)
            matched.append(result.matched)
            for places_deleted in (result.updated, result.deleted):
                if len(places_deleted):
                    add_positions(positions, paths, places.take(places_deleted))
            if len(result.updated):
                yield pyarrow.RecordBatch.from_arrays([*result.rows.columns, ids.take(result.updated)], schema=form)
        inserted = _inserted(target.schema, merge, _joined(matched))
        if inserted.num_rows:
            no_ids = pyarrow.nulls(inserted.num_rows, pyarrow.int64())
            yield pyarrow.RecordBatch.from_arrays([*inserted.columns, no_ids], schema=form)

    written = write_rows(written_as, pyarrow.RecordBatchReader.from_batches(form, new_rows()))
    return rows_replaced(target, written, deletion_of(positions, planned))


def apply_clauses(merge: Merge, target: pyarrow.RecordBatch) -> Merged:
    """The result of a merge for rows of the table.

    `Invalid` if several rows of the source match one of them, unless all such rows are deleted anyway.
    """
    pairs = matched_pairs(merge.keys, target, merge.source)
    if merge.clauses.decides_once:
        check_single(merge.keys, pairs, target)
    both = Rows({TARGET: target.take(pairs.target), SOURCE: merge.source.take(pairs.source)}, len(pairs.target))
    alone = _other_places(pairs.target, target.num_rows)
    single = Rows({TARGET: target.take(alone)}, len(alone))
    decisions = [
        *_decisions(merge.clauses.matched, both, pairs.target, merge.target),
        *_decisions(merge.clauses.not_matched_by_source, single, alone, merge.target),
    ]
    return _merged_rows(decisions, merge.target, compute.unique(pairs.source))


def inserted_rows(merge: Merge, matched: pyarrow.Array) -> pyarrow.RecordBatch:
    """The rows to insert: those of the source that match no row of the table; `matched` has the places of the rest."""
    places = _other_places(matched, merge.source.num_rows)
    rows = Rows({SOURCE: merge.source.take(places)}, len(places))
    return _merged_rows(_decisions(merge.clauses.not_matched, rows, places, merge.target), merge.target, matched).rows


def _one_batch(table: pyarrow.Table) -> pyarrow.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise TooLarge(
            "the source of a merge is too large for the local engine",
            expected="columns of at most 2 GB",
            advice="Merge it in parts.",
        )
    return batches[0] if batches else pyarrow.RecordBatch.from_pylist([], schema=table.schema)


def _inserted(schema: Schema, merge: Merge, matched: pyarrow.Array) -> pyarrow.RecordBatch:
    """The rows to insert; `Invalid` if a primary key is repeated among them."""
    rows = inserted_rows(merge, compute.unique(matched))
    if schema.identifier_ids:
        check_keys(_keys(schema, rows))
    return rows


def _keys(schema: Schema, rows: pyarrow.RecordBatch) -> KeyedRows:
    """The primary keys of rows, by their paths: a column of the key may be inside structs."""
    fields = tuple(replace(schema.field_by_id(id), name=schema.path_of(id)) for id in schema.identifier_ids)
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    columns = [evaluate(ColumnOf(TARGET, way), Rows({TARGET: rows}, rows.num_rows)) for way in ways]
    return KeyedRows(pyarrow.table(columns, names=[field.name for field in fields]), fields)


def _match_filter(merge: Merge) -> Filter:
    """A filter that every row of the table passes that a row of the source can match."""
    source = Rows({SOURCE: merge.source}, merge.source.num_rows)
    return all_of([_pair_filter(pair, source) for pair in merge.keys])


def _pair_filter(pair: KeyPair, source: Rows) -> Filter:
    values = evaluate(pair.source, source).drop_null()
    if not len(values):
        return NEVER  # nothing equals a null
    field = pair.column.way[-1]
    # A column compared as another type has no bounds to compare, and NaN is in no bounds.
    is_plain = isinstance(pair.target, ColumnOf) and len(pair.column.way) == 1 and field.type not in (FLOAT, DOUBLE)
    return column_filter(field, values) if is_plain else ALWAYS


def _other_places(places: pyarrow.Array, count: int) -> pyarrow.Array:
    rest = numpy.ones(count, bool)
    rest[places.to_numpy(zero_copy_only=False)] = False
    return pyarrow.array(numpy.flatnonzero(rest), pyarrow.int64())


@dataclass(frozen=True, slots=True)
class _Decision:
    """The rows that one clause applies to: their places, and the new rows."""

    then: Then
    places: pyarrow.Array
    rows: pyarrow.RecordBatch | None


def _decisions(clauses: Sequence[BoundClause], rows: Rows, places: pyarrow.Array, target: Schema) -> list[_Decision]:
    """What each clause does to the rows that no clause before it applies to."""
    decisions = []
    for clause in clauses:
        holds = pyarrow.repeat(True, rows.count)
        if clause.where is not None:
            holds = evaluate(clause.where, rows).fill_null(False)
        decisions.append(_decision(clause, rows.filter(holds), places.filter(holds), target))
        rest = compute.invert(holds)
        rows, places = rows.filter(rest), places.filter(rest)
    return decisions


def _decision(clause: BoundClause, rows: Rows, places: pyarrow.Array, target: Schema) -> _Decision:
    if clause.then is Then.DELETE:
        return _Decision(clause.then, places, None)
    form = arrow_schema(target)
    before = rows.batches[TARGET].columns if clause.then is Then.UPDATE else [None] * len(form)
    return _Decision(
        clause.then,
        places,
        pyarrow.RecordBatch.from_arrays(assigned(clause.assignments, rows, target, before), schema=form),
    )


def _merged_rows(decisions: Sequence[_Decision], target: Schema, matched: pyarrow.Array) -> Merged:
    form = arrow_schema(target)
    changed = [decision for decision in decisions if decision.rows is not None]
    places = _joined([decision.places for decision in changed])
    order = compute.sort_indices(places)
    rows = pyarrow.concat_batches([decision.rows for decision in changed]) if changed else None
    deleted = compute.unique(_joined([decision.places for decision in decisions if decision.then is Then.DELETE]))
    return Merged(
        places.take(order),
        pyarrow.RecordBatch.from_pylist([], schema=form) if rows is None else rows.take(order),
        deleted.take(compute.sort_indices(deleted)),
        matched,
    )


def _joined(places: Sequence[pyarrow.Array]) -> pyarrow.Array:
    return pyarrow.concat_arrays([pyarrow.array([], pyarrow.int64()), *places])
