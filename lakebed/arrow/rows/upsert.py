"""Upserting rows: they replace rows with the same key, or are inserted."""

from lakebed.arrow.rows.source import KeyedRows, matches
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import RowChange, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.table.schema.metadata_columns import ROW_ID


def upsert_rows(target: Target, keyed: KeyedRows) -> RowChange:
    """Replace the rows with the same keys, whose ids the new rows take over; insert the rest."""
    if not keyed.rows.num_rows:
        return RowChange()
    matched = matches(target, keyed)
    rows = keyed.rows.append_column(ROW_ID.name, matched.row_ids(keyed.rows.num_rows))
    written = write_rows(target.with_columns(ROW_ID), rows)
    return rows_replaced(target, written, matched.deletion())
