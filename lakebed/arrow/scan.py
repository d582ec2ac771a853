"""A scan: rows of one snapshot, asked for by filter, columns and limit."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow

from lakebed.arrow.read import read
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.filter import Filter, fields_of
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.pruning import may_match
from lakebed.table.schema import Schema

if TYPE_CHECKING:
    import pandas


class Scan:
    """What is read when one of its methods is called, and again by each: the rows in the order of the snapshot's files.

    What a read meets that is not as it was written is `Corrupt`, with the file's path, before a wrong row is given.
    """

    def __init__(
        self,
        files: Files,
        schema: Schema,
        data_files: Sequence[DataFileRef],
        filter: Filter | None = None,
        columns: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.schema = schema if columns is None else schema.select(columns)
        self._files = files
        self._table = schema
        # Without columns a filter keeps every row or none, and pruning is all of it.
        self._filter = filter if filter is not None and fields_of(filter) else None
        self._limit = _checked_limit(limit)
        self._data_files = [_checked_file(one) for one in data_files if filter is None or may_match(filter, one)]

    def to_arrow(self) -> pyarrow.Table:
        """All rows in memory, in the schema's form, also if there are none."""
        return pyarrow.Table.from_batches(self._batches(), arrow_schema(self.schema))

    def to_batches(self) -> pyarrow.RecordBatchReader:
        """The rows a batch at a time, so that they need not fit in memory together."""
        return pyarrow.RecordBatchReader.from_batches(arrow_schema(self.schema), self._batches())

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a DataFrame of pandas, which has to be installed."""
        return self.to_arrow().to_pandas()

    def count(self) -> int:
        """How many rows there are; without a filter no file is opened."""
        if self._filter is None:
            rows = sum(one.num_rows for one in self._data_files)
            return rows if self._limit is None else min(rows, self._limit)
        return sum(batch.num_rows for batch in self._limited(self._passing(self._table.select([]))))

    def files(self) -> list[str]:
        """The files that a read opens, as other engines open them; with a filter and a limit, at most these."""
        return [self._files.location(one.path) for one in self._opened()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whoever takes Arrow's C stream: pyarrow, polars, DuckDB, `append` of another table."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        return self._limited(self._passing(self.schema))

    def _opened(self) -> Iterator[DataFileRef]:
        left = self._limit
        for one in self._data_files:
            if left is not None and left <= 0:
                return
            yield one
            if left is not None and self._filter is None:
                left -= one.num_rows

    def _passing(self, schema: Schema) -> Iterator[pyarrow.RecordBatch]:
        """The rows that pass the filter, with the columns of the schema alone."""
        needed = schema
        if self._filter is not None:
            ids = {one.id for one in schema.fields}
            others = [one for one in fields_of(self._filter) if one.id not in ids]
            needed = Schema([*schema.fields, *others])
        for file in self._opened():
            for batch in read(self._files, file, needed, self._filter):
                yield batch.select(range(len(schema.fields)))

    def _limited(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        left = self._limit
        if left is None:
            yield from batches
            return
        for batch in batches:
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return


def _checked_limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return min(limit, sys.maxsize)
    raise Invalid("the limit is no number of rows", expected="0 or more, or None", found=repr(limit))


def _checked_file(file: DataFileRef) -> DataFileRef:
    if file.HasField("dv_path"):
        raise Invalid(
            "the data file has deleted rows, which this version of Lakebed can't leave out",
            subject=file.path,
            found=f"a deletion vector in {file.dv_path}",
            advice="Read it with a later version.",
        )
    return file
