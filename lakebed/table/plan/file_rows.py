"""Some of the files that are held as columns: those that a filter has not decided on yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
import pyarrow

from lakebed.errors import Corrupt
from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import ColumnTest
from lakebed.table.manifest.live_file import LiveFile
from lakebed.table.schema.schema import shown
from lakebed.table.statistics.bound_arrays import Bounds, Mask, Numeric, bounds_of, wrong_row


@dataclass(frozen=True, slots=True)
class FileRows:
    """Files by their places among the columns' rows; None for all of them."""

    columns: FileColumns
    places: Numeric | None = None

    def __len__(self) -> int:
        return self.columns.num_rows if self.places is None else len(self.places)

    def at(self, places: Numeric) -> "FileRows":
        """Of these files those in these places."""
        return FileRows(self.columns, places if self.places is None else self.places[places])

    def files(self) -> list[LiveFile]:
        """The files as objects."""
        return self.columns.files(range(len(self)) if self.places is None else self.places.tolist())

    def column(self, name: str) -> pyarrow.Array:
        """One column of these files; null is unset."""
        if not self.columns.has(name):
            return self.columns.column(name).slice(0, len(self))  # nothing but nulls
        found = self.columns.column(name)
        return found if self.places is None else found.take(pyarrow.array(self.places))

    def is_count(self, name: str, count: int) -> Mask:
        """Where a count is known and is this."""
        if not self.columns.has(name):
            return numpy.zeros(len(self), bool)
        values, known = _counts(self.column(name))
        same: Mask = values == count
        return same if known is None else same & known

    def may_have_values(self, field_id: int) -> Mask:
        """Where not every row of the column is known to be null."""
        names = f"values.{field_id}", f"nulls.{field_id}"
        if not all(map(self.columns.has, names)):
            return numpy.ones(len(self), bool)
        if self.places is None:
            return self.columns.remembered(("values", field_id), lambda: self._may_have_values(names))
        return self._may_have_values(names)

    def _may_have_values(self, names: tuple[str, str]) -> Mask:
        (values, counted), (nulls, null_counted) = (_counts(self.column(name)) for name in names)
        found: Mask = values != nulls
        for known in (counted, null_counted):
            if known is not None:
                found |= ~known
        return found

    def bounds(self, side: str, test: ColumnTest) -> Bounds | None:
        """The bounds, `lower` or `upper`, of the column that a leaf tests; None if its type has none that compare."""
        if self.places is None:
            key = ("bounds", side, test.field.id, test.field.type)
            return self.columns.remembered(key, lambda: self._bounds(side, test))
        return self._bounds(side, test)

    def _bounds(self, side: str, test: ColumnTest) -> Bounds | None:
        type, column = test.field.type, self.column(f"{side}.{test.field.id}")
        try:
            return bounds_of(type, column)
        except Corrupt as error:
            path = self.column("path")[wrong_row(type, column)].as_py()
            subject = f"{path}, column {shown(test.way)}"
            raise Corrupt(error.problem, subject=subject, expected=error.expected, found=error.found) from error

    def without_statistics(self, field_id: int, schema_ids: Sequence[int]) -> Iterator[Numeric]:
        """The places of files of these schemas that have no statistics of the column, those that are alike together."""
        of_schema = self.column("schema_id").fill_null(0).to_numpy()
        has = self.columns.has_statistics(field_id)
        rows = numpy.flatnonzero(
            numpy.isin(of_schema, schema_ids) & ~(has if self.places is None else has[self.places])
        )
        layouts = self.column("statistics").indices.to_numpy()[rows]
        empty = self.column("num_rows").take(pyarrow.array(rows)).to_numpy() == 0
        keys = numpy.stack([of_schema[rows], layouts, empty], axis=1)
        _, group = numpy.unique(keys, axis=0, return_inverse=True)
        for one in range(group.max(initial=-1) + 1):
            yield rows[group == one]


def _counts(column: pyarrow.Array) -> tuple[Numeric, Mask | None]:
    """Counts, and where they are known, None for everywhere."""
    if column.null_count == 0:
        return column.to_numpy(), None
    return column.fill_null(0).to_numpy(), column.is_valid().to_numpy(zero_copy_only=False)
