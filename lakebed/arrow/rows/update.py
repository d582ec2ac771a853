"""Rows that are changed: taken away where they are, and written again with other values and the same ids."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import pyarrow
from pyroaring import BitMap64

from lakebed.arrow.rows.delete import note, noted, placed_rows
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_changes import RowChange, replaced, with_columns
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.metadata_columns import ROW_ID

Changed = Callable[[pyarrow.RecordBatch], Sequence[pyarrow.Array]]
"""The new columns of rows, in the schema's order."""


def update_rows(work: Work, state: TableState, change: Changed, filter: Filter | None) -> RowChange:
    """Change the rows that pass, all without a filter. They stream through, a batch at a time."""
    planned = plan(work, state, filter).files
    found: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    written_as = with_columns(state, ROW_ID)
    form = arrow_schema(written_as.schema)

    def changed() -> Iterator[pyarrow.RecordBatch]:
        for rows, paths, places, ids in placed_rows(work, state, planned, filter):
            note(found, paths, places)
            yield pyarrow.RecordBatch.from_arrays([*change(rows), ids], schema=form)

    written = write_rows(work, written_as, pyarrow.RecordBatchReader.from_batches(form, changed()))
    return replaced(work, state, written, noted(found, planned))
