"""Rows in order for the files of a compaction: ranges of keys or of a sort order, or one sorted file for each group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.files import FileInfo, Files
from lakebed.spark.fit import fit, quoted
from lakebed.spark.read.metadata_columns import numbers
from lakebed.spark.read.source import ORDINAL
from lakebed.spark.write.footer import opened_file
from lakebed.spark.write.layout import ORDERED, Complete, Layout, sorted_rows
from lakebed.spark.write.transforms import Term, with_terms
from lakebed.table.keys.encoding import encode_key, key_types, set_key_bounds
from lakebed.table.manifest.file_fields import fields_for_file
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import SortOrder, sorted_columns
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.schema.metadata_columns import POSITION, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, STRING, Field, Fixed, Type

GROUP: Final = "group"
"""The name, behind a prefix, of the column that `GroupLayout` sets rows apart by."""


def ranges_of_keys(rows: DataFrame, schema: Schema, count: int) -> DataFrame:
    """The rows in `count` tasks, each with a range of the primary key: no key is in two of them."""
    return _ranges(rows, [_column(schema.way_by_id(id)) for id in schema.identifier_ids], count)


def ranges_of_order(rows: DataFrame, schema: Schema, order: SortOrder, count: int) -> DataFrame:
    """The rows, which have their ids, in `count` tasks, each with a range of an order."""
    terms, columns = list[Term](), list[Column]()
    for place, (field, way) in enumerate(sorted_columns(order, schema)):
        column = _column(way)
        if field.transform != IDENTITY:
            terms.append(Term(f"lakebed.sort.{place}", field.transform, way[-1].type, column))  # a name with a dot
            column = F.col(quoted(terms[-1].name))
        columns.append(ORDERED[field.direction, field.null_order](column))
    # Ids separate rows that are equal in the order, so that these need not all be in one file.
    columns.append(F.col(quoted(ROW_ID.name)))
    return _ranges(with_terms(rows, terms), columns, count).drop(*(term.name for term in terms))


@dataclass(frozen=True, slots=True)
class GroupLayout(Layout):
    """Rows of several groups, each in files of its own: sorted by an order, or in the order of the files read.

    `groups` has the group of each file that is read, `completes` what completes the entries of each group's files.
    """

    prefix: str
    groups: Sequence[int]
    completes: Sequence[Complete]
    order: SortOrder

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.prefix}{GROUP}",)

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that rows need besides the table's: where they were."""
        return (ORDINAL,) if self.order.fields else (ORDINAL, POSITION.name)

    def arranged_rows(self, frame: DataFrame, schema: Schema) -> DataFrame:
        places = {name: f"{self.prefix}place_{number}" for number, name in enumerate(self.places)}
        fitted = fit(frame, schema, places)
        [name], [ordinal, *position] = self.names, places.values()
        grouped = fitted.withColumn(name, F.get(numbers(self.groups), F.col(ordinal)).cast("int"))
        # Without a number of tasks: Spark makes as many as suit the bytes and its cores, and never splits a group.
        gathered = grouped.repartition(F.col(name))
        if self.order.fields:
            return sorted_rows(gathered.drop(ordinal), schema, self.names, self.order)
        return gathered.sortWithinPartitions(name, ordinal, *position).drop(*places.values())

    def completion(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        return self.completes[int(folders[0].rpartition("=")[2])]


def group_of(path: str) -> int:
    """The group of a file that `GroupLayout` wrote."""
    return int(path.split("/")[-2].rpartition("=")[2])


def set_exact_keys(files: Files, file: DataFileRef, schema: Schema) -> None:
    """Set the keys of the first and last row in the entry of a file that is sorted by key.

    Statistics have them if the key is one column of a fixed size: they round only long values.
    """
    types = key_types(schema)
    if len(types) == 1 and not _is_long(types[0]):
        set_key_bounds(file, schema)
    if not file.key_max:
        stored = Schema(fields_for_file(file, schema.fields))
        ways = [stored.way_by_id(id) for id in schema.identifier_ids]
        columns = [".".join(field.physical_name for field in way) for way in ways]
        with opened_file(files, file) as parquet:
            first = next(parquet.iter_batches(1, [0], columns))
            last = parquet.read_row_group(parquet.num_row_groups - 1, columns)
        file.key_min = encode_key(types, [_key_value(first, way, 0) for way in ways])
        file.key_max = encode_key(types, [_key_value(last, way, last.num_rows - 1) for way in ways])
        file.key_schema_id = schema.id


def _ranges(rows: DataFrame, columns: Sequence[Column], count: int) -> DataFrame:
    """The rows in `count` ranges of these columns; equal rows are in one range."""
    return rows.coalesce(1) if count == 1 else rows.repartitionByRange(count, *columns)


def _column(way: Sequence[Field]) -> Column:
    return F.col(".".join(quoted(field.name) for field in way))


def _is_long(type: Type) -> bool:
    return type in (STRING, BINARY) or isinstance(type, Fixed)


def _key_value(rows: pyarrow.RecordBatch | pyarrow.Table, way: Sequence[Field], row: int) -> Any:
    value = rows.column(way[0].physical_name)[row]
    for field in way[1:]:
        value = value[field.physical_name]
    if pyarrow.types.is_temporal(value.type):  # as a number, like in bounds
        value = value.cast(pyarrow.int32() if value.type == pyarrow.date32() else pyarrow.int64())
    return value.as_py()
