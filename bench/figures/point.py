"""The row with a key in a table of 1,000 files, against DuckDB and PyIceberg on the same files."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pyarrow

import lakebed
from bench.data import iceberg_table
from bench.figure import Figure, Row, duration, ratio
from bench.timing import Pairs, in_turn, seconds
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import table_state

FILES, ROWS = 1_000, 1_000  # and the rows of each
ROUNDS, EACH = 5, 5
NAME = "sales.orders"
SCHEMA = pyarrow.schema(
    [
        pyarrow.field("id", pyarrow.int64(), nullable=False),
        pyarrow.field("customer", pyarrow.int32()),
        pyarrow.field("price", pyarrow.float64()),
        pyarrow.field("status", pyarrow.string()),
        pyarrow.field("comment", pyarrow.string()),
    ]
)

Read = Callable[[int], object]


def measure(folder: Path, files: int = FILES) -> list[Row]:
    """Keys that ascend from file to file, the same files compacted, and scattered keys with bloom filters."""
    lake = lakebed.connect(folder / "lake")
    lake.catalog().create_namespace("sales")
    ascending = numpy.arange(files * ROWS)
    anywhere = numpy.random.default_rng(7).permutation(files * ROWS)
    clustered = _filled(lake, "sales.clustered", ascending, {})
    scattered = _filled(lake, "sales.scattered", anywhere, {"write.bloom.columns": "id"})
    rows = _compared(folder, clustered, f"{files:,} files, keys in order", files * ROWS)
    rows += _compared(folder, scattered, f"{files:,} files, keys anywhere, bloom filters", files * ROWS)
    clustered.compact()
    rows += _compared(folder, clustered, "keys in order, compacted", files * ROWS)
    lake.close()
    return rows


def _filled(
    lake: lakebed.Lake, name: str, keys: "numpy.ndarray[Any, Any]", properties: dict[str, str]
) -> lakebed.Table:
    own = {"write.inline-bytes": "0", **properties}
    table = lake.catalog().create_table(name, SCHEMA, primary_key=["id"], properties=own)
    for start in range(0, len(keys), ROWS):
        table.append(_rows(keys[start : start + ROWS]))
    return table


def _rows(keys: "numpy.ndarray[Any, Any]") -> pyarrow.Table:
    columns = [
        pyarrow.array(keys),
        pyarrow.array((keys % 5000).astype(numpy.int32)),
        pyarrow.array(keys * 0.25),
        pyarrow.array(["open", "sent", "lost", "paid"]).take(pyarrow.array(keys % 4)),
        pyarrow.array([f"order number {key} of a customer" for key in keys.tolist()]),
    ]
    return pyarrow.table(columns, SCHEMA)


def _compared(folder: Path, table: lakebed.Table, what: str, keys: int) -> list[Row]:
    paths = table.scan(columns=SCHEMA.names).files()
    connection, names = duckdb.connect(), ", ".join(SCHEMA.names)
    iceberg = _iceberg(folder / f"iceberg-{table.id}-{len(paths)}", table, folder / "lake")

    def by_duckdb(key: int) -> object:
        return connection.execute(f"SELECT {names} FROM read_parquet($1) WHERE id = $2", [paths, key]).fetchall()

    def by_iceberg(key: int) -> object:
        return iceberg.scan(f"id = {key}").to_arrow()

    def by_scan(key: int) -> object:
        return table.scan(f"id = {key}").to_arrow()

    _check(table.get(17), by_scan(17), by_duckdb(17), by_iceberg(17))
    chosen = _keys(keys)
    duck = _pairs(by_duckdb, table.get, chosen)
    peer = _pairs(by_iceberg, by_scan, chosen)
    return [
        duration(f"get(key), {what}", duck.theirs(), "the median of rounds"),
        duration(f"scan(where), {what}", peer.theirs(), "the median of rounds"),
        ratio(f"duckdb {version('duckdb')} / get(key), {what}", duck),
        ratio(f"pyiceberg {version('pyiceberg')} / scan(where), {what}", peer),
    ]


def _pairs(theirs: Read, ours: Read, keys: Iterator[int]) -> Pairs:
    return in_turn(
        lambda: seconds(partial(theirs, next(keys))),
        lambda: seconds(partial(ours, next(keys))),
        rounds=ROUNDS,
        each=EACH,
    )


def _iceberg(folder: Path, table: lakebed.Table, lake: Path) -> Any:
    work = table._scope.read()
    files = live_files(work, table_state(work, table.id)).values()
    return iceberg_table.create(folder, SCHEMA, files, lake)


def _keys(count: int) -> Iterator[int]:
    """Random keys that exist."""
    random = numpy.random.default_rng(11)
    while True:
        yield int(random.integers(count))


def _check(row: dict[str, Any] | None, *found: Any) -> None:
    """Fail unless all return the same row."""
    assert row is not None
    scanned, duck, iceberg = found
    assert [row] == scanned.to_pylist() == iceberg.to_pylist() and [tuple(row.values())] == duck


FIGURE = Figure("point", f"The row with a key in a table of {FILES:,} files", measure, quick=partial(measure, files=40))
