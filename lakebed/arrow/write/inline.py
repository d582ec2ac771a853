"""Inline rows: so few that a file would cost more than the rows. They are bodies in the metastore.

A body is one Arrow IPC stream with the columns of `file_schema`, like a data file. It has no checksum: the store's
values have checksums of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from secrets import randbits
from typing import Any

import pyarrow
from pyarrow.ipc import IpcWriteOptions, new_stream

from lakebed.arrow.fit import fit, reader_of
from lakebed.arrow.types import file_schema
from lakebed.arrow.validation import ValidRows
from lakebed.arrow.write.partitions import parts_of
from lakebed.arrow.write.statistics import add_statistics
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.delta import ADDED, COLUMNAR
from lakebed.table.manifest.inline import inline_path
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import UNSORTED, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.partition.values import set_partition
from lakebed.table.schema.schema import Schema

ID_BITS = 62
"""Size of a random id, which takes no round trip. Of 10 million in a table two collide once in 90,000 times."""

PLAIN_BYTES = 8_000
TRIED = 4  # rows that take more than this many limits in memory are not tried: they would hardly fit compressed

_PLAIN = IpcWriteOptions(use_threads=False)
_COMPRESSED = IpcWriteOptions(use_threads=False, compression="lz4")

_Part = tuple[tuple[Value | None, ...], pyarrow.RecordBatch]


@dataclass(frozen=True, slots=True)
class Inlined:
    """The entries of inline rows, one for each partition, and their bodies by inline id."""

    entries: tuple[DataFileRef, ...]
    bodies: Mapping[int, bytes]


def inline(
    schema: Schema,
    data: Any,
    limit_bytes: int,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    *,
    room_bytes: int,
) -> Inlined | ValidRows:
    """The rows as bodies; if there are too many, all of them, to be written to files.

    There are too many if one stream of all rows has more than `limit_bytes`, or their bodies, one for each partition,
    have more than `room_bytes` together. A reader is read only until that is known.
    """
    reader = reader_of(data, schema)
    batches, is_all = _first_batches(reader, TRIED * limit_bytes)
    if is_all:
        fitted = list(fit(_valid(reader.schema, batches), schema))
        inlined = _inlined(schema, fitted, limit_bytes, spec, order) if fitted else Inlined((), {})
        if inlined is not None and sum(map(len, inlined.bodies.values())) <= room_bytes:
            return inlined
    return _valid(reader.schema, chain(batches, reader))


def _valid(form: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch]) -> ValidRows:
    return ValidRows(pyarrow.RecordBatchReader.from_batches(form, batches))


def _first_batches(reader: pyarrow.RecordBatchReader, most: int) -> tuple[list[pyarrow.RecordBatch], bool]:
    """The first batches, until they have more than `most` bytes; and whether these are all."""
    batches, size = [], 0
    for batch in reader:
        batches.append(batch)
        size += _size(batch, most)
        if size > most:
            return batches, False
    return batches, True


def _size(batch: pyarrow.RecordBatch, most: int) -> int:
    # The size of whole buffers, of which a slice may show little, takes 1 µs; the exact size takes 25.
    whole = int(batch.get_total_buffer_size())
    return whole if whole <= most else int(batch.nbytes)


def _inlined(
    schema: Schema, batches: Sequence[pyarrow.RecordBatch], limit: int, spec: PartitionSpec, order: SortOrder
) -> Inlined | None:
    """The rows as bodies, None if one stream of all rows has more bytes than the limit."""
    parts = list(_parts(schema, batches, spec, order))
    streams = [_stream(rows) for _, rows in parts]
    whole = streams[0] if len(streams) == 1 else _stream(_joined(batches))
    if len(whole) > limit:
        return None
    ids = [randbits(ID_BITS) for _ in parts]
    entries = (
        _entry(number, schema, spec, part, len(stream))
        for number, part, stream in zip(ids, parts, streams, strict=True)
    )
    return Inlined(tuple(entries), dict(zip(ids, streams, strict=True)))


def _parts(
    schema: Schema, batches: Sequence[pyarrow.RecordBatch], spec: PartitionSpec, order: SortOrder
) -> Iterator[_Part]:
    if not spec.fields and not order.fields:
        yield (), _joined(batches)
        return
    for part in parts_of(pyarrow.Table.from_batches(batches, file_schema(schema)), schema, spec, order):
        yield part.values, _joined(part.rows.to_batches())


def _joined(batches: Sequence[pyarrow.RecordBatch]) -> pyarrow.RecordBatch:
    return batches[0] if len(batches) == 1 else pyarrow.concat_batches(batches)


def _stream(rows: pyarrow.RecordBatch) -> bytes:
    plain = _encoded(rows, _PLAIN)
    # One row of 8 columns takes 1.6 kB and would grow. Of 82 kB, 1,000 rows, lz4 leaves 33 in 0.1 ms, zstd 16 in 0.6.
    return plain if len(plain) <= PLAIN_BYTES else min(plain, _encoded(rows, _COMPRESSED), key=len)


def _encoded(rows: pyarrow.RecordBatch, options: IpcWriteOptions) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with new_stream(sink, rows.schema, options=options) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def _entry(number: int, schema: Schema, spec: PartitionSpec, part: _Part, size: int) -> DataFileRef:
    values, rows = part
    file = DataFileRef(path=inline_path(number), file_size=size, num_rows=rows.num_rows, status=ADDED, format=COLUMNAR)
    add_statistics(file, schema, rows)
    if spec != UNPARTITIONED:
        set_partition(file, spec, schema, values)
    return file
