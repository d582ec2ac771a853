"""Rows in memory, cut by partitions and sorted."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow
import pyarrow.compute

from lakebed.arrow.transforms import column_at, plain_value, transformed
from lakebed.table.filter.filter import Value
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder, sorted_columns
from lakebed.table.partition.spec import PartitionSpec, bound_fields
from lakebed.table.schema.schema import Schema

Keys = list[tuple[pyarrow.Array, str]]  # columns to sort by, each with Arrow's word for its direction


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one partition in the sort order, and its values in the order of the spec's fields."""

    values: tuple[Value | None, ...]
    rows: pyarrow.Table


def parts_of(table: pyarrow.Table, schema: Schema, spec: PartitionSpec, order: SortOrder) -> Iterator[Part]:
    """A table in the form of files, cut by partitions, in the order of their first rows.

    Rows that the sort order does not distinguish stay in their order. All rows are copied once, unless they are in
    order already.
    """
    fields = bound_fields(spec, schema)
    columns = [transformed(column_at(table, bound.path), bound.field.transform, bound.source.type) for bound in fields]
    codes = _codes(columns, table.num_rows)
    keys: Keys = [(codes, "ascending"), *_sort_keys(table, schema, order)]
    if len(keys) > 1 or not _are_contiguous(codes):
        places = _sorted_places(keys)
        table, codes = table.take(places), codes.take(places)
        columns = [column.take(places) for column in columns]
    for start, length in _runs(codes):
        values = (plain_value(column[start], bound.type) for column, bound in zip(columns, fields, strict=True))
        yield Part(tuple(values), table.slice(start, length))


def _codes(columns: list[pyarrow.ChunkedArray], rows: int) -> pyarrow.Array:
    """The number of each row's partition; partitions are numbered in the order of their first rows."""
    codes = pyarrow.repeat(pyarrow.scalar(0, pyarrow.int64()), rows)
    for column in columns:
        values = pyarrow.compute.unique(column)
        places = pyarrow.compute.index_in(column, value_set=values).combine_chunks().cast(pyarrow.int64())
        both = pyarrow.compute.add(pyarrow.compute.multiply(codes, len(values)), places)
        # Renumbered each time: a product of all counts could exceed 64 bits.
        codes = pyarrow.compute.index_in(both, value_set=pyarrow.compute.unique(both)).cast(pyarrow.int64())
    return codes


def _are_contiguous(codes: pyarrow.Array) -> bool:
    """Whether all rows of each partition follow one another."""
    return sum(1 for _ in _runs(codes)) == len(pyarrow.compute.unique(codes))


def _sort_keys(table: pyarrow.Table, schema: Schema, order: SortOrder) -> Iterator[tuple[pyarrow.Array, str]]:
    for field, path in sorted_columns(order, schema):
        yield from _field_keys(transformed(column_at(table, path), field.transform, path[-1].type), field)


def _field_keys(values: pyarrow.ChunkedArray, field: SortField) -> Iterator[tuple[pyarrow.Array, str]]:
    direction = "ascending" if field.direction is Direction.ASCENDING else "descending"
    if values.null_count:
        yield values.is_null(), "descending" if field.null_order is NullOrder.FIRST else "ascending"
    if pyarrow.types.is_floating(values.type):
        # Iceberg sorts NaN above all numbers. Arrow would put it beside the nulls, in either direction.
        yield pyarrow.compute.is_nan(values), direction
    yield values, direction


def _sorted_places(keys: Keys) -> pyarrow.Array:
    names = [f"{place}" for place in range(len(keys))]
    table = pyarrow.table([column for column, _ in keys], names)
    directions = [(name, direction) for name, (_, direction) in zip(names, keys, strict=True)]
    return pyarrow.compute.sort_indices(table, directions)


def _runs(codes: pyarrow.Array) -> Iterator[tuple[int, int]]:
    """The start and the length of each run of equal numbers."""
    start = 0
    for end in pyarrow.compute.run_end_encode(codes).run_ends.to_pylist():
        yield start, end - start
        start = end
