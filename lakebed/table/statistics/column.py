"""The statistics of a column in one file: from its entry, or of the default if the file is older than the column."""

from dataclasses import dataclass

from lakebed.caches import remembered
from lakebed.errors import Corrupt
from lakebed.table.filter.filter import ColumnTest, Value
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.types.types import walk
from lakebed.table.types.values import decode_bound, encode_bound, is_nan


@dataclass(frozen=True)
class KnownColumn:
    """The statistics of the column that a leaf of a filter tests; unset fields are unknown."""

    test: ColumnTest
    path: str
    statistics: ColumnStatistics

    @property
    def may_be_null(self) -> bool:
        """Whether a row may be null."""
        return not (self.statistics.HasField("null_count") and self.statistics.null_count == 0)

    @property
    def may_be_nan(self) -> bool:
        """Whether a row may be NaN; only for floating-point columns."""
        return not (self.statistics.HasField("nan_count") and self.statistics.nan_count == 0)

    @property
    def may_have_values(self) -> bool:
        """Whether a row may be other than null."""
        return not self._is_whole("null_count")

    @property
    def is_all_nan(self) -> bool:
        """Whether every row of a floating-point column is NaN."""
        return self._is_whole("nan_count")

    def _is_whole(self, count: str) -> bool:
        known = self.statistics
        return known.HasField("value_count") and known.HasField(count) and getattr(known, count) == known.value_count

    @remembered
    def lower(self) -> Value | None:
        """No value but NaN is below it; None if unknown. It may lie below the least value, never above."""
        return self._bound(self.statistics.lower) if self.statistics.HasField("lower") else None

    @remembered
    def upper(self) -> Value | None:
        """No value but NaN is above it; None if unknown."""
        return self._bound(self.statistics.upper) if self.statistics.HasField("upper") else None

    @property
    def only(self) -> Value | None:
        """The value of all rows that are neither null nor NaN; None if there may be several."""
        return self.lower if self.lower is not None and self.lower == self.upper else None

    def _bound(self, data: bytes) -> Value | None:
        try:
            bound: Value = decode_bound(self.test.field.type, data)
        except Corrupt as error:
            subject = f"{self.path}, column {dotted_path(self.test.way)}"
            raise Corrupt(error.problem, subject=subject, expected=error.expected, found=error.found) from error
        # Some writers use NaN as a minimum or maximum; parquet.thrift says to ignore such a bound.
        return None if is_nan(bound) else bound


def known_column(test: ColumnTest, file: DataFileRef, written: Schema | None = None) -> KnownColumn:
    """The statistics of a leaf's column. `written` is the schema of the commit that added the file, if known.

    The file does not have the column, and its rows show the column's default, if two things hold: the schema does not
    have it, and the entry has statistics of other columns only. Neither alone is enough. A merge may add a file with a
    column that its own schema dropped, and a foreign entry may have statistics of some columns only.
    """
    for statistics in file.statistics:
        if statistics.field_id == test.field.id:
            return KnownColumn(test, file.path, statistics)
    if written is not None and _is_absent(test, file, written):
        return KnownColumn(test, file.path, _defaults(test, file, written))
    return KnownColumn(test, file.path, ColumnStatistics())


def _is_absent(test: ColumnTest, file: DataFileRef, written: Schema) -> bool:
    missing = [field for field in test.way if field.id not in written.ways]
    if not missing or not file.statistics:
        return False
    inside = {way[-1].id for way in walk((missing[0],))}
    return not any(statistics.field_id in inside for statistics in file.statistics)


def _defaults(test: ColumnTest, file: DataFileRef, written: Schema) -> ColumnStatistics:
    """The statistics of a column that is missing in a file."""
    field, rows = test.field, file.num_rows
    # A missing struct is null, with everything inside it.
    if field.initial_default is None or any(parent.id not in written.ways for parent in test.inside):
        return ColumnStatistics(field_id=field.id, value_count=rows, null_count=rows)
    bound = encode_bound(field.type, field.initial_default)
    nulls = None if test.inside else 0  # a row whose struct is null has no default either
    return ColumnStatistics(
        field_id=field.id, value_count=rows, null_count=nulls, nan_count=0, lower=bound, upper=bound
    )
