"""Rows in the order of their primary keys, however many: sorted in memory, or one range of keys after another."""

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
"""The most bytes of rows that are sorted in memory; twice that at the peak."""

SAMPLES: Final = 10_000
"""How many keys are sampled to cut a range that is too large to sort at once."""

Read = Callable[[Filter | None, Sequence[str] | None], pyarrow.RecordBatchReader]
"""Reads the rows that pass a filter, with all columns or with some."""


@dataclass(frozen=True, slots=True)
class SortedGroup:
    """Sorted rows in the form of files, and the encoded keys of the first and the last row."""

    rows: pyarrow.Table
    key_min: bytes
    key_max: bytes


@dataclass(frozen=True, slots=True)
class SortedRows:
    """A table's rows in the order of their keys. `schema` has the columns to write, with the table's primary key."""

    read: Read
    schema: Schema
    order: SortOrder
    held_bytes: int = HELD_BYTES

    def groups(self, options: WriteOptions) -> Iterator[SortedGroup]:
        """All rows in order, as row groups of about the size in the options. No key is in two groups."""
        for table in self._tables(ALL):
            yield from self._cut(table, options)

    def _tables(self, within: KeyRange) -> Iterator[pyarrow.Table]:
        """The rows of a range in order, in tables without a key in common."""
        batches, size = self._read_batches(within, self.held_bytes)
        if size > self.held_bytes:
            rows = sum(batch.num_rows for batch in batches)
            del batches
            cuts = self._cuts(within, size / rows)
            if cuts:
                for part in within.cut(cuts):
                    yield from self._tables(part)
                return
            batches, size = self._read_batches(within, None)  # rows of a single key can't be cut
        if size:
            table = pyarrow.Table.from_batches(batches)
            del batches
            yield from (part.rows for part in parts_of(table, self.schema, UNPARTITIONED, self.order))

    def _read_batches(self, within: KeyRange, most: int | None) -> tuple[list[pyarrow.RecordBatch], int]:
        """Rows of a range in the form of files, until they have more than `most` bytes; and their bytes."""
        batches, size = [], 0
        for batch in fit(self.read(within.filter(self.schema), None), self.schema):
            if batch.num_rows:
                batches.append(batch)
                size += max(1, batch.nbytes)
            if most is not None and size > most:
                break
        return batches, size

    def _cuts(self, within: KeyRange, row_bytes: float) -> list[Key]:
        """Keys that cut a range into pieces that about fit in memory; none if it has a single key."""
        rows, keys = self._sample(within)
        distinct = sorted(set(keys))[1:]  # a cut at the least key would give the whole range again
        pieces = min(len(distinct), int(rows * row_bytes / self.held_bytes) + 1)
        keys.sort()
        chosen = {keys[place * len(keys) // (pieces + 1)] for place in range(1, pieces + 1)}
        return sorted(chosen & set(distinct)) or distinct[:1]

    def _sample(self, within: KeyRange) -> tuple[int, list[Key]]:
        """How many rows a range has, and the keys of an even sample of them."""
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
        return [self.schema.way_by_id(id) for id in self.schema.identifier_ids]


def _value(batch: pyarrow.RecordBatch, way: tuple[Field, ...], place: int) -> Any:
    column = batch.column(way[0].name)
    for inner in way[1:]:
        column = pyarrow.compute.struct_field(column.slice(place, 1), inner.name)
        place = 0
    return plain_value(column[place], way[-1].type)
