"""A scan as a lazy frame of polars, and as a relation of DuckDB; both push columns and filters into it."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.read.dataset import Narrowable, Reading, dataset_of
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid, Unavailable

if TYPE_CHECKING:
    import duckdb
    import polars


def relation(
    scan: Narrowable, connection: "duckdb.DuckDBPyConnection | None", name: str | None
) -> "duckdb.DuckDBPyRelation":
    """The rows as a relation on a connection, or on DuckDB's default one; with a name, as a view of it."""
    check_installed("duckdb")
    import duckdb

    opened = duckdb.default_connection() if connection is None else connection
    if not isinstance(opened, duckdb.DuckDBPyConnection):
        raise Invalid("this is not a connection of DuckDB", expected="duckdb.connect()", found=f"{opened!r:.80}")
    if name is None:
        return opened.from_arrow(dataset_of(scan))
    opened.register(name, dataset_of(scan))
    return opened.view(name)


def lazy_frame(scan: Narrowable) -> "polars.LazyFrame":
    """The rows as a lazy frame. Polars evaluates its filters itself, by its own rules; here they only prune."""
    check_installed("polars")
    import polars
    from polars.io.plugins import register_io_source

    form = arrow_schema(scan.schema)

    def frames(
        columns: list[str] | None, predicate: "polars.Expr | None", rows: int | None, batch_size: int | None
    ) -> Iterator["polars.DataFrame"]:
        shown = scan.schema.names if columns is None else columns
        needed = list(dict.fromkeys([*shown, *([] if predicate is None else predicate.meta.root_names())]))
        # A limit comes before the filter: `head(3).filter(…)` (polars 2.1).
        prunes = predicate is not None and rows is None
        reading = Reading(needed, _as_arrow(predicate, form) if prunes else None, is_exact=False)
        for batch in _first(reading.reader(scan), rows):
            frame = polars.DataFrame(batch)
            passing = frame if predicate is None else frame.filter(predicate)
            yield passing[shown]  # `select` takes names such as `*` and `^a.*$` for patterns

    return register_io_source(frames, schema=polars.DataFrame(form.empty_table()).schema)


def check_installed(package: str) -> None:
    """`Unavailable` with what to run if a package that is optional is missing."""
    if find_spec(package) is None:
        raise Unavailable(f"{package} is not installed", advice=f"Run `pip install 'lakebed[{package}]'`.")


def _first(reader: pyarrow.RecordBatchReader, rows: int | None) -> Iterator[pyarrow.RecordBatch]:
    """The batches with the first rows, all without a number."""
    left = rows
    for batch in reader:
        yield batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= batch.num_rows
            if left <= 0:
                return


def _as_arrow(predicate: Any, form: pyarrow.Schema) -> compute.Expression | None:
    """The part of a filter of polars that Arrow can express: polars itself says it, to a dataset without rows."""
    import polars
    from pyarrow.dataset import InMemoryDataset

    asked: list[compute.Expression | None] = []

    class Probe(InMemoryDataset):  # type: ignore[misc]  # pyarrow brings no types
        def to_batches(
            self, *, filter: compute.Expression | None = None, **options: Any
        ) -> Iterator[pyarrow.RecordBatch]:
            asked.append(filter)
            return iter(())

    polars.scan_pyarrow_dataset(Probe(form.empty_table())).filter(predicate).collect()
    return asked[0] if asked else None
