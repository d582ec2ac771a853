"""Entries of live files by the paths that system tables show: of one file, or all in an object of a checkpoint."""

import json
from collections.abc import Iterator
from typing import Any, Final

from lakebed.catalog.data.checkpoints import load_part
from lakebed.catalog.data.live_files import TableFiles, files_of_tables
from lakebed.catalog.data.row_sources import location_of
from lakebed.catalog.inspect.system_table import Keep
from lakebed.catalog.inspect.tables import batches_kept
from lakebed.catalog.tables.tables import table_states
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.framed import plain_values
from lakebed.table.manifest.locations import location_from_proto
from lakebed.table.manifest.snapshot import LiveFile

PART: Final = ".part"
"""How the names of a checkpoint's objects end."""


def entries_json(work: Work, path: str) -> bytes | None:
    """The entry of the live file with this `file_path`, or the list of those in a checkpoint's object; None if there is
    none. Its cost follows the live files of all tables.

    Fields are named as in a manifest, bytes are hexadecimal digits, and `snapshot_id` and `schema_id` are those of the
    commit that added the file.
    """
    found = _in_part if path.endswith(PART) else _of_file
    values = next((known for files in _tables(work) if (known := found(work, files, path)) is not None), None)
    return None if values is None else json.dumps(values, default=_hex, ensure_ascii=False).encode()


def _tables(work: Work) -> Iterator[TableFiles]:
    for batch in batches_kept(work, Keep()):
        yield from files_of_tables(work, table_states(work, [table.id for table in batch]))


def _in_part(work: Work, files: TableFiles, path: str) -> list[dict[str, Any]] | None:
    for part in () if files.checkpoint is None else files.checkpoint.parts:
        key = location_from_proto(part.entries).key
        if path in (key, work.context.files.location(key)):
            columns = load_part(work.context, part)
            return [_values(live) for live in columns.files(range(columns.num_rows))]
    return None


def _of_file(work: Work, files: TableFiles, path: str) -> dict[str, Any] | None:
    found = files.all(work.context).values()
    return next((_values(live) for live in found if location_of(work.context.files, live.file) == path), None)


def _values(live: LiveFile) -> dict[str, Any]:
    return {**plain_values(live.file), "snapshot_id": live.snapshot_id, "schema_id": live.schema_id}


def _hex(value: Any) -> str:
    return bytes(value).hex()
