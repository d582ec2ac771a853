"""A table's live files by the long way, to compare with."""

from lakebed.catalog.data.deltas import history, whole_manifest
from lakebed.catalog.data.live_files import TableFiles
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.snapshot import EMPTY, over


def files_from_deltas(work: Work, state: TableState) -> TableFiles:
    """The full replay: all deltas folded, from the first on."""
    deltas = history(work, state.partition)[::-1]
    overlay = over(EMPTY, (whole_manifest(work.context, delta) for delta in deltas))
    return TableFiles(None, overlay, deltas[-1] if deltas else None)
