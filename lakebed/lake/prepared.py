"""Rows that were written before the call that commits them."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.catalog.data.changes import fitting
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files of rows, which `append` and `overwrite` take as data: written for the table as it was in `state`."""

    state: TableState
    files: Sequence[DataFileRef]

    def written(self, work: Work) -> Written:
        """The files, if they fit the table as the work sees it; else `Conflict`."""
        fitting(work, self.state)
        return Written(self.files)
