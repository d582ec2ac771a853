"""Upserting rows: they replace rows with the same key, or are inserted."""

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.rows.source import INDEX, KeyedRows, matches
from lakebed.arrow.write.rows import write_rows
from lakebed.catalog.data.row_changes import RowChange, rows_replaced
from lakebed.catalog.data.target import Target
from lakebed.table.schema.metadata_columns import ROW_ID


def upsert_rows(target: Target, keyed: KeyedRows) -> RowChange:
    """Replace the rows with the same keys, whose ids the new rows take over; insert the rest.

    A row that replaces several takes over the least of their ids, and what it keeps is from that row.
    """
    if not keyed.rows.num_rows:
        return RowChange()
    matched = matches(target, keyed)
    replaced = matched.replaced(keyed.rows.num_rows)
    rows = keyed.rows
    for name in keyed.kept:
        rows = rows.set_column(rows.column_names.index(name), name, _kept(rows[name], replaced, name))
    rows = rows.append_column(ROW_ID.name, replaced[ROW_ID.name])
    written = write_rows(target.with_columns(ROW_ID), rows)
    return rows_replaced(target, written, matched.deletion())


def _kept(defaults: pyarrow.ChunkedArray, replaced: pyarrow.Table, name: str) -> pyarrow.ChunkedArray:
    """The values of a column that the new rows don't have: of the rows that they replace, or defaults."""
    count = len(defaults)
    places = pyarrow.array(range(count), pyarrow.int64())
    from_defaults = compute.add(places, count)
    values = pyarrow.chunked_array([*replaced[name].chunks, *defaults.chunks], defaults.type)
    return values.take(compute.if_else(replaced[INDEX].combine_chunks().is_valid(), places, from_defaults))
