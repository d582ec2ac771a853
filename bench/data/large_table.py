"""A table of many rows in large files, written by the local engine: what a merge of few rows must not read."""

from pathlib import Path

import numpy
import pyarrow

import lakebed

NAME = "orders"
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("id", pyarrow.int64(), nullable=False),
        ("customer", pyarrow.int32()),
        ("price", pyarrow.float64()),
        ("status", pyarrow.string()),
    ]
)


def create(folder: Path, files: int, rows: int) -> lakebed.Lake:
    """A lake with a table of so many files, each of so many rows; ids ascend, and are the primary key."""
    lake = lakebed.connect(folder)
    table = lake.catalog().create_table(NAME, SCHEMA, primary_key=["id"])
    numbers = numpy.arange(rows, dtype=numpy.int64)
    states = pyarrow.array(["open", "paid", "sent", "lost"]).take(pyarrow.array(numbers % 4))
    columns = [pyarrow.array((numbers * 7919 % 10_000).astype(numpy.int32)), pyarrow.array(numbers % 500 / 4), states]
    for number in range(files):
        ids = pyarrow.array(numbers + number * rows)
        table.append(pyarrow.table([ids, *columns], schema=SCHEMA))
    return lake
