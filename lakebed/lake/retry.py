"""Rows that a call writes once, however often it has to look at the table again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lakebed.catalog.data.changes import fits
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, LakebedError
from lakebed.files import Files
from lakebed.lake.engines import can_be_read_again, write_rows


class WrittenOnce:
    """Rows that are written when they are first needed, and again only for another schema or spec."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._written: Written | None = None
        self._state: TableState | None = None

    def written_for(self, work: Work, state: TableState) -> Written:
        if self._written is None or self._state is None or not fits(state, self._state):
            if self._written is not None and not can_be_read_again(self._data):
                raise Invalid(
                    "the table's schema or spec changed while rows were written that can't be read again",
                    advice="Give the rows again.",
                )
            self.discard(work.context.files)
            self._written, self._state = write_rows(work, state, self._data), state
        return self._written

    @contextmanager
    def used(self, files: Files) -> Iterator[None]:
        """What is done with them before the commit. Ctrl-C there, or an error of Spark's, takes them away again."""
        try:
            yield
        except LakebedError:
            raise  # which may be tried again with the same rows
        except BaseException:
            self.discard(files)
            raise

    def discard(self, files: Files) -> None:
        if self._written is not None:
            gone, self._written = self._written, None  # no later attempt may commit them
            RowChange(written=gone).discard(files)
