"""How rows lie in the files of a job: set apart by partitions, brought together, sorted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.tables.properties import Distribution
from lakebed.files import FileInfo, Files
from lakebed.spark.fit import fit
from lakebed.spark.write.partitions import Partitions, column_of, free_prefix
from lakebed.spark.write.transforms import Term, with_terms
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder, sorted_columns
from lakebed.table.partition.spec import UNPARTITIONED
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import set_partition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

Complete = Callable[[DataFileRef], None]
"""Adds to the entry of a file what the file itself does not tell."""

_Ordered = Callable[[Column], Column]


class Layout(ABC):
    """What is done to rows before Spark writes them, and what is known of a file by the folders that it is in."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that set rows apart: Spark makes a folder of each value, and does not write it to the files."""

    @abstractmethod
    def arranged_rows(self, frame: DataFrame, schema: Schema) -> DataFrame:
        """The rows in the form of files, with the columns that set them apart behind their own.

        Sorted by these first, so that Spark does not sort them again for its folders.
        """

    @abstractmethod
    def completion(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        """What completes the entries of files in these folders, of which this is one."""


@dataclass(frozen=True, slots=True)
class PartitionLayout(Layout):
    """Rows of any partitions, in the table's own, sorted by an order."""

    partitions: Partitions
    order: SortOrder
    distribution: Distribution

    @property
    def names(self) -> tuple[str, ...]:
        return self.partitions.names

    def arranged_rows(self, frame: DataFrame, schema: Schema) -> DataFrame:
        fitted = self.partitions.derived(fit(frame, schema))
        if self.names and self.distribution is Distribution.PARTITION:
            fitted = fitted.hint("rebalance", *self.names)
        return sorted_rows(fitted, schema, self.names, self.order) if self.order.fields else fitted

    def completion(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        spec, schema = self.partitions.spec, self.partitions.schema
        if spec == UNPARTITIONED:
            return lambda _: None
        values = self.partitions.values(files, info, folders)
        return lambda entry: set_partition(entry, spec, schema, values)


def sorted_rows(fitted: DataFrame, schema: Schema, names: Sequence[str], order: SortOrder) -> DataFrame:
    """Rows in the form of files, in each task by these columns, then by the order.

    NaN is above all numbers there, as it is in Spark's.
    """
    sort = _Sort(free_prefix(schema), sorted_columns(order, schema))
    return sort.sorted(fitted, [F.col(name).asc() for name in names])


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
