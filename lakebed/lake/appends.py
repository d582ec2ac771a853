"""Appending rows to a table."""

from typing import Any
from uuid import UUID

from lakebed.catalog.data import changes
from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.tables.properties import looks_at_keys
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, LakebedError, OutcomeUnknown
from lakebed.lake.engines import can_be_read_again, check_new_keys, write_rows
from lakebed.lake.growing import WRITES, Evolution, asked_evolution
from lakebed.lake.retry import WrittenOnce
from lakebed.lake.writes import Rows
from lakebed.table.manifest.inline import file_paths


class Appending(Rows):
    """The calls that change a table's rows, and the one that adds some."""

    __slots__ = ()

    def append(
        self,
        data: Any,
        *,
        evolve: Evolution = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Add rows: a Spark DataFrame, an Arrow table, batch or reader, a pandas DataFrame.

        Columns are matched by name, without case; those that lack get their default, and those that the table lacks
        are `Invalid`, or added to it in the same commit with `evolve="add"`. Files are written first, then one commit
        shows them all; rows of few bytes (property `write.inline-bytes`) are in the commit itself. If anything fails,
        nothing of it can be seen. If somebody changes the table's schema or partition spec meanwhile, rows that are in
        memory are written again; for others it is a `Conflict`. A row that breaks a check of the table is `Invalid`.
        """
        asked = asked_evolution(evolve)
        request = Request("append", (self.id, *asked), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        return self._grown(data, request, type(self)._appended) if asked else self._appended(data, request)

    def _appended(self, data: Any, request: Request) -> Commit | None:
        work = self._scope.read()
        if table_state(work, self.id).schema.identifier_ids and looks_at_keys(work, self.id):
            return self._appended_with_new_keys(data, request)
        for _ in range(WRITES - 1):
            seen = self._scope.read()
            written = table_state(seen, self.id)
            try:
                return self._append(data, request, seen, written)
            except Conflict:
                if not can_be_read_again(data) or changes.fits(self._state, written):
                    raise
        seen = self._scope.read()
        return self._append(data, request, seen, table_state(seen, self.id))

    def _append(self, data: Any, request: Request, seen: Work, state: TableState) -> Commit | None:
        rows = write_rows(seen, state, data)
        try:
            return self._scope.change(lambda work: changes.append(work, state, rows.files, rows.bodies), request, seen)
        except OutcomeUnknown:
            raise
        except LakebedError:
            # Nobody can see them; what can't be deleted now is left for garbage collection.
            self._scope.context.files.delete_many(file_paths(rows.files))
            raise

    def _appended_with_new_keys(self, data: Any, request: Request) -> Commit | None:
        """Write the rows once, and look for their keys as often as others change the table."""
        rows = WrittenOnce(data)

        def make(work: Work, state: TableState) -> RowChange:
            written = rows.written_for(work, state)
            with rows.used(work.context.files):
                check_new_keys(work, state, data, written)
            return RowChange(written=written)

        try:
            return self._changed("insert", make, request, "", RowChange.discard_vectors)
        except OutcomeUnknown:
            raise
        except LakebedError:  # nothing else: after Ctrl-C the commit may have taken effect
            rows.discard(self._scope.context.files)
            raise


def _nothing(_: Work) -> None:
    """A change that was made before."""
