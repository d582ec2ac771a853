"""Deleting and overwriting rows: files that lose all their rows are removed, others get the deleted positions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow
from pyroaring import BitMap64

from lakebed.arrow.from_numpy import int64_values
from lakebed.arrow.read.scan import Scan
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, rows_deleted
from lakebed.catalog.data.target import Target
from lakebed.table.filter.filter import Filter
from lakebed.table.plan.covers import covers
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.schema.metadata_columns import FILE, POSITION, ROW_ID

Positions = Mapping[str, BitMap64]  # by the path of the file


def delete_rows(target: Target, filter: Filter | None) -> RowChange:
    """Delete the rows that pass, all without a filter. Only the filter's columns are read."""
    files = target.plan(filter).files
    if filter is None:
        return RowChange([planned.file for planned in files])
    whole = [planned.file for planned in files if covers(planned.residual or filter, planned.file)]
    removed = {file.path for file in whole}
    rest = [planned for planned in files if planned.file.path not in removed]
    return rows_deleted(target, Deletion(whole, deletion_of(positions_of(target, rest, filter), rest).some))


def overwrite_rows(target: Target, written: Written, filter: Filter | None, condition: str | None) -> RowChange:
    """Delete the rows that pass, all without a filter, in the change that adds the written rows."""
    deleted = delete_rows(target, filter)
    return RowChange(deleted.removed, deleted.changed, written, overwritten=condition)


def positions_of(target: Target, files: Sequence[PlannedFile], filter: Filter) -> Positions:
    """The positions of the rows of these files that pass."""
    positions: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    for batch in rows_of(target, files, filter, [FILE.name, POSITION.name]):
        add_positions(positions, batch.column(0), batch.column(1))
    return positions


def rows_of(
    target: Target, files: Sequence[PlannedFile], filter: Filter | None, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of planned files that pass; each batch is of one file, and none is empty."""
    scan = Scan(target.sources, target.schema, Plan(files, len(files)), filter, columns)
    return (batch for batch in scan.to_batches() if batch.num_rows)


def placed_rows(
    target: Target, files: Sequence[PlannedFile], filter: Filter | None
) -> Iterator[tuple[pyarrow.RecordBatch, pyarrow.Array, pyarrow.Array, pyarrow.Array]]:
    """The rows of planned files that pass, with the path of their file, their positions in it and their ids."""
    form = arrow_schema(target.schema)
    for batch in rows_of(target, files, filter, [*target.schema.names, FILE.name, POSITION.name, ROW_ID.name]):
        *own, paths, places, ids = batch.columns
        yield pyarrow.RecordBatch.from_arrays(own, schema=form), paths, places, ids


def add_positions(positions: defaultdict[str, BitMap64], paths: pyarrow.Array, places: pyarrow.Array) -> None:
    """Add the positions of rows of one file."""
    positions[paths[0].as_py()] |= BitMap64(int64_values(places).tolist())


def deletion_of(positions: Positions, files: Iterable[PlannedFile]) -> Deletion:
    """The rows at these positions, to be deleted."""
    return Deletion(
        (), [(planned.file, positions[planned.file.path]) for planned in files if planned.file.path in positions]
    )
