"""SQL's MERGE over a table's files: the table's rows stream past the source, which is held in memory."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import pyarrow
import pyarrow.compute
import pyarrow.compute as compute
from pyroaring import BitMap64

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.fit import reader_of
from lakebed.arrow.rows.assignments import assigned
from lakebed.arrow.rows.delete import note, noted, placed_rows
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
    """A source that is bound to a table: what its rows are matched by, and what becomes of them."""

    target: Schema
    source: pyarrow.RecordBatch
    keys: tuple[KeyPair, ...]
    clauses: BoundClauses


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge makes of some rows of a table, by their places among them, each in ascending order.

    `rows` are the new values of those that are updated, with the table's columns; `matched` are the places of the
    source's rows that matched one of them.
    """

    updated: pyarrow.Array
    rows: pyarrow.RecordBatch
    deleted: pyarrow.Array
    matched: pyarrow.Array


def bind_merge(target: Schema, source: Any, on: str | Sequence[str], clauses: Sequence[Clause]) -> Merge:
    """Bind a source, which is Arrow or pandas and held in memory, to a table; `Invalid` for what does not fit."""
    given = _one_batch(reader_of(source).read_all())
    schema = schema_of(given.schema)
    form = arrow_schema(schema)
    # In the layouts that kernels take: few of them know views or dictionaries.
    columns = shaped(given.columns, given.schema.names, schema.fields, form, AS_GIVEN, given.num_rows)
    rows = pyarrow.RecordBatch.from_arrays(columns, schema=form)
    return Merge(target, rows, bind_keys(on, target, schema), bind_clauses(clauses, target, schema, micros_now()))


def _one_batch(table: pyarrow.Table) -> pyarrow.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise TooLarge(
            "the source of a merge is too large for the local engine",
            expected="columns of at most 2 GB",
            advice="Merge it in parts.",
        )
    return batches[0] if batches else pyarrow.RecordBatch.from_pylist([], schema=table.schema)


def apply_clauses(merge: Merge, target: pyarrow.RecordBatch) -> Merged:
    """What becomes of rows of the table.

    `Invalid` if more than one row of the source matches one of them, unless all such rows are deleted anyway.
    """
    pairs = matched_pairs(merge.keys, target, merge.source)
    if merge.clauses.decides_once:
        check_single(merge.keys, pairs, target)
    both = Rows({TARGET: target.take(pairs.target), SOURCE: merge.source.take(pairs.source)}, len(pairs.target))
    alone = _others(pairs.target, target.num_rows)
    single = Rows({TARGET: target.take(alone)}, len(alone))
    decisions = [
        *_decided(merge.clauses.matched, both, pairs.target, merge.target),
        *_decided(merge.clauses.not_matched_by_source, single, alone, merge.target),
    ]
    return _merged(decisions, merge.target, compute.unique(pairs.source))


def inserted_rows(merge: Merge, matched: pyarrow.Array) -> pyarrow.RecordBatch:
    """The rows that come new: those of the source that matched none of the table's, by the places of those that did."""
    places = _others(matched, merge.source.num_rows)
    rows = Rows({SOURCE: merge.source.take(places)}, len(places))
    return _merged(_decided(merge.clauses.not_matched, rows, places, merge.target), merge.target, matched).rows


def _others(places: pyarrow.Array, count: int) -> pyarrow.Array:
    rest = numpy.ones(count, bool)
    rest[places.to_numpy(zero_copy_only=False)] = False
    return pyarrow.array(numpy.flatnonzero(rest), pyarrow.int64())


@dataclass(frozen=True, slots=True)
class _Decision:
    """Rows that one clause is for: their places, and the new ones."""

    then: Then
    places: pyarrow.Array
    rows: pyarrow.RecordBatch | None


def _decided(clauses: Sequence[BoundClause], rows: Rows, places: pyarrow.Array, target: Schema) -> list[_Decision]:
    """What each clause does, to the rows that none before it was for."""
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


def _merged(decisions: Sequence[_Decision], target: Schema, matched: pyarrow.Array) -> Merged:
    form = arrow_schema(target)
    changed = [one for one in decisions if one.rows is not None]
    places = _joined([one.places for one in changed])
    order = compute.sort_indices(places)
    rows = pyarrow.concat_batches([one.rows for one in changed]) if changed else None
    deleted = compute.unique(_joined([one.places for one in decisions if one.then is Then.DELETE]))
    return Merged(
        places.take(order),
        pyarrow.RecordBatch.from_pylist([], schema=form) if rows is None else rows.take(order),
        deleted.take(compute.sort_indices(deleted)),
        matched,
    )


def _joined(places: Sequence[pyarrow.Array]) -> pyarrow.Array:
    return pyarrow.concat_arrays([pyarrow.array([], pyarrow.int64()), *places])


def merge_rows(target: Target, merge: Merge) -> RowChange:
    """Change, take away and add rows as the clauses say. Only files that may have a row that matches are read.

    With clauses for rows that the source does not match, all are. `Invalid` if a row would meet several of the source.
    """
    filter = None if merge.clauses.not_matched_by_source else _matching(merge)
    planned = target.plan(filter).files
    found: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    written_as = target.with_columns(ROW_ID)
    form = arrow_schema(written_as.schema)

    def merged() -> Iterator[pyarrow.RecordBatch]:
        seen: list[pyarrow.Array] = []
        for rows, paths, places, ids in placed_rows(target, planned, filter):
            result = apply_clauses(merge, rows)
            seen.append(result.matched)
            for gone in (result.updated, result.deleted):
                if len(gone):
                    note(found, paths, places.take(gone))
            if len(result.updated):
                yield pyarrow.RecordBatch.from_arrays([*result.rows.columns, ids.take(result.updated)], schema=form)
        new = _inserted(target.schema, merge, seen)
        if new.num_rows:
            none = pyarrow.nulls(new.num_rows, pyarrow.int64())
            yield pyarrow.RecordBatch.from_arrays([*new.columns, none], schema=form)

    written = write_rows(written_as, pyarrow.RecordBatchReader.from_batches(form, merged()))
    return rows_replaced(target, written, noted(found, planned))


def _inserted(schema: Schema, merge: Merge, seen: Sequence[pyarrow.Array]) -> pyarrow.RecordBatch:
    """The rows that come new; of a table with a primary key each key once."""
    matched = pyarrow.concat_arrays([pyarrow.array([], pyarrow.int64()), *seen])
    new = inserted_rows(merge, pyarrow.compute.unique(matched))
    if schema.identifier_ids:
        check_keys(_keys(schema, new))
    return new


def _keys(schema: Schema, rows: pyarrow.RecordBatch) -> KeyedRows:
    """The primary keys of rows, by their paths: a column of the key may be inside structs."""
    fields = tuple(replace(schema.field_by_id(one), name=schema.path_of(one)) for one in schema.identifier_ids)
    ways = [schema.way_by_id(one) for one in schema.identifier_ids]
    columns = [evaluate(ColumnOf(TARGET, way), Rows({TARGET: rows}, rows.num_rows)) for way in ways]
    return KeyedRows(pyarrow.table(columns, names=[one.name for one in fields]), fields)


def _matching(merge: Merge) -> Filter:
    """What every row of the table passes that a row of the source can match."""
    source = Rows({SOURCE: merge.source}, merge.source.num_rows)
    return all_of([_pair_filter(pair, source) for pair in merge.keys])


def _pair_filter(pair: KeyPair, source: Rows) -> Filter:
    values = evaluate(pair.source, source).drop_null()
    if not len(values):
        return NEVER  # nothing equals a null
    field = pair.column.way[-1]
    # Compared as another type than its own, the column has no bounds to compare; a NaN is in none.
    is_plain = isinstance(pair.target, ColumnOf) and len(pair.column.way) == 1 and field.type not in (FLOAT, DOUBLE)
    return column_filter(field, values) if is_plain else ALWAYS
