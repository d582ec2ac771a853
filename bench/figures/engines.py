"""One column of 30, with a filter: DuckDB and polars ask a table, and its plain Parquet files."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import duckdb
import numpy
import polars
import pyarrow

import lakebed
from bench.figure import Figure, Row, duration, ratio
from bench.timing import Pairs, in_turn, seconds

COLUMNS, FILES, ROWS = 30, 8, 250_000  # and the rows of each file
ROUNDS, EACH = 5, 5
SCHEMA = pyarrow.schema(
    [(f"c{place}", (pyarrow.int64(), pyarrow.float64(), pyarrow.string())[place % 3]) for place in range(COLUMNS)]
)
MOST = 1.5
"""How many times as long as DuckDB over plain files a query may take."""


def measure(folder: Path, rows: int = ROWS) -> list[Row]:
    """A filter that keeps a fiftieth of the rows, half of them, and those of one file."""
    with lakebed.connect(folder / "lake") as lake:
        table = lake.catalog().create_table("t", SCHEMA, properties={"write.inline-bytes": "0"})
        for number in range(FILES):
            table.append(_rows(number, rows))
        return [*_by_duckdb(lake, table, rows), *_by_polars(table, rows)]


def _by_duckdb(lake: lakebed.Lake, table: lakebed.Table, rows: int) -> list[Row]:
    connection, name = duckdb.connect(), f"duckdb {version('duckdb')}"
    table.to_duckdb(connection, "ours")
    connection.sql(f"SELECT * FROM read_parquet({table.scan().files()!r})").create_view("plain")

    def pairs(query: str) -> Pairs:
        ours, theirs = (partial(_fetched, connection, query.format(table=table)) for table in ("ours", "plain"))
        return _pairs(ours, theirs)

    one = "SELECT sum(c1), count(*) FROM {table} WHERE "
    few = pairs(f"{one} c3 < 20000")
    by_query = _pairs(
        lambda: lake.query(f"{one.format(table='t')} c3 < 20000").to_list(),
        partial(_fetched, connection, f"{one.format(table='plain')} c3 < 20000"),
    )
    return [
        duration("to_duckdb, 1 column of 30, a filter that keeps 2%", few.ours(), f"{FILES * rows:,} rows"),
        ratio(f"to_duckdb / {name} over the files, keeps 2%", few, at_most=MOST),
        ratio(f"to_duckdb / {name} over the files, keeps 50%", pairs(f"{one} c3 < 500000"), at_most=MOST),
        ratio(f"to_duckdb / {name} over the files, rows of one file", pairs(f"{one} c0 = 3")),
        ratio(f"lake.query, with a new connection, / {name} over the files, keeps 2%", by_query),
    ]


def _by_polars(table: lakebed.Table, rows: int) -> list[Row]:
    files = table.scan().files()

    def asked(frame: polars.LazyFrame) -> object:
        return frame.filter(polars.col("c3") < 20000).select(polars.col("c1").sum(), polars.len()).collect().rows()

    pairs = _pairs(lambda: asked(table.to_polars()), lambda: asked(polars.scan_parquet(files)))
    return [ratio(f"to_polars / polars {version('polars')} over the files, keeps 2%", pairs)]


def _pairs(ours: Callable[[], object], theirs: Callable[[], object]) -> Pairs:
    assert _close(ours(), theirs())
    return in_turn(lambda: seconds(ours), lambda: seconds(theirs), rounds=ROUNDS, each=EACH)


def _close(ours: object, theirs: object) -> bool:
    """Whether two answers of one row are the same, whatever the order of the sums."""
    [[one, many]], [[other, others]] = ours, theirs  # type: ignore[misc, has-type]
    return many == others and abs(one - other) < 1e-6 * abs(other)


def _fetched(connection: duckdb.DuckDBPyConnection, query: str) -> object:
    return connection.execute(query).fetchall()


def _rows(number: int, rows: int) -> pyarrow.Table:
    """Random rows; c0 is the number of the file."""
    random = numpy.random.default_rng(number)
    kinds: tuple[Callable[[], object], ...] = (
        lambda: random.integers(0, 1_000_000, rows),
        lambda: random.random(rows),
        lambda: pyarrow.array([f"text {value}" for value in random.integers(0, 5000, rows).tolist()]),
    )
    columns = {f"c{place}": pyarrow.array(kinds[place % 3]()) for place in range(COLUMNS)}
    return pyarrow.table({**columns, "c0": pyarrow.array(numpy.full(rows, number))}, SCHEMA)


FIGURE = Figure("engines", "One column of 30 by DuckDB and polars", measure, quick=partial(measure, rows=5_000))
