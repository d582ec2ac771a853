"""Tables whose files exist only as entries: as many as a figure needs, and none of them on disk.

Each file has a thousand rows of six columns. Ids ascend from file to file, as in appends; customers are scattered, so
that each part of a checkpoint has files for every filter by customer.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pyarrow

import lakebed
from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.checkpoints import write_checkpoint
from lakebed.catalog.data.live_files import files_since_checkpoint
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.work import Work
from lakebed.table.entries.columns import columns_of
from lakebed.table.entries.object import pack
from lakebed.table.entries.parts import PART_FILES, Recast
from lakebed.table.manifest.delta import ADDED
from lakebed.table.manifest.locations import location_to_proto
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, Part
from lakebed.table.manifest.snapshot import LiveFile

SCHEMA = pyarrow.schema(
    {
        "id": pyarrow.int64(),
        "customer": pyarrow.int32(),
        "price": pyarrow.float64(),
        "status": pyarrow.string(),
        "day": pyarrow.date32(),
        "at": pyarrow.timestamp("us", "UTC"),
    }
)
NAME = "sales.orders"
ROWS, BYTES = 1000, 40_000  # of each file
CUSTOMERS, SPAN = 1_000_000, 50  # a file has customers of a narrow range
ID = f"id = {700 * ROWS + 7}"
CUSTOMER = "customer = 424242"
"""Filters: the first leaves one file if there are more than 700; the second leaves 1 in 20,000."""

Numbers = numpy.ndarray[Any, Any]
Bounds = list[tuple[Numbers, Numbers]]


def bounds_of(numbers: Numbers) -> Bounds:
    """The bounds of each column in the files with these numbers, as Iceberg's single-value bytes."""
    customers = (numbers * 2_654_435_761 % 2**32 % (CUSTOMERS - SPAN)).astype("<i4")
    days, seconds = (20_000 + numbers // 1000).astype("<i4"), 20_000 * 86_400 + numbers
    ids, times = (numbers * ROWS).astype("<i8"), (seconds * 1_000_000).astype("<i8")
    same = numpy.ones(len(numbers))
    return [
        (ids, ids + (ROWS - 1)),
        (customers, customers + numpy.int32(SPAN)),
        ((same * 1.5).astype("<f8"), (same * 99.5).astype("<f8")),
        (numpy.full(len(numbers), b"lost"), numpy.full(len(numbers), b"sent")),
        (days, days),
        (times, times + 60_000_000),
    ]


def path_of(number: int) -> str:
    return f"data/{number * 0x9E3779B97F4A7C15 % 2**64:016x}-{number:020}.parquet"


def create(folder: Path, files: int) -> None:
    """Create a lake with one table that got this many files in one commit."""
    lake = lakebed.connect(folder)
    table = _new_table(lake)
    _append(table, range(files))
    lake.close()


def append_one_by_one(folder: Path, numbers: range) -> None:
    """Add the files with these numbers, with a commit for each."""
    lake = lakebed.connect(folder)
    table = lake.catalog().table(NAME)
    for number in numbers:
        _append(table, range(number, number + 1))
    lake.close()


def create_checkpointed(folder: Path, files: int) -> None:
    """Create a lake with one table whose checkpoint has this many files; adding them by deltas would take minutes."""
    lake = lakebed.connect(folder)
    table = _new_table(lake)
    _append(table, range(1))
    work = table._scope.read()
    state = table_state(work, table.id)
    newest = files_since_checkpoint(work, state).newest
    assert newest is not None
    starts = range(0, files, PART_FILES)
    parts = tuple(_part(work.context, state, range(start, min(files, start + PART_FILES))) for start in starts)
    write_checkpoint(work.context, state, newest, Recast(parts, ()))
    lake.close()


def entry(number: int) -> DataFileRef:
    """The entry of one file in a manifest."""
    known = [
        ColumnStatistics(
            field_id=place,
            value_count=ROWS,
            null_count=0,
            lower=lower.tobytes(),
            upper=upper.tobytes(),
            size=BYTES // 8,
        )
        for place, (lower, upper) in enumerate(bounds_of(numpy.array([number])), 1)
    ]
    return DataFileRef(path=path_of(number), file_size=BYTES, num_rows=ROWS, status=ADDED, statistics=known)


def _new_table(lake: lakebed.Lake) -> lakebed.Table:
    lake.catalog().create_namespace("sales")
    return lake.catalog().create_table(NAME, SCHEMA)


def _append(table: lakebed.Table, numbers: range) -> None:
    def do(work: Work) -> None:
        state = table_state(work, table.id)
        change_files(work, state, replace(delta_of(state, "insert"), added=tuple(map(entry, numbers))))

    table._scope.change(do, Request("append", (table.id,)))


def _part(context: Context, state: TableState, numbers: range) -> Part:
    path = f"{state.location}/metadata/{numbers.start:08}.part"
    bounds = bounds_of(numpy.arange(numbers.start, numbers.stop))
    packed = pack(_columns(numbers, bounds), path)
    context.files.put_if_absent(path, packed.data)
    return Part(
        entries=location_to_proto(packed.directory),
        files=len(numbers),
        rows=len(numbers) * ROWS,
        bytes=len(numbers) * BYTES,
        first_row_id=_first_row(numbers[0]),
        last_row_id=_first_row(numbers[-1]),
        ranges=_ranges(len(numbers), bounds),
    )


def _columns(numbers: range, bounds: Bounds) -> dict[str, pyarrow.Array]:
    """The first file's columns, repeated for each file, with replacements for the columns in which files differ."""
    first = entry(numbers[0])
    first.first_row_id = _first_row(numbers[0])
    columns = columns_of([LiveFile(first, 1, 1)])
    zeros = pyarrow.array(numpy.zeros(len(numbers), numpy.int64))
    made = {name: column.take(zeros) for name, column in columns.items()}
    made["path"] = pyarrow.array(map(path_of, numbers), pyarrow.string(), size=len(numbers))
    made["first_row_id"] = pyarrow.array(map(_first_row, numbers), pyarrow.int64(), size=len(numbers))
    for place, sides in enumerate(bounds, 1):
        made[f"lower.{place}"], made[f"upper.{place}"] = map(_binary, sides)
    return made


def _ranges(files: int, bounds: Bounds) -> Iterator[ColumnStatistics]:
    for place, (lower, upper) in enumerate(bounds, 1):
        least, greatest = numpy.sort(lower)[:1].tobytes(), numpy.sort(upper)[-1:].tobytes()
        yield ColumnStatistics(field_id=place, value_count=files * ROWS, null_count=0, lower=least, upper=greatest)


def _binary(values: Numbers) -> pyarrow.Array:
    """Values of equal width as an array of their bytes."""
    offsets = numpy.arange(len(values) + 1, dtype=numpy.int32) * values.dtype.itemsize
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(values.tobytes())]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(values), buffers)


def _first_row(number: int) -> int:
    return 1 + number * ROWS
