"""Where a Spark session reads a table's rows from: files by its own reader, inline rows by another engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow
from pyspark.sql import SparkSession

from lakebed.catalog.data.row_sources import Sources
from lakebed.files import Files
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import OWN_PREFIX
from lakebed.table.schema.schema import Schema

ReadInline = Callable[[Sources, Schema, Sequence[DataFileRef], Filter | None, Sequence[str]], pyarrow.Table]
"""Reads the inline rows that pass a filter into memory, with the columns asked for, also lineage and position."""

InlineReader = Callable[[Schema, Sequence[DataFileRef], Filter | None, Sequence[str]], pyarrow.Table]
"""The same for one table."""

ORDINAL = f"{OWN_PREFIX}file"
"""The column with the ordinal of a row's file: its index among the files that are read."""


@dataclass(frozen=True, slots=True)
class Source:
    """A session, where the rows of one table are, and how inline rows are read."""

    spark: SparkSession
    sources: Sources
    read_inline: ReadInline

    @property
    def files(self) -> Files:
        return self.sources.files

    def inline_rows(
        self, schema: Schema, files: Sequence[DataFileRef], filter: Filter | None, columns: Sequence[str]
    ) -> pyarrow.Table:
        """The inline rows of these entries that pass."""
        return self.read_inline(self.sources, schema, files, filter, columns)
