"""Rows that take the place of others: of all, or of those that pass a filter."""

from lakebed.arrow.rows.delete import delete_rows
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.filter.filter import Filter


def overwrite_rows(
    work: Work, state: TableState, written: Written, filter: Filter | None, condition: str | None
) -> RowChange:
    """Take away the rows that pass, all without a filter, for the sake of those that are written."""
    gone = delete_rows(work, state, filter)
    return RowChange(gone.removed, gone.changed, written, overwritten=condition)
