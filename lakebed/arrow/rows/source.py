"""Rows by their key: those of a source, with each key once, and those of a table with one of these keys."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as compute
from pyroaring import BitMap64

from lakebed.arrow.fit import fit_named, reader_of
from lakebed.arrow.rows.delete import deletion_of, rows_of
from lakebed.arrow.transforms import plain_value
from lakebed.arrow.types import arrow_schema, shown_value
from lakebed.arrow.validation import ValidRows
from lakebed.catalog.data.engine import Fill
from lakebed.catalog.data.row_changes import Deletion
from lakebed.catalog.data.target import Target
from lakebed.table.expression.merge_clauses import key_fields
from lakebed.table.filter.filter import LISTED, Filter, Value, all_of, between, one_of_values
from lakebed.table.keys.errors import null_key, repeated_key
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import FILE, POSITION, ROW_ID, selected_columns
from lakebed.table.schema.schema import Schema, missing_columns, with_optional
from lakebed.table.types.types import Field

JOINED_ROWS = 1 << 17
"""How many rows of a table are joined with the source at once."""

INDEX = "lakebed.source"  # no column has a name with a dot


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows in the form of a table, without a repeated key, and the columns of the key.

    `kept` are the columns that rows of the table keep when these rows replace them.
    """

    rows: pyarrow.Table
    fields: tuple[Field, ...]
    kept: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]


@dataclass(frozen=True, slots=True)
class Matches:
    """A table's rows that match rows of a source: where each is, its id, what it keeps, the source row's number."""

    planned: Sequence[PlannedFile]
    table: pyarrow.Table

    def deletion(self) -> Deletion:
        """The table's rows, to be deleted."""
        positions: defaultdict[str, BitMap64] = defaultdict(BitMap64)
        for path, place in zip(*(self.table[name].to_pylist() for name in (FILE.name, POSITION.name)), strict=True):
            positions[path].add(place)
        return deletion_of(positions, self.planned)

    def replaced(self, rows: int) -> pyarrow.Table:
        """For each row of the source, the table's row that it matches, the one with the least id; nulls if none."""
        order = self.table.select([INDEX, ROW_ID.name]).combine_chunks()
        places = compute.sort_indices(order, [(INDEX, "ascending"), (ROW_ID.name, "ascending")]).to_numpy()
        numbers, firsts = numpy.unique(order[INDEX].to_numpy()[places], return_index=True)
        found = numpy.full(rows, -1)
        found[numbers] = places[firsts]
        return self.table.take(pyarrow.array(found, mask=found < 0))


def keyed_rows(data: Any, schema: Schema, on: Sequence[str], fill: Fill) -> KeyedRows:
    """A caller's rows, in memory; `Invalid` if a key has a null or is repeated."""
    fields = key_fields(schema, on)
    reader = reader_of(data, schema)
    kept = missing_columns(schema, reader.schema.names, fields) if fill is Fill.KEEP else ()
    form = with_optional(schema, kept)
    rows = pyarrow.Table.from_batches(fit_named(ValidRows(reader), form), arrow_schema(form))
    keyed = KeyedRows(rows, fields, kept)
    check_keys(keyed)
    return keyed


def matches(target: Target, keyed: KeyedRows) -> Matches:
    """The table's rows with one of the keys; the read set gets all rows with these keys."""
    filter = key_filter(keyed)
    planned = target.plan_keys(filter).files
    keys = _plain(keyed.rows.select(keyed.names)).append_column(INDEX, _numbers(keyed.rows.num_rows))
    found = [FILE.name, POSITION.name, ROW_ID.name, *keyed.kept]
    names = [*keyed.names, *found]
    form = arrow_schema(selected_columns(target.schema, found)).append(pyarrow.field(INDEX, pyarrow.int64()))
    joined = [_joined(rows, keys, keyed.names) for rows in tables_to_join(rows_of(target, planned, filter, names))]
    return Matches(planned, pyarrow.concat_tables([form.empty_table(), *joined]))


def key_filter(keyed: KeyedRows) -> Filter:
    """A filter that all rows with one of the keys pass, and few others."""
    return all_of([column_filter(field, keyed.rows[field.name]) for field in keyed.fields])


def column_filter(field: Field, values: pyarrow.Array | pyarrow.ChunkedArray) -> Filter:
    """A filter that a column with one of these values passes, none of which is null; others may pass too."""
    few = _few_distinct(_storage(values))
    if few is not None:
        return one_of_values(field, [_value(value, field) for value in few])
    extremes = compute.min_max(_storage(values))
    low, high = (_value(extremes[name], field) for name in ("min", "max"))
    return between(field, low, high)


def _few_distinct(values: pyarrow.Array | pyarrow.ChunkedArray) -> pyarrow.Array | None:
    """The distinct values if a plan can list them; None if they are more, as the first of them mostly show."""
    for tried in (values.slice(0, 8 * LISTED), values):
        distinct = compute.unique(tried)
        if len(distinct) > LISTED:
            return None
    return distinct


def tables_to_join(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    """The rows in tables of about `JOINED_ROWS`."""
    waiting: list[pyarrow.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(rows.num_rows for rows in waiting) >= JOINED_ROWS:
            yield pyarrow.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def check_keys(keyed: KeyedRows) -> None:
    """Refuse rows if a key has a null or is repeated."""
    for name in keyed.names:
        if keyed.rows[name].null_count:
            raise null_key(name)
    if not keyed.rows.num_rows:
        return
    keys = _plain(keyed.rows.select(keyed.names))
    counted = keys.group_by(keyed.names).aggregate([([], "count_all")])
    twice = counted.filter(compute.greater(counted["count_all"], 1))
    if twice.num_rows:
        first = {name: shown_value(twice[name][0]) for name in keyed.names}
        raise repeated_key(", ".join(f"{name} = {value}" for name, value in first.items()), twice.num_rows)


def _value(scalar: pyarrow.Scalar, field: Field) -> Value:
    value = plain_value(scalar, field.type)
    assert value is not None, "keys have no nulls"
    return value


def _joined(rows: pyarrow.Table, keys: pyarrow.Table, names: list[str]) -> pyarrow.Table:
    """The rows that have one of the keys, without their keys, and with the number of the source's row."""
    # By numbers, since Arrow can't join rows that have lists or structs.
    numbered = _plain(rows.select(names)).append_column(FILE.name, _numbers(rows.num_rows))
    pairs = numbered.join(keys, keys=names, join_type="inner", use_threads=False)
    return rows.drop_columns(names).take(pairs[FILE.name]).append_column(INDEX, pairs[INDEX])


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """The table in a form that Arrow can join: extension types as their storage types."""
    return pyarrow.table([_storage(column) for column in table.columns], names=table.column_names)


def _storage(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    return column.cast(column.type.storage_type) if isinstance(column.type, pyarrow.BaseExtensionType) else column


def _numbers(count: int) -> pyarrow.Array:
    return pyarrow.array(range(count), pyarrow.int64())
