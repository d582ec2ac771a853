"""SQL's MERGE over a table's files: the table's rows stream past the source, which is held in memory."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow
import pyarrow.compute
from pyroaring import BitMap64

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.rows.delete import note, noted, placed_rows
from lakebed.arrow.rows.merge_rows import Merge, apply_clauses, inserted_rows
from lakebed.arrow.rows.source import KeyedRows, check_keys, column_filter
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.doomed import replaced
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_changes import RowChange, with_columns
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.expression.expression import ColumnOf
from lakebed.table.expression.merge_keys import KeyPair
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.filter.filter import ALWAYS, NEVER, Filter, all_of
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT


def merge_rows(work: Work, state: TableState, merge: Merge) -> RowChange:
    """Change, take away and add rows as the clauses say. Only files that may have a row that matches are read.

    With clauses for rows that the source does not match, all are. `Invalid` if a row would meet several of the source.
    """
    filter = None if merge.clauses.not_matched_by_source else _matching(merge)
    planned = plan(work, state, filter).files
    found: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    written_as = with_columns(state, ROW_ID)
    form = arrow_schema(written_as.schema)

    def merged() -> Iterator[pyarrow.RecordBatch]:
        seen: list[pyarrow.Array] = []
        for rows, paths, places, ids in placed_rows(work, state, planned, filter):
            result = apply_clauses(merge, rows)
            seen.append(result.matched)
            for gone in (result.updated, result.deleted):
                if len(gone):
                    note(found, paths, places.take(gone))
            if len(result.updated):
                yield pyarrow.RecordBatch.from_arrays([*result.rows.columns, ids.take(result.updated)], schema=form)
        new = _inserted(state, merge, seen)
        if new.num_rows:
            none = pyarrow.nulls(new.num_rows, pyarrow.int64())
            yield pyarrow.RecordBatch.from_arrays([*new.columns, none], schema=form)

    written = write_rows(work, written_as, pyarrow.RecordBatchReader.from_batches(form, merged()))
    return replaced(work, state, written, noted(found, planned))


def _inserted(state: TableState, merge: Merge, seen: Sequence[pyarrow.Array]) -> pyarrow.RecordBatch:
    """The rows that come new; of a table with a primary key each key once."""
    matched = pyarrow.concat_arrays([pyarrow.array([], pyarrow.int64()), *seen])
    new = inserted_rows(merge, pyarrow.compute.unique(matched))
    if state.schema.identifier_ids:
        check_keys(_keys(state.schema, new))
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
