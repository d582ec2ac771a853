"""Writing rows for a work: few of them inline in its commit, the others to files."""

from typing import Any

from lakebed.arrow.write.checks import checked
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.properties import checks_of, inline_bytes, write_options
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.inline import BUDGET_BYTES
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def write_rows(work: Work, state: TableState, data: Any) -> Written:
    """Write rows for a table as it is in `state`: inline where the commit has room for them, else to files.

    `Invalid` if one does not fit, or breaks a check of the table.
    """
    with about(work, state.id):
        checks = checks_of(work, state.id)
        return _written(work, state, checked(checks, state.schema, data) if checks else data)


def _written(work: Work, state: TableState, data: Any) -> Written:
    limit, room = inline_bytes(work, state.id), BUDGET_BYTES - work.inline_bytes()
    if limit and room > 0:
        kept = inline(state.schema, data, limit, state.spec, state.sort_order, room_bytes=room)
        if isinstance(kept, Inlined):
            return Written(kept.entries, kept.bodies)
        data = kept
    return Written(write_files(work, state, data))


def write_files(work: Work, state: TableState, data: Any) -> list[DataFileRef]:
    """Write rows to files, as large as the table wants them, under names that no other attempt has."""
    files, options = work.context.files, write_options(work, state)
    return write(files, state.data_folder, state.schema, data, state.spec, state.sort_order, options)
