"""Copy-on-write: the files that a change takes rows out of are written again without them, and have no vectors.

Readers then never meet a vector, and a change costs what the files cost that it touches. A table asks for it by its
property `write.row-changes`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from lakebed.catalog.data.deletion_vectors import check_same_rows
from lakebed.catalog.data.row_changes import Discard, RowChange
from lakebed.catalog.data.table_files import live_among
from lakebed.catalog.tables.settings import text
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import DataFileRef

ROW_CHANGES: Final = "write.row-changes"


class RowChanges(Enum):
    """How rows are taken out of files."""

    MERGE_ON_READ = "merge-on-read"  # by vectors, which readers look at
    COPY_ON_WRITE = "copy-on-write"


Rewritten = Callable[[Work, TableState, Sequence[DataFileRef]], Sequence[DataFileRef]]
"""Writes the rows of files that their vectors leave, with their lineage."""


def row_changes(work: Work, table: str) -> RowChanges:
    """How a table wants it; `Invalid` if its property is no such way."""
    found = text(work, table, ROW_CHANGES)
    try:
        return RowChanges.MERGE_ON_READ if found is None else RowChanges(found)
    except ValueError:
        raise Invalid(
            "a property of the table is no way to change rows",
            subject=ROW_CHANGES,
            expected=" or ".join(one.value for one in RowChanges),
            found=repr(found),
            advice="Mend it with set_properties, or unset it.",
        ) from None


def without_vectors(
    work: Work, state: TableState, change: RowChange, rewritten: Rewritten, discard: Discard = RowChange.discard
) -> RowChange:
    """The change with new files in the place of those that got vectors, which are taken away again.

    It is a change of rows like others, no compaction: the log counts the copied rows as removed and added. If it fails,
    `discard` takes away what the change had written.
    """
    if not change.changed:
        return change
    files = work.home.files
    copied: tuple[DataFileRef, ...] = ()
    try:
        live = live_among(work, state, {one.path: one for one in change.changed})
        copied = tuple(rewritten(work, state, change.changed))
        check_same_rows(files, change.changed, copied)
    except BaseException:
        files.delete_many([one.path for one in copied])
        discard(change, files)
        raise
    change.discard_vectors(files)
    rows = sum(one.num_rows for one in copied)
    return replace(
        change,
        removed=(*change.removed, *live.values()),
        changed=(),
        copied=copied,
        detail=f"{rows} other rows of {len(live)} files copied",
    )
