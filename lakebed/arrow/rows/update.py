"""Updating rows: they are deleted where they are, and written again with new values and the same ids."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import pyarrow
from pyroaring import BitMap64

from lakebed.arrow.rows.delete import add_positions, deletion_of, placed_rows
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import RowChange, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.metadata_columns import ROW_ID

Change = Callable[[pyarrow.RecordBatch], Sequence[pyarrow.Array]]
"""The new columns of rows, in the schema's order."""


def update_rows(target: Target, change: Change, filter: Filter | None) -> RowChange:
    """Change the rows that pass, all without a filter. They stream through, a batch at a time."""
    planned = target.plan(filter).files
    positions: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    written_as = target.with_columns(ROW_ID)
    form = arrow_schema(written_as.schema)

    def changed_rows() -> Iterator[pyarrow.RecordBatch]:
        for rows, paths, places, ids in placed_rows(target, planned, filter):
            add_positions(positions, paths, places)
            yield pyarrow.RecordBatch.from_arrays([*change(rows), ids], schema=form)

    written = write_rows(written_as, pyarrow.RecordBatchReader.from_batches(form, changed_rows()))
    return rows_replaced(target, written, deletion_of(positions, planned))
