"""Compaction of a table by the local engine."""

from uuid import UUID

from lakebed.catalog.commits import Commit, Request
from lakebed.catalog.row_change import RowChange
from lakebed.errors import LakebedError, OutcomeUnknown
from lakebed.files import Files
from lakebed.lake.engine import load_engine
from lakebed.lake.rows import Rows
from lakebed.table.condition import Condition
from lakebed.table.filter import Filter
from lakebed.table.filter_binding import bind
from lakebed.table.schema import Schema


class Compacting(Rows):
    """The calls that change a table's rows, and the one that only lays them out anew."""

    __slots__ = ()

    def compact(
        self,
        *,
        where: str | Condition | None = None,
        target_bytes: int | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Write rows again that lie in small files, inline, beside deleted ones or in partitions of an older spec.

        No read changes: rows keep their ids, and earlier versions their files. Only files that may have rows for which
        `where` is true are taken; the new ones have about `target_bytes`, or what `write.target-file-bytes` says. Rows
        that come meanwhile are no conflict; files that are changed meanwhile are read again. If there is nothing to do
        the answer is None, and there is no commit.
        """
        condition = "" if where is None else str(where)
        request = Request("compact", (self.id, condition, str(target_bytes or "")), message, author, event_id)

        def filter_of(schema: Schema) -> Filter | None:
            return None if where is None else bind(where, schema)

        compaction = load_engine("arrow").Compaction(filter_of, target_bytes)
        files = self._scope.home.files
        try:
            commit = self._changed("compact", compaction.make, request, condition, _keep)
        except OutcomeUnknown:
            raise
        except LakebedError:
            compaction.discard(files)
            raise
        compaction.discard_unused(files)
        return commit


def _keep(change: RowChange, files: Files) -> None:
    """Leave what was written: the next attempt may have a use for it."""
