"""Rows that were written before the call that commits them."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.catalog.file_changes import fitting
from lakebed.catalog.row_change import Written
from lakebed.catalog.tables import TableState
from lakebed.catalog.work import Work
from lakebed.table.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files of rows, which `append` and `overwrite` take as data: written for the table as it was in `state`."""

    state: TableState
    files: Sequence[DataFileRef]

    def written(self, work: Work) -> Written:
        """The files, if they fit the table as the work sees it; else `Conflict`."""
        fitting(work, self.state)
        return Written(self.files)
