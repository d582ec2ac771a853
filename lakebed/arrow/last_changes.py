"""The sequence numbers of rows' last changes, as statistics of the files that they are written to again.

A file's own sequence number is that of the commit that wrote it, which its rows may be far older than. By these a
look-up knows which files can have the newest row of a key.
"""

from collections.abc import Iterable, Iterator

import pyarrow
import pyarrow.compute

from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import LAST_UPDATED
from lakebed.table.types.values import encode_bound


class LastChanges:
    """The least and the greatest of the sequence numbers that it is shown.

    A row without a number gets that of the commit, which is above all others: then there is nothing to tell.
    """

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._has_null = False

    def noted(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The batches as they are; their column of last changes is looked at."""
        for batch in batches:
            self.note(batch.column(LAST_UPDATED.name))
            yield batch

    def note(self, values: pyarrow.Array | pyarrow.ChunkedArray) -> None:
        self._has_null |= values.null_count > 0
        found = pyarrow.compute.min_max(values).as_py()
        self._add(value for value in found.values() if value is not None)

    def add(self, other: "LastChanges") -> None:
        self._has_null |= other._has_null
        self._add(other._seen)

    def tell(self, file: DataFileRef) -> None:
        """Write them into the entry of a file that has no other rows."""
        if self._seen and not self._has_null:
            lower, upper = (encode_bound(LAST_UPDATED.type, one) for one in self._seen)
            rows = file.num_rows
            file.statistics.add(field_id=LAST_UPDATED.id, value_count=rows, null_count=0, lower=lower, upper=upper)

    def _add(self, values: Iterable[int]) -> None:
        every = [*self._seen, *values]
        self._seen = [min(every), max(every)] if every else []
