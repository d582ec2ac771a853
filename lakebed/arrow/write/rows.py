"""Writing rows for a work: few of them inline in its commit, the others to files."""

from lakebed.arrow.write.checks import checked
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.write import write
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import Target
from lakebed.catalog.objects.naming import about_table
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def write_rows(target: Target, data: object) -> Written:
    """Write rows for a table: inline where the commit has room for them, else to files.

    `Invalid` if one does not fit, or breaks a check of the table.
    """
    with about_table(target.name):
        checks = target.checks
        return _written(target, checked(checks, target.schema, data) if checks else data)


def _written(target: Target, data: object) -> Written:
    state, limit, room = target.state, target.inline_bytes, target.inline_room
    if limit and room > 0:
        kept = inline(state.schema, data, limit, state.spec, state.sort_order, room_bytes=room)
        if isinstance(kept, Inlined):
            return Written(kept.entries, kept.bodies)
        data = kept
    return Written(write_files(target, data))


def write_files(target: Target, data: object) -> list[DataFileRef]:
    """Write rows to files, as large as the table wants them, under names that no other attempt has."""
    state, options = target.state, target.write_options
    return write(target.files, state.data_folder, state.schema, data, state.spec, state.sort_order, options)
