"""Rows by their key: those of a source, with each key once, and those of a table with one of these keys."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute
from pyroaring import BitMap64

from lakebed.arrow.fit import fit
from lakebed.arrow.rows.delete import deletion_of, rows_of
from lakebed.arrow.transforms import plain_value
from lakebed.arrow.types import arrow_schema, file_schema, shown_value
from lakebed.catalog.data.row_changes import Deletion
from lakebed.catalog.data.target import Target
from lakebed.table.expression.merge_clauses import key_fields
from lakebed.table.filter.filter import LISTED, Filter, Value, all_of, between, one_of_values
from lakebed.table.keys.errors import null_key, repeated_key
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import FILE, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

JOINED_ROWS = 1 << 17
"""How many rows of a table are joined with the source at once."""

INDEX = "lakebed.source"  # no column has a name with a dot


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows in the form of a table, without a repeated key, and the columns of the key."""

    rows: pyarrow.Table
    fields: tuple[Field, ...]

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]


@dataclass(frozen=True, slots=True)
class Matches:
    """A table's rows that match rows of a source: where each is, its id, and the number of the source's row."""

    planned: Sequence[PlannedFile]
    table: pyarrow.Table

    def deletion(self) -> Deletion:
        """The table's rows, to be deleted."""
        positions: defaultdict[str, BitMap64] = defaultdict(BitMap64)
        for path, place in zip(*(self.table[name].to_pylist() for name in (FILE.name, POSITION.name)), strict=True):
            positions[path].add(place)
        return deletion_of(positions, self.planned)

    def row_ids(self, rows: int) -> pyarrow.Array:
        """For each row of the source, the id of the table's row that it matches; null if there is none."""
        ids: list[int | None] = [None] * rows
        for index, row_id in zip(*(self.table[name].to_pylist() for name in (INDEX, ROW_ID.name)), strict=True):
            ids[index] = row_id if ids[index] is None else ids[index]
        return pyarrow.array(ids, pyarrow.int64())


def keyed_rows(data: Any, schema: Schema, on: Sequence[str]) -> KeyedRows:
    """A caller's rows, in memory; `Invalid` if a key has a null or is repeated."""
    fields = key_fields(schema, on)
    batches = list(fit(data, schema))
    rows = pyarrow.Table.from_batches(batches, file_schema(schema)).rename_columns(schema.names)
    keyed = KeyedRows(rows.cast(arrow_schema(schema)), fields)
    check_keys(keyed)
    return keyed


def matches(target: Target, keyed: KeyedRows, columns: Sequence[str] = ()) -> Matches:
    """The table's rows with one of the keys, with some of its columns; the read set gets all rows with these keys."""
    filter = key_filter(keyed)
    planned = target.plan(filter).files
    keys = _plain(keyed.rows.select(keyed.names)).append_column(INDEX, _numbers(keyed.rows.num_rows))
    names = [*dict.fromkeys([*keyed.names, *columns]), FILE.name, POSITION.name, ROW_ID.name]
    joined = [_joined(rows, keys, keyed.names) for rows in tables_to_join(rows_of(target, planned, filter, names))]
    if joined:
        return Matches(planned, pyarrow.concat_tables(joined))
    empty = pyarrow.table({FILE.name: [], POSITION.name: [], ROW_ID.name: [], INDEX: []})
    return Matches(planned, empty)


def key_filter(keyed: KeyedRows) -> Filter:
    """A filter that all rows with one of the keys pass, and few others."""
    return all_of([column_filter(field, keyed.rows[field.name]) for field in keyed.fields])


def column_filter(field: Field, values: pyarrow.Array | pyarrow.ChunkedArray) -> Filter:
    """A filter that a column with one of these values passes, none of which is null; others may pass too."""
    distinct = pyarrow.compute.unique(_storage(values))
    if len(distinct) <= LISTED:
        return one_of_values(field, [_value(value, field) for value in distinct])
    extremes = pyarrow.compute.min_max(_storage(values))
    low, high = (_value(extremes[name], field) for name in ("min", "max"))
    return between(field, low, high)


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
    twice = counted.filter(pyarrow.compute.greater(counted["count_all"], 1))
    if twice.num_rows:
        first = {name: shown_value(twice[name][0]) for name in keyed.names}
        raise repeated_key(", ".join(f"{name} = {value}" for name, value in first.items()), twice.num_rows)


def _value(scalar: pyarrow.Scalar, field: Field) -> Value:
    value = plain_value(scalar, field.type)
    assert value is not None, "keys have no nulls"
    return value


def _joined(rows: pyarrow.Table, keys: pyarrow.Table, names: list[str]) -> pyarrow.Table:
    return _plain(rows).join(keys, keys=names, join_type="inner", use_threads=False)


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """The table in a form that Arrow can join: extension types as their storage types."""
    return pyarrow.table([_storage(column) for column in table.columns], names=table.column_names)


def _storage(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    return column.cast(column.type.storage_type) if isinstance(column.type, pyarrow.BaseExtensionType) else column


def _numbers(count: int) -> pyarrow.Array:
    return pyarrow.array(range(count), pyarrow.int64())
