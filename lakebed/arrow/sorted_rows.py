"""Rows in the order of their primary keys, however many they are: in memory, or range of keys by range of keys."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow
import pyarrow.compute

from lakebed.arrow.fit import fit
from lakebed.arrow.transforms import column_at, plain_value
from lakebed.arrow.write.partitions import parts_of
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.table.filter.filter import Filter
from lakebed.table.keys.encoding import encode_key, key_types
from lakebed.table.keys.ranges import ALL, Key, KeyRange
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import UNPARTITIONED
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

HELD_BYTES: Final = 256 << 20
"""Of rows that are sorted in memory; twice that at the peak."""

SAMPLES: Final = 10_000
"""Keys that are looked at to cut what is too large to be sorted at once."""

Read = Callable[[Filter | None, Sequence[str] | None], pyarrow.RecordBatchReader]
"""The rows that pass a filter, with all columns or with some."""


@dataclass(frozen=True, slots=True)
class SortedGroup:
    """Rows in the form of files and in order, and the encoded keys of the first and the last of them."""

    rows: pyarrow.Table
    key_min: bytes
    key_max: bytes


@dataclass(frozen=True, slots=True)
class SortedRows:
    """The rows of a table by their keys. `schema` has the columns that are written, with the table's primary key."""

    read: Read
    schema: Schema
    order: SortOrder
    held_bytes: int = HELD_BYTES

    def groups(self, options: WriteOptions) -> Iterator[SortedGroup]:
        """All rows in order, as row groups of about the size that is asked for. No key is in two of them."""
        for table in self._tables(ALL):
            yield from self._cut(table, options)

    def _tables(self, within: KeyRange) -> Iterator[pyarrow.Table]:
        """The rows of a range in order, in tables that have no key in common."""
        batches, size = self._held(within, self.held_bytes)
        if size > self.held_bytes:
            rows = sum(one.num_rows for one in batches)
            del batches
            cuts = self._cuts(within, size / rows)
            if cuts:
                for part in within.cut(cuts):
                    yield from self._tables(part)
                return
            batches, size = self._held(within, None)  # rows of one key, which can't be told apart
        if size:
            table = pyarrow.Table.from_batches(batches)
            del batches
            yield from (part.rows for part in parts_of(table, self.schema, UNPARTITIONED, self.order))

    def _held(self, within: KeyRange, most: int | None) -> tuple[list[pyarrow.RecordBatch], int]:
        """Rows of a range in the form of files, up to those that are more than `most` bytes; and their bytes."""
        batches, size = [], 0
        for batch in fit(self.read(within.filter(self.schema), None), self.schema):
            if batch.num_rows:
                batches.append(batch)
                size += max(1, batch.nbytes)
            if most is not None and size > most:
                break
        return batches, size

    def _cuts(self, within: KeyRange, row_bytes: float) -> list[Key]:
        """Keys that cut a range into pieces that fit in memory, about; none if it has one key alone."""
        rows, keys = self._sample(within)
        distinct = sorted(set(keys))[1:]  # what begins with the least key would be the whole range again
        pieces = min(len(distinct), int(rows * row_bytes / self.held_bytes) + 1)
        keys.sort()
        chosen = {keys[place * len(keys) // (pieces + 1)] for place in range(1, pieces + 1)}
        return sorted(chosen & set(distinct)) or distinct[:1]

    def _sample(self, within: KeyRange) -> tuple[int, list[Key]]:
        """How many rows a range has, and the keys of some that lie evenly among them."""
        ways = self._ways
        names = list(dict.fromkeys(way[0].name for way in ways))
        rows, step, keys = 0, 0, list[Key]()
        for batch in self.read(within.filter(self.schema), names):
            step = step or max(1, batch.num_rows * 10 // SAMPLES)
            for place in range(-rows % step, batch.num_rows, step):
                keys.append(tuple(_value(batch, way, place) for way in ways))
            rows += batch.num_rows
            while len(keys) > SAMPLES:
                keys, step = keys[::2], step * 2
        return rows, keys

    def _cut(self, table: pyarrow.Table, options: WriteOptions) -> Iterator[SortedGroup]:
        columns = [column_at(table, way) for way in self._ways]
        types = key_types(self.schema)

        def key(place: int) -> bytes:
            values = [plain_value(column[place], type) for column, type in zip(columns, types, strict=True)]
            return encode_key(types, values)

        rows = table.num_rows
        step = max(1, min(options.group_rows, rows * options.group_bytes // max(1, table.nbytes)))
        start = 0
        while start < rows:
            end = min(rows, start + step)
            last = key(end - 1)
            end = bisect_right(range(rows), last, end, rows, key=key)
            yield SortedGroup(table.slice(start, end - start), key(start), last)
            start = end

    @property
    def _ways(self) -> list[tuple[Field, ...]]:
        return [self.schema.way_by_id(one) for one in self.schema.identifier_ids]


def _value(batch: pyarrow.RecordBatch, way: tuple[Field, ...], place: int) -> Any:
    found = batch.column(way[0].name)
    for inner in way[1:]:
        found = pyarrow.compute.struct_field(found.slice(place, 1), inner.name)
        place = 0
    return plain_value(found[place], way[-1].type)
