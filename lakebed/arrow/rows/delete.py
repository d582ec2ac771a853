"""Rows that are taken away: files of which all rows go are removed, of the others the positions are noted."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow
from pyroaring import BitMap64

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
    """Take away the rows that pass, all without a filter. Only the filter's columns are read."""
    planned = target.plan(filter).files
    if filter is None:
        return RowChange([one.file for one in planned])
    whole = [one.file for one in planned if covers(one.residual or filter, one.file)]
    gone = {one.path for one in whole}
    rest = [one for one in planned if one.file.path not in gone]
    return rows_deleted(target, Deletion(whole, noted(positions(target, rest, filter), rest).some))


def positions(target: Target, planned: Sequence[PlannedFile], filter: Filter) -> Positions:
    """Where the rows of these files are that pass."""
    found: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    for batch in rows_of(target, planned, filter, [FILE.name, POSITION.name]):
        note(found, batch.column(0), batch.column(1))
    return found


def rows_of(
    target: Target, planned: Sequence[PlannedFile], filter: Filter | None, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of planned files that pass; each batch is of one file, and none is empty."""
    scan = Scan(target.sources, target.schema, Plan(planned, len(planned)), filter, columns)
    return (batch for batch in scan.to_batches() if batch.num_rows)


def placed_rows(
    target: Target, planned: Sequence[PlannedFile], filter: Filter | None
) -> Iterator[tuple[pyarrow.RecordBatch, pyarrow.Array, pyarrow.Array, pyarrow.Array]]:
    """The rows of planned files that pass, with the path of their file, their positions in it and their ids."""
    form = arrow_schema(target.schema)
    for batch in rows_of(target, planned, filter, [*target.schema.names, FILE.name, POSITION.name, ROW_ID.name]):
        *own, paths, places, ids = batch.columns
        yield pyarrow.RecordBatch.from_arrays(own, schema=form), paths, places, ids


def note(found: defaultdict[str, BitMap64], paths: pyarrow.Array, places: pyarrow.Array) -> None:
    """Add the places of rows of one file."""
    found[paths[0].as_py()] |= BitMap64(places.to_numpy().tolist())


def noted(found: Positions, planned: Iterable[PlannedFile]) -> Deletion:
    """Positions as rows to be taken away."""
    return Deletion((), [(one.file, found[one.file.path]) for one in planned if one.file.path in found])


def overwrite_rows(target: Target, written: Written, filter: Filter | None, condition: str | None) -> RowChange:
    """Take away the rows that pass, all without a filter, for the sake of those that are written."""
    gone = delete_rows(target, filter)
    return RowChange(gone.removed, gone.changed, written, overwritten=condition)
