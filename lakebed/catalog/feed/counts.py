"""Which tables a line's commits changed, and by how many rows: from the log alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from lakebed.catalog.objects.log import PAGE
from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.names import Name, shown_name
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Operation
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.store import Version

_MOVED_ONLY = frozenset({"compact", "stage"})
"""Operations that show no reader another row."""


@dataclass(frozen=True, slots=True)
class TableChanges:
    """How many rows the commits after a version wrote to a table and removed from it, as the log counts them.

    An update writes a row and removes one; copy-on-write also counts the rows that were copied. `first` and `last` are
    the versions of the commits that changed it.
    """

    id: str
    name: Name
    commits: int
    added_rows: int
    removed_rows: int
    first: Version
    last: Version

    def __str__(self) -> str:
        name = self.name if isinstance(self.name, str) else ".".join(self.name)
        commits = "1 commit" if self.commits == 1 else f"{self.commits:,} commits"
        return f"{name}: +{self.added_rows:,} -{self.removed_rows:,} rows in {commits}, {self.first} to {self.last}"


def table_changes(work: Work, since: Version) -> list[TableChanges]:
    """The tables whose rows changed after a version, up to the work's base; the last changed comes first."""
    found: dict[str, TableChanges] = {}
    for commit in _commits_after(work, since):
        counted: set[str] = set()
        for operation in commit.operations:
            if not _changes_rows(operation) or _is_staged(work, operation):
                continue
            table = operation.table or operation.object_id
            found[table] = _added(work, found.get(table), table, commit.version, operation, table not in counted)
            counted.add(table)
    return list(found.values())


def _commits_after(work: Work, since: Version) -> Iterator[Commit]:
    stored = every(partial(work.reader.log, limit=PAGE))
    return takewhile(lambda commit: commit.version > since, map(commit_of, stored))


def _changes_rows(operation: Operation) -> bool:
    rows = operation.counts.get("added_rows", 0) or operation.counts.get("removed_rows", 0)
    return operation.type == "activate" or (operation.type not in _MOVED_ONLY and bool(rows))


def _is_staged(work: Work, operation: Operation) -> bool:
    """Whether its rows went to a staged stream or partition. What shows them is an operation on the table."""
    if not operation.table or operation.type == "activate":
        return False
    life = work.life(operation.object_id)
    return life is not None and life.type in (pb.STREAM, pb.PARTITION)


def _added(
    work: Work, known: TableChanges | None, table: str, version: Version, operation: Operation, is_new: bool
) -> TableChanges:
    before = known or TableChanges(table, shown_name(work.last_parts(table)), 0, 0, 0, version, version)
    return replace(
        before,
        commits=before.commits + is_new,
        added_rows=before.added_rows + operation.counts.get("added_rows", 0),
        removed_rows=before.removed_rows + operation.counts.get("removed_rows", 0),
        first=version,
    )
