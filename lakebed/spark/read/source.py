"""What a Spark session reads a table's rows from: files by its own reader, inline rows by whoever can read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow
from pyspark.sql import SparkSession

from lakebed.files import Files
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import OWN_PREFIX
from lakebed.table.schema.schema import Schema

Held = Callable[[Schema, Sequence[DataFileRef], Filter | None, Sequence[str]], pyarrow.Table]
"""Reads inline rows that pass a filter into memory: the columns asked for, those of lineage and place among them."""

ORDINAL = f"{OWN_PREFIX}file"
"""The column of a row's file: its place among those that are read."""


@dataclass(frozen=True, slots=True)
class Source:
    """A session, the lake's files, and how inline rows of one table are read."""

    spark: SparkSession
    files: Files
    held: Held
