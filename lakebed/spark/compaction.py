"""Spark's part of a compaction: the rows of groups, read and written by its own Parquet reader and writer."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any, Final
from uuid import uuid4

import pyarrow
from pyarrow.parquet import ParquetFile, read_metadata
from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data import compaction
from lakebed.catalog.data.compaction import Done, Form, NewFiles
from lakebed.catalog.data.target import Target
from lakebed.files import FileInfo, Files
from lakebed.spark.fit import fit, quoted
from lakebed.spark.jobs.run import aim
from lakebed.spark.read.metadata_columns import numbers
from lakebed.spark.read.read import read
from lakebed.spark.read.source import ORDINAL, Source
from lakebed.spark.write.layout import ORDERED, Complete, Layout, sorted_rows
from lakebed.spark.write.partitions import free_prefix
from lakebed.spark.write.transforms import Term, with_terms
from lakebed.spark.write.write import FOOTER_THREADS, write, write_laid_out
from lakebed.table.keys.compaction import OLDER_SPEC, Group, live_bytes
from lakebed.table.keys.encoding import encode_key, key_types, set_key_bounds
from lakebed.table.keys.levels import COMPACTED_LEVEL
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import SortOrder, sorted_columns
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import partition_values, set_partition
from lakebed.table.schema.metadata_columns import LAST_UPDATED, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, STRING, Field, Fixed, Type
from lakebed.table.types.values import encode_bound


def tell_last_changes(files: Files, file: DataFileRef) -> None:
    """Write the least and the greatest into the entry of a file whose last column has them."""
    footer = read_metadata(files.location(file.path))
    last = footer.num_columns - 1
    found = [footer.row_group(group).column(last).statistics for group in range(footer.num_row_groups)]
    # A row without a number gets that of the commit, which is above all others.
    if found and all(one is not None and one.has_min_max and one.null_count == 0 for one in found):
        numbers = min(one.min for one in found), max(one.max for one in found)
        lower, upper = (encode_bound(LAST_UPDATED.type, one) for one in numbers)
        known = {"value_count": file.num_rows, "null_count": 0, "lower": lower, "upper": upper}
        file.statistics.add(field_id=LAST_UPDATED.id, **known)


GROUP: Final = "group"


@dataclass(frozen=True, slots=True)
class GroupLayout(Layout):
    """Rows with the `places` of where they were: each group together, sorted by an order, or left in that of its files.

    `groups` are the groups of the files that are read, one for each file; `completes` is what completes the entries of
    each group.
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
        """The columns that rows have to have besides the table's."""
        return (ORDINAL,) if self.order.fields else (ORDINAL, POSITION.name)

    def laid_out(self, frame: DataFrame, schema: Schema) -> DataFrame:
        places = {one: f"{self.prefix}place_{number}" for number, one in enumerate(self.places)}
        fitted = fit(frame, schema, places)
        [name], [ordinal, *position] = self.names, places.values()
        known = fitted.withColumn(name, F.get(numbers(self.groups), F.col(ordinal)).cast("int"))
        # Without a number of tasks: Spark makes as many as the bytes and its cores are worth, and never cuts a value.
        gathered = known.repartition(F.col(name))
        if self.order.fields:
            return sorted_rows(gathered.drop(ordinal), schema, self.names, self.order)
        return gathered.sortWithinPartitions(name, ordinal, *position).drop(*places.values())

    def completing(self, files: Files, info: FileInfo, folders: Sequence[str]) -> Complete:
        return self.completes[int(folders[0].rpartition("=")[2])]


def group_of(path: str) -> int:
    """The group of a file that was written so."""
    return int(path.split("/")[-2].rpartition("=")[2])


def set_exact_keys(files: Files, file: DataFileRef, schema: Schema) -> None:
    """Give the entry of a sorted file the keys of its first and last row.

    Statistics have them if the key is one column of a size that is fixed: they round only what is long.
    """
    types = key_types(schema)
    if len(types) == 1 and not _is_long(types[0]):
        set_key_bounds(file, schema)
    if not file.key_max:
        ways = [schema.way_by_id(one) for one in schema.identifier_ids]
        columns = [".".join(one.physical_name for one in way) for way in ways]
        with ParquetFile(files.location(file.path)) as parquet:
            first = next(parquet.iter_batches(1, [0], columns))
            last = parquet.read_row_group(parquet.num_row_groups - 1, columns)
        file.key_min = encode_key(types, [_value(first, way, 0) for way in ways])
        file.key_max = encode_key(types, [_value(last, way, last.num_rows - 1) for way in ways])
        file.key_schema_id = schema.id


def _is_long(type: Type) -> bool:
    return type in (STRING, BINARY) or isinstance(type, Fixed)


def _value(rows: pyarrow.RecordBatch | pyarrow.Table, way: Sequence[Field], place: int) -> Any:
    found = rows.column(way[0].physical_name)[place]
    for inner in way[1:]:
        found = found[inner.physical_name]
    if pyarrow.types.is_temporal(found.type):  # as a number, as bounds have it
        found = found.cast(pyarrow.int32() if found.type == pyarrow.date32() else pyarrow.int64())
    return found.as_py()


SMALL_BYTES: Final = 2 << 20
"""Groups up to this size are written together, by a job that shuffles their rows, which costs more the larger they are.

Together against alone: 84 groups of ten tiny files took a quarter of the time, groups of 0.3 MB half, of 1 to 3 MB as
long, of 15 MB two to three times as long (one or two runs of each, local[2] beside other work).
"""

BATCH_TARGETS: Final = 16
"""A job has groups of so many files of the target's size: what it shuffles, and loses if it fails, has a bound."""

BATCH_FILES: Final = 10_000
"""A job reads so many files at most, unless one group has more."""


def batched(groups: Iterable[Group], target: int) -> list[list[Group]]:
    """The groups in batches: those that are small and become a file each together, up to a bound; the others alone."""
    batches: list[list[Group]] = []
    waiting: list[Group] = []
    files = size = 0
    for one in groups:
        if not _is_small(one, target):
            batches.append([one])
            continue
        files, size = files + len(one.files), size + _live(one.files)
        if waiting and (files > BATCH_FILES or size > BATCH_TARGETS * target):
            batches.append(waiting)
            waiting, files, size = [], len(one.files), _live(one.files)
        waiting.append(one)
    return [*batches, waiting] if waiting else batches


def file_count(files: Sequence[DataFileRef], target: int) -> int:
    """How many files of the target's size the rows of these will be, about."""
    return max(1, round(_live(files) / target))


def _is_small(group: Group, target: int) -> bool:
    becomes_one = group.partition is not OLDER_SPEC and file_count(group.files, target) == 1
    return becomes_one and _live(group.files) <= SMALL_BYTES


def _live(files: Sequence[DataFileRef]) -> int:
    return sum(map(live_bytes, files))


AT_ONCE: Final = 4
"""So many batches are written at a time: each has a few tasks, and a cluster has room for more of them."""


def rewrite(target: Target, source: Source, files: Sequence[DataFileRef]) -> list[DataFileRef]:
    """New files with exactly the rows of these that are not deleted, each row with its lineage.

    They are cut by the table's newest spec and sorted by its order, whatever those were; for a commit on level 0. After
    an error nothing is left behind.
    """
    return GroupWriter(target, source, Form(target.state, target.write_options)).spread(files) if files else []


@dataclass(frozen=True, slots=True)
class GroupWriter(compaction.Writer):
    """Writes the rows of groups."""

    target: Target
    source: Source
    form: Form

    def write(self, groups: Sequence[Group], done: Done) -> None:
        """Several batches at a time, from threads whose jobs have the tags of this one's."""
        aim([file for group in groups for file in group.files])
        batches = batched(groups, self.form.options.file_bytes)

        def write_one(batch: Sequence[Group]) -> None:
            done([*zip(batch, self._written(batch), strict=True)])

        with ThreadPoolExecutor(min(AT_ONCE, len(batches))) as pool:
            # Each with properties of its own: threads that share them would have one another's tags.
            started = [
                pool.submit(inheritable_thread_target(self.source.spark)(copy_context().run), write_one, one)
                for one in batches
            ]
            try:
                for one in started:
                    one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # those under way are waited for by the `with`
                raise

    def _written(self, batch: Sequence[Group]) -> list[NewFiles]:
        return [self._alone(*batch)] if len(batch) == 1 else self._together(batch)

    def _alone(self, group: Group) -> NewFiles:
        if group.partition is OLDER_SPEC:
            return self.spread(group.files)
        if self.form.keys is not None:
            return self._by_key(group, self.form.keys)
        if self.form.sorts is not None:
            return self._sorted(group, self.form.sorts)
        return self._packed(group)

    def _together(self, groups: Sequence[Group]) -> list[NewFiles]:
        """A file for each of the groups, by one job."""
        state, options = self.form.written, self.form.options
        order = self.form.order if self.form.keys is None else self.form.keys
        numbers = [number for number, group in enumerate(groups) for _ in group.files]
        layout = GroupLayout(free_prefix(state.schema), numbers, [*map(self._completing, groups)], order)
        rows = self._rows([file for group in groups for file in group.files], *layout.places)
        folder, most = f"{state.data_folder}/{uuid4()}", max(_rows_of(one.files) for one in groups)
        files, row_bytes = self.target.files, self._row_bytes(most)
        made = write_laid_out(files, folder, state.schema, rows, layout, options, row_bytes=row_bytes)
        by_group: list[NewFiles] = [[] for _ in groups]
        for one in made:
            by_group[group_of(one.path)].append(one)
        return by_group

    def spread(self, files: Sequence[DataFileRef]) -> NewFiles:
        """Rows of any partitions, in the table's own."""
        target = self.form.options.file_bytes
        most = _rows_of(files) * target // max(1, sum(map(live_bytes, files)))
        return self._write(self._rows(files), self.form.order, self._tell, most, self.form.state.spec)

    def _packed(self, group: Group) -> NewFiles:
        """Files one after the other in each task, which writes one: nothing is shuffled."""
        bins = self._bins(group.files)
        # Of parts that all are one task, Spark 4.1 and later make one task again, unless one of them is none at all.
        frames = [*(self._rows(one).coalesce(1) for one in bins), *([self._rows(())] if len(bins) > 1 else [])]
        most = max(-(-_rows_of(one) // self._count(one)) for one in bins)
        return self._write(reduce(DataFrame.union, frames), self.form.order, self._completing(group), most)

    def _sorted(self, group: Group, order: SortOrder) -> NewFiles:
        terms, columns = list[Term](), list[Column]()
        for place, (one, way) in enumerate(sorted_columns(order, self.form.state.schema)):
            column = _column(way)
            if one.transform != IDENTITY:
                terms.append(Term(f"lakebed.sort.{place}", one.transform, way[-1].type, column))  # a name with a dot
                column = F.col(quoted(terms[-1].name))
            columns.append(ORDERED[one.direction, one.null_order](column))
        # Rows that the order leaves equal are told apart by their ids, so that they need not all be in one file.
        columns.append(F.col(quoted(ROW_ID.name)))
        rows = self._ranged(with_terms(self._rows(group.files), terms), group.files, columns)
        shown = rows.drop(*(one.name for one in terms))
        return self._write(shown, order, self._completing(group), _rows_of(group.files))

    def _by_key(self, group: Group, order: SortOrder) -> NewFiles:
        """Files that have no key in common, each with its first and its last."""
        schema = self.form.state.schema
        keys = [_column(schema.way_by_id(one)) for one in schema.identifier_ids]
        rows = self._ranged(self._rows(group.files), group.files, keys)
        return self._write(rows, order, self._completing(group), _rows_of(group.files))

    def _ranged(self, rows: DataFrame, files: Sequence[DataFileRef], columns: Sequence[Column]) -> DataFrame:
        """The rows in as many ranges of these columns as there are to be files; rows that are equal are in one."""
        count = self._count(files)
        return rows.coalesce(1) if count == 1 else rows.repartitionByRange(count, *columns)

    def _completing(self, group: Group) -> Complete:
        """What puts a file in the partition that the group is in, and on the level of its rows."""
        like, state = group.files[0], self.form.state
        values = list(partition_values(like, state.spec, state.schema).values())

        def complete(file: DataFileRef) -> None:
            if like.HasField("spec_id"):
                set_partition(file, state.spec, state.schema, values)
            self._tell(file)
            if self.form.keys is not None:
                file.level = COMPACTED_LEVEL
                set_exact_keys(self.target.files, file, state.schema)

        return complete

    def _tell(self, file: DataFileRef) -> None:
        tell_last_changes(self.target.files, file)

    def _rows(self, files: Sequence[DataFileRef], *others: str) -> DataFrame:
        """The rows that are not deleted, in the columns that are written, and some that are not."""
        source, schema = self.source, self.form.state.schema
        names = [*self.form.written.schema.names, *others]
        return read(source.spark, source.files, schema, files, columns=names, inline_rows=source.inline_rows)

    def _write(
        self, rows: DataFrame, order: SortOrder, complete: Complete, most: int, spec: PartitionSpec = UNPARTITIONED
    ) -> NewFiles:
        """Write the rows, of which a file has so many at most, and complete the entries of its files."""
        state, files, options = self.form.written, self.target.files, self.form.options
        folder, row_bytes = f"{state.data_folder}/{uuid4()}", self._row_bytes(most)
        made = write(files, folder, state.schema, rows, spec, order, options, row_bytes=row_bytes)
        try:
            with ThreadPoolExecutor(FOOTER_THREADS) as pool:
                list(pool.map(complete, made))
        except BaseException:
            files.delete_many(file_paths(made))
            raise
        return made

    def _row_bytes(self, most: int) -> float:
        """What a row takes in a file of the target's size that has so many rows at most."""
        return self.form.options.file_bytes / (most + 0.5)

    def _count(self, files: Sequence[DataFileRef]) -> int:
        return file_count(files, self.form.options.file_bytes)

    def _bins(self, files: Sequence[DataFileRef]) -> list[list[DataFileRef]]:
        """The files in their order, cut where they fill a file of the target's size, about."""
        bins = [list[DataFileRef]() for _ in range(self._count(files))]
        whole = sum(map(live_bytes, files)) or 1
        for end, one in zip(accumulate(map(live_bytes, files)), files, strict=True):
            middle = end - live_bytes(one) / 2
            bins[min(len(bins) - 1, int(middle * len(bins) / whole))].append(one)
        return [one for one in bins if one]


def _column(way: Sequence[Field]) -> Column:
    return F.col(".".join(quoted(one.name) for one in way))


def _rows_of(files: Sequence[DataFileRef]) -> int:
    return sum(one.num_rows - one.deleted_rows for one in files)
