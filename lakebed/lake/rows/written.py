"""Rows that are written before the commit that shows them, once for however many attempts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lakebed.catalog.data.changes import check_fits, fits
from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, LakebedError
from lakebed.files import Files
from lakebed.lake.engines import engine_for
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that were written for a table in `state`: `append` and `overwrite` take them as data."""

    state: TableState
    files: Sequence[DataFileRef]

    def written(self, work: Work) -> Written:
        """The files, if they fit the table as the work sees it; else `Conflict`."""
        check_fits(work, self.state)
        return Written(self.files)


def write_rows(work: Work, state: TableState, data: object) -> Written:
    """Write rows for a table: a few inline, if the commit has room for them, others to files."""
    return data.written(work) if isinstance(data, Prepared) else engine_for(data).write(target_of(work, state), data)


class WrittenOnce:
    """Rows that are written when they are first needed, and again only for another schema or spec."""

    def __init__(self, data: object) -> None:
        self._data = data
        self._written: Written | None = None
        self._state: TableState | None = None

    def written_for(self, work: Work, state: TableState) -> Written:
        """The rows as files for a table in this state."""
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
    def in_use(self, files: Files) -> Iterator[None]:
        """Around what is done with them before the commit: Ctrl-C there, or an error of Spark's, discards them."""
        try:
            yield
        except LakebedError:
            raise  # the next attempt may use the same rows
        except BaseException:
            self.discard(files)
            raise

    def discard(self, files: Files) -> None:
        """Delete what was written."""
        if self._written is not None:
            gone, self._written = self._written, None  # no later attempt may commit them
            RowChange(written=gone).discard(files)
