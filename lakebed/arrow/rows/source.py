"""Rows by their key: those of a source, each key once, and those of a table that have one of these keys."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute
from pyroaring import BitMap64

from lakebed.arrow.fit import fit
from lakebed.arrow.rows.delete import noted, rows_of
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
"""Rows of a table that are joined with the source at once."""

INDEX = "lakebed.source"  # no column has a name with a dot


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows in the form of a table, which have their keys once, and the columns of the key."""

    rows: pyarrow.Table
    fields: tuple[Field, ...]

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.fields]


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a table's rows with a source's: where each is, its id, and which row of the source it has."""

    planned: Sequence[PlannedFile]
    table: pyarrow.Table

    def deletion(self) -> Deletion:
        """The table's rows, to be taken away."""
        found: defaultdict[str, BitMap64] = defaultdict(BitMap64)
        for path, place in zip(*(self.table[name].to_pylist() for name in (FILE.name, POSITION.name)), strict=True):
            found[path].add(place)
        return noted(found, self.planned)

    def row_ids(self, rows: int) -> pyarrow.Array:
        """For each row of the source the id of the table's row that it matches; null if there is none."""
        ids: list[int | None] = [None] * rows
        for index, row_id in zip(*(self.table[name].to_pylist() for name in (INDEX, ROW_ID.name)), strict=True):
            ids[index] = row_id if ids[index] is None else ids[index]
        return pyarrow.array(ids, pyarrow.int64())


def keyed_rows(data: Any, schema: Schema, on: Sequence[str]) -> KeyedRows:
    """The rows that somebody gives, in memory; `Invalid` if a key has a null or comes twice."""
    fields = key_fields(schema, on)
    batches = list(fit(data, schema))
    rows = pyarrow.Table.from_batches(batches, file_schema(schema)).rename_columns(schema.names)
    keyed = KeyedRows(rows.cast(arrow_schema(schema)), fields)
    check_keys(keyed)
    return keyed


def matches(target: Target, keyed: KeyedRows, columns: Sequence[str] = ()) -> Matches:
    """The table's rows with one of the keys, with some of its columns; all with these keys becomes read."""
    filter = key_filter(keyed)
    planned = target.plan(filter).files
    keys = _plain(keyed.rows.select(keyed.names)).append_column(INDEX, _numbers(keyed.rows.num_rows))
    names = [*dict.fromkeys([*keyed.names, *columns]), FILE.name, POSITION.name, ROW_ID.name]
    found = [_joined(held, keys, keyed.names) for held in _held(rows_of(target, planned, filter, names))]
    if found:
        return Matches(planned, pyarrow.concat_tables(found))
    empty = pyarrow.table({FILE.name: [], POSITION.name: [], ROW_ID.name: [], INDEX: []})
    return Matches(planned, empty)


def key_filter(keyed: KeyedRows) -> Filter:
    """What all rows with one of the keys pass, and few others."""
    return all_of([column_filter(one, keyed.rows[one.name]) for one in keyed.fields])


def column_filter(field: Field, values: pyarrow.Array | pyarrow.ChunkedArray) -> Filter:
    """What a column has to pass to have one of these values, none of which is null; it may let others pass."""
    distinct = pyarrow.compute.unique(_storage(values))
    if len(distinct) <= LISTED:
        return one_of_values(field, [_value(one, field) for one in distinct])
    extremes = pyarrow.compute.min_max(_storage(values))
    low, high = (_value(extremes[name], field) for name in ("min", "max"))
    return between(field, low, high)


def _value(scalar: pyarrow.Scalar, field: Field) -> Value:
    value = plain_value(scalar, field.type)
    assert value is not None, "keys have no nulls"
    return value


def _joined(held: pyarrow.Table, keys: pyarrow.Table, names: list[str]) -> pyarrow.Table:
    return _plain(held).join(keys, keys=names, join_type="inner", use_threads=False)


def _held(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    waiting: list[pyarrow.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= JOINED_ROWS:
            yield pyarrow.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """The table as Arrow's join takes it: extension types as what they are stored as."""
    return pyarrow.table([_storage(one) for one in table.columns], names=table.column_names)


def _storage(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    return column.cast(column.type.storage_type) if isinstance(column.type, pyarrow.BaseExtensionType) else column


def _numbers(count: int) -> pyarrow.Array:
    return pyarrow.array(range(count), pyarrow.int64())


def check_keys(keyed: KeyedRows) -> None:
    """Refuse rows of which a key has a null or comes twice."""
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
