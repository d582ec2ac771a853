"""Rows to be taken away, by where they are: files of which all rows go are removed, of the others vectors tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyroaring import BitMap64

from lakebed.catalog.data.deletion_vectors import live_rows, write_vectors
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Doomed:
    """Rows to be taken away: all of some files, and of others those at these positions."""

    whole: Sequence[DataFileRef] = ()
    some: Sequence[tuple[DataFileRef, BitMap64]] = ()


def taken_away(work: Work, state: TableState, rows: Doomed) -> RowChange:
    """Write the vectors. A file that has no row left is removed. The positions have to be of rows that are there."""
    files = work.home.files
    full = [file for file, places in rows.some if len(places) == live_rows(files, file)]
    gone = {one.path for one in full}
    changed = write_vectors(files, state.data_folder, [one for one in rows.some if one[0].path not in gone])
    return RowChange((*rows.whole, *full), changed)


def replaced(work: Work, state: TableState, written: Written, rows: Doomed) -> RowChange:
    """Take rows away, and have those in their place that are written; if that fails these are discarded."""
    try:
        gone = taken_away(work, state, rows)
    except BaseException:
        RowChange(written=written).discard(work.home.files)
        raise
    return RowChange(gone.removed, gone.changed, written)
