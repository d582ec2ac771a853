"""Files that were there before, added to a table where they are."""

from collections.abc import Sequence
from dataclasses import replace

from lakebed.catalog.data.changes import delta_of, fitting, put_delta
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.reads import files_touched
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Invalid
from lakebed.metastore import DataRead
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def add_files(work: Work, written: TableState, files: Sequence[DataFileRef]) -> None:
    """Add files whose entries were made for the table as it was in `written`; `Conflict` if they no longer fit.

    `AlreadyExists` for one that the table has. Whoever adds the same ones meanwhile is a conflict: their names are
    not fresh, as those of files are that Lakebed writes.
    """
    state = fitting(work, written)
    wanted = {one.path: one for one in files}
    _check_unknown(work, state, wanted)
    work.read(DataRead(state.partition, files_touched(work.context, frozenset(wanted))))
    put_delta(work, state, replace(delta_of(state, "insert"), added=tuple(files)))


def _check_unknown(work: Work, state: TableState, wanted: dict[str, DataFileRef]) -> None:
    live = sorted(live_among(work, state, wanted))
    if live:
        raise AlreadyExists(
            "a file is in the table already" if len(live) == 1 else f"{len(live)} files are in the table already",
            subject=f"{spelled(name_of(work, state.id))}: {', '.join(live)}",
            expected="files that are not",
            advice="Its rows would be there twice: leave it out.",
        )
    pending = work.deltas.get(state.id)
    gone = set() if pending is None else {one.path for one in pending.removed} & wanted.keys()
    if gone:
        raise Invalid(
            "one transaction takes a file away and adds it",
            subject=f"{spelled(name_of(work, state.id))}: {', '.join(sorted(gone))}",
            advice="Add it in a transaction of its own.",
        )
