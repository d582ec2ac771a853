"""How a job's rows are laid out in files: separated by partitions, gathered, sorted."""

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
"""Adds to a file's entry what the file itself does not contain."""

ORDERED: dict[tuple[Direction, NullOrder], Callable[[Column], Column]] = {
    (Direction.ASCENDING, NullOrder.FIRST): Column.asc_nulls_first,
    (Direction.ASCENDING, NullOrder.LAST): Column.asc_nulls_last,
    (Direction.DESCENDING, NullOrder.FIRST): Column.desc_nulls_first,
    (Direction.DESCENDING, NullOrder.LAST): Column.desc_nulls_last,
}
"""How Spark sorts by a column, for a sort field's direction and null order."""


class Layout(ABC):
    """How rows are arranged before Spark writes them, and what a file's folders say about it."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that separate rows: Spark makes a folder for each value, and does not write them to files."""

    @abstractmethod
    def arranged_rows(self, frame: DataFrame, schema: Schema) -> DataFrame:
        """The rows in the form of files, followed by the columns that separate them.

        They are sorted by these first, so that Spark does not sort them again for its folders.
        """

    @abstractmethod
    def completion(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        """What completes the entries of files in these folders; `info` is one of the files."""


@dataclass(frozen=True, slots=True)
class PartitionLayout(Layout):
    """Rows by the table's partitions, sorted by an order."""

    partitions: Partitions
    order: SortOrder
    distribution: Distribution

    @property
    def names(self) -> tuple[str, ...]:
        return self.partitions.names

    def arranged_rows(self, frame: DataFrame, schema: Schema) -> DataFrame:
        fitted = self.partitions.with_columns(fit(frame, schema))
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
    """Rows in the form of files, sorted in each task by these columns, then by the order.

    NaN sorts above all numbers in both.
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
        for place, (field, path) in enumerate(self.fields):
            column = F.col(terms[place].name) if place in terms else column_of(path)
            columns.append(ORDERED[field.direction, field.null_order](column))
        arranged = with_terms(frame, terms.values()).sortWithinPartitions(*first, *columns)
        return arranged.drop(*(term.name for term in terms.values()))

    def _terms(self) -> dict[int, Term]:
        """The fields that are transforms of columns, by their place."""
        return {
            place: Term(f"{self.prefix}sort_{place}", field.transform, path[-1].type, column_of(path))
            for place, (field, path) in enumerate(self.fields)
            if field.transform != IDENTITY
        }
