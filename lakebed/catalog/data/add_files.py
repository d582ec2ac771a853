"""Adding existing files to a table, where they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakebed.catalog.data.changes import change_files, check_fits, delta_of, is_same, put_delta
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.reads import files_touched
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Invalid
from lakebed.metastore import DataRead
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def add_files(work: Work, written: TableState, files: Sequence[DataFileRef], summary: Mapping[str, str]) -> None:
    """Add files whose entries were made for the table in the state `written`; `Conflict` if they no longer fit.

    `AlreadyExists` for a file that the table has. A concurrent call that adds the same file conflicts: unlike the files
    that Lakebed writes, it has no fresh name.
    """
    state = check_fits(work, written, is_same)
    wanted = {file.path: file for file in files}
    check_new(work, state, wanted)
    put_delta(work, state, replace(delta_of(state, "insert"), added=tuple(files), summary=summary))


def check_new(work: Work, state: TableState, wanted: dict[str, DataFileRef]) -> None:
    """`AlreadyExists` for files that the table has, or that a concurrent call adds too."""
    live = sorted(live_among(work, state, wanted))
    if live:
        raise AlreadyExists(
            "a file is in the table already" if len(live) == 1 else f"{len(live)} files are in the table already",
            subject=f"{spelled(name_of(work, state.id))}: {', '.join(live)}",
            expected="files that are not in the table",
            advice="Leave them out: their rows would be there twice.",
        )
    pending = work.deltas.get(state.partition)
    removed = set() if pending is None else {file.path for file in pending.removed} & wanted.keys()
    if removed:
        raise Invalid(
            "one transaction removes a file and adds it",
            subject=f"{spelled(name_of(work, state.id))}: {', '.join(sorted(removed))}",
            advice="Add it in another transaction.",
        )
    if wanted:
        work.read(DataRead(state.partition, files_touched(work.context, frozenset(wanted))))


def exchange_files(
    work: Work,
    written: TableState,
    added: Sequence[DataFileRef],
    removed: Sequence[DataFileRef],
    changed: Sequence[DataFileRef],
    detail: str,
    summary: Mapping[str, str],
) -> None:
    """Make a table of another format's next version of a table: files that it added, removed and deleted rows from."""
    state = check_fits(work, written, is_same)
    check_new(work, state, {file.path: file for file in added})
    operation = "insert" if added else "delete"
    if added and (removed or changed):
        operation = "merge_rows"
    delta = replace(
        delta_of(state, operation),
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        summary=summary,
    )
    change_files(work, state, delta, detail)
    work.wrote({file.dv_path for file in (*added, *changed) if file.dv_path})
