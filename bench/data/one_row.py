"""One row of eight columns, and appends of it through Lakebed's public API."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow

import lakebed
from bench.timing import seconds

WARM_UP = 400  # commits: past the first wrap of the WAL

FILES_ONLY = {"write.inline-bytes": "0"}
"""Properties of a table without inline rows: each append writes a Parquet file."""

ROW = pyarrow.table(
    {
        "id": pyarrow.array([1], pyarrow.int64()),
        "customer": pyarrow.array([17], pyarrow.int32()),
        "price": pyarrow.array([19.99], pyarrow.float64()),
        "paid": pyarrow.array([True]),
        "status": pyarrow.array(["open"]),
        "comment": pyarrow.array(["nothing more than a row"]),
        "day": pyarrow.array([date(2026, 11, 1)]),
        "at": pyarrow.array([datetime(2026, 11, 1, 12, 30, tzinfo=UTC)], pyarrow.timestamp("us", "UTC")),
    }
)


def open_warm(folder: Path) -> lakebed.Lake:
    """A lake that has had some commits, to a table that is not measured."""
    lake = lakebed.connect(folder)
    lake.catalog().create_namespace("sales")
    other = new_table(lake, "other")
    for _ in range(WARM_UP):
        other.append(ROW)
    return lake


def new_table(lake: lakebed.Lake, name: str, properties: Mapping[str, str] | None = None) -> lakebed.Table:
    return lake.catalog().create_table(f"sales.{name}", ROW.schema, properties=properties)


def append_to(table: lakebed.Table) -> Callable[[], float]:
    return lambda: seconds(lambda: table.append(ROW))
