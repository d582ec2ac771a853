"""Rows that take the place of those with the same key, or are new."""

from lakebed.arrow.rows.source import KeyedRows, matches
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import RowChange, replaced, with_columns
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.schema.metadata_columns import ROW_ID


def upsert_rows(work: Work, state: TableState, keyed: KeyedRows) -> RowChange:
    """Put rows in the place of those with the same keys, whose ids they take over; the others are added."""
    if not keyed.rows.num_rows:
        return RowChange()
    found = matches(work, state, keyed)
    rows = keyed.rows.append_column(ROW_ID.name, found.row_ids(keyed.rows.num_rows))
    written = write_rows(work, with_columns(state, ROW_ID), rows)
    return replaced(work, state, written, found.deletion())
