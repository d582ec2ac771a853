"""Writing rows for a table: a few inline in the commit, more to files."""

from lakebed.arrow.write.checks import checked
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import Target
from lakebed.catalog.objects.naming import about_table
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def write_rows(target: Target, data: object) -> Written:
    """Write rows for a table: inline if the commit has room for them, else to files.

    `Invalid` if a row does not fit, or breaks a check of the table.
    """
    with about_table(target.name):
        checks = target.checks
        return _write(target, checked(checks, target.schema, data) if checks else data)


def _write(target: Target, data: object) -> Written:
    state, limit, room = target.state, target.inline_bytes, target.inline_room
    if limit and room > 0:
        rows = inline(state.schema, data, limit, state.spec, state.sort_order, room_bytes=room)
        if isinstance(rows, Inlined):
            return Written(rows.entries, rows.bodies)
        data = rows
    return Written(_write_files(target, data))


def _write_files(target: Target, data: object) -> list[DataFileRef]:
    """Write rows to files of the size that the table wants, under new names."""
    state, options = target.state, target.write_options
    return write(target.files, state.data_folder, state.schema, data, state.spec, state.sort_order, options)
