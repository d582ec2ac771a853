"""How rows lie in the files of a job: set apart by partitions, brought together, sorted."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.write_options import Distribution
from lakebed.spark.partitions import Partitions, column_of, free_prefix
from lakebed.spark.transforms import Term, with_terms
from lakebed.table.schema import Schema
from lakebed.table.sort_order import Direction, NullOrder, SortField, SortOrder, sorted_columns
from lakebed.table.transforms import IDENTITY
from lakebed.table.types import Field

_Ordered = Callable[[Column], Column]


@dataclass(frozen=True, slots=True)
class Layout:
    """What is done to rows in the form of files before Spark writes them."""

    partitions: Partitions
    order: SortOrder
    distribution: Distribution

    def laid_out(self, fitted: DataFrame, schema: Schema) -> DataFrame:
        """The rows, with the columns that set them apart behind their own.

        Sorted by these first, so that Spark does not sort them again for its folders; then by the table's order, in
        which NaN is above all numbers, as it is in Spark's.
        """
        names = self.partitions.names
        frame = self.partitions.derived(fitted)
        if names and self.distribution is Distribution.PARTITION:
            frame = frame.hint("rebalance", *names)
        if not self.order.fields:
            return frame
        sort = _Sort(free_prefix(schema), sorted_columns(self.order, schema))
        return sort.sorted(frame, [F.col(name).asc() for name in names])


@dataclass(frozen=True, slots=True)
class _Sort:
    prefix: str
    fields: list[tuple[SortField, tuple[Field, ...]]]

    def sorted(self, frame: DataFrame, first: list[Column]) -> DataFrame:
        terms = self._terms()
        columns = []
        for place, (one, path) in enumerate(self.fields):
            column = F.col(terms[place].name) if place in terms else column_of(path)
            columns.append(ORDERED[one.direction, one.null_order](column))
        arranged = with_terms(frame, terms.values()).sortWithinPartitions(*first, *columns)
        return arranged.drop(*(one.name for one in terms.values()))

    def _terms(self) -> dict[int, Term]:
        """By their place, the fields that are no columns themselves."""
        return {
            place: Term(f"{self.prefix}sort_{place}", one.transform, path[-1].type, column_of(path))
            for place, (one, path) in enumerate(self.fields)
            if one.transform != IDENTITY
        }


ORDERED: dict[tuple[Direction, NullOrder], _Ordered] = {
    (Direction.ASCENDING, NullOrder.FIRST): Column.asc_nulls_first,
    (Direction.ASCENDING, NullOrder.LAST): Column.asc_nulls_last,
    (Direction.DESCENDING, NullOrder.FIRST): Column.desc_nulls_first,
    (Direction.DESCENDING, NullOrder.LAST): Column.desc_nulls_last,
}
"""How Spark sorts by a column, as a sort field says."""
