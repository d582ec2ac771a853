"""Spark's part of a compaction: writes the rows of groups with its own Parquet reader and writer.

Small groups go through one job together, whose rows are shuffled; each larger group has a job of its own. The entries
of new files get the partition, level and exact keys of their group, and the bounds of their rows' last change.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Final
from uuid import uuid4

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame

from lakebed.catalog.data import compaction
from lakebed.catalog.data.compaction import Done, Form, NewFiles
from lakebed.catalog.data.footers import entry_footer
from lakebed.catalog.data.target import Target
from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.spark.jobs.run import expect_files
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.spark.sorted_rows import GroupLayout, group_of, ranges_of_keys, ranges_of_order, set_exact_keys
from lakebed.spark.write.layout import Complete
from lakebed.spark.write.partitions import free_prefix
from lakebed.spark.write.write import FOOTER_THREADS, write, write_with_layout
from lakebed.table.keys.compaction import OLDER_SPEC, Group, live_bytes
from lakebed.table.keys.levels import COMPACTED_LEVEL
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.partition.values import partition_values, set_partition
from lakebed.table.statistics.sequences import set_sequences

SMALL_BYTES: Final = 2 << 20
"""Groups up to this size are written together, by a job that shuffles their rows: the larger, the more that costs.

Together against alone: 84 groups of ten tiny files took a quarter of the time, groups of 0.3 MB half, of 1 to 3 MB as
long, of 15 MB two to three times as long (one or two runs of each, local[2] beside other work).
"""

BATCH_TARGETS: Final = 16
"""A job's groups become at most this many files of the target size: it limits what is shuffled, and lost on failure."""

BATCH_FILES: Final = 10_000
"""A job reads at most this many files, unless one group has more."""

BATCHES_AT_ONCE: Final = 4
"""Batches that are written at the same time: each has a few tasks, and a cluster has room for more of them."""


def rewrite(target: Target, source: Source, files: Sequence[DataFileRef]) -> list[DataFileRef]:
    """New files with exactly the rows of these that are not deleted, each row with its lineage.

    They are partitioned by the table's newest spec and sorted by its order, whatever the old files had; for a commit on
    level 0. After an error nothing is left behind.
    """
    return GroupWriter(target, source, Form(target.state, target.write_options)).spread(files) if files else []


def batches_of(groups: Iterable[Group], target: int) -> list[list[Group]]:
    """The groups in batches: small groups that become one file each go together, up to a limit; all others alone."""
    batches: list[list[Group]] = []
    waiting: list[Group] = []
    files = size = 0
    for group in groups:
        if not _is_small(group, target):
            batches.append([group])
            continue
        files, size = files + len(group.files), size + _live_bytes(group.files)
        if waiting and (files > BATCH_FILES or size > BATCH_TARGETS * target):
            batches.append(waiting)
            waiting, files, size = [], len(group.files), _live_bytes(group.files)
        waiting.append(group)
    return [*batches, waiting] if waiting else batches


def file_count(files: Sequence[DataFileRef], target: int) -> int:
    """About how many files of the target size the rows of these become."""
    return max(1, round(_live_bytes(files) / target))


def set_last_updated_bounds(files: Files, file: DataFileRef) -> None:
    """Set the bounds of the rows' last change in the entry of a file that has it as the last column."""
    footer = entry_footer(files, file).metadata()
    last = footer.num_columns - 1
    chunks = [footer.row_group(group).column(last).statistics for group in range(footer.num_row_groups)]
    if any(chunk is None or not chunk.has_null_count for chunk in chunks):
        raise Corrupt("a file has no statistics of its rows' last changes", subject=file.path)
    numbers = [number for chunk in chunks if chunk.has_min_max for number in (chunk.min, chunk.max)]
    if numbers:
        # A row without a number gets that of the commit, which is above all others.
        has_null = any(chunk.null_count > 0 for chunk in chunks)
        set_sequences(file, min(numbers), None if has_null else max(numbers))


@dataclass(frozen=True, slots=True)
class GroupWriter(compaction.Writer):
    """Writes the rows of groups."""

    target: Target
    source: Source
    form: Form

    def write(self, groups: Sequence[Group], done: Done) -> None:
        """Write several batches at a time, from threads whose jobs have the tags of this thread's jobs."""
        expect_files([file for group in groups for file in group.files])
        batches = batches_of(groups, self.form.options.file_bytes)

        def write_batch(batch: Sequence[Group]) -> None:
            done([*zip(batch, self._write_batch(batch), strict=True)])

        with ThreadPoolExecutor(min(BATCHES_AT_ONCE, len(batches))) as pool:
            # Each with properties of its own: threads that share them would get each other's tags.
            futures = [
                pool.submit(inheritable_thread_target(self.source.spark)(copy_context().run), write_batch, batch)
                for batch in batches
            ]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # the `with` waits for running batches
                raise

    def spread(self, files: Sequence[DataFileRef]) -> NewFiles:
        """Write rows of any partitions into the table's own."""
        target = self.form.options.file_bytes
        most = _live_rows(files) * target // max(1, _live_bytes(files))
        return self._write(self._rows(files), self.form.order, self._set_bounds, most, self.form.state.spec)

    def _write_batch(self, batch: Sequence[Group]) -> list[NewFiles]:
        return [self._write_alone(*batch)] if len(batch) == 1 else self._write_together(batch)

    def _write_together(self, groups: Sequence[Group]) -> list[NewFiles]:
        """Write a file for each of the groups, by one job."""
        state, options = self.form.written, self.form.options
        order = self.form.order if self.form.keys is None else self.form.keys
        numbers = [number for number, group in enumerate(groups) for _ in group.files]
        layout = GroupLayout(free_prefix(state.schema), numbers, [*map(self._completion, groups)], order)
        rows = self._rows([file for group in groups for file in group.files], *layout.places)
        folder, most = f"{state.data_folder}/{uuid4()}", max(_live_rows(group.files) for group in groups)
        files, row_bytes = self.target.files, self._row_bytes(most)
        made = write_with_layout(files, folder, state.schema, rows, layout, options, row_bytes=row_bytes)
        by_group: list[NewFiles] = [[] for _ in groups]
        for file in made:
            by_group[group_of(file.path)].append(file)
        return by_group

    def _write_alone(self, group: Group) -> NewFiles:
        if group.partition is OLDER_SPEC:
            return self.spread(group.files)
        order = self.form.sorts if self.form.keys is None else self.form.keys
        if order is None:
            return self._pack(group)
        rows, schema, count = self._rows(group.files), self.form.state.schema, self._file_count(group.files)
        if self.form.keys is not None:
            rows = ranges_of_keys(rows, schema, count)
        else:
            rows = ranges_of_order(rows, schema, order, count)
        return self._write(rows, order, self._completion(group), _live_rows(group.files))

    def _pack(self, group: Group) -> NewFiles:
        """Write files one after the other in each task, which makes one file of them: nothing is shuffled."""
        bins = self._bins(group.files)
        # Spark 4.1 and later turn a union of single tasks into one task, unless a part of it has no task at all.
        frames = [*(self._rows(files).coalesce(1) for files in bins), *([self._rows(())] if len(bins) > 1 else [])]
        most = max(-(-_live_rows(files) // self._file_count(files)) for files in bins)
        return self._write(reduce(DataFrame.union, frames), self.form.order, self._completion(group), most)

    def _bins(self, files: Sequence[DataFileRef]) -> list[list[DataFileRef]]:
        """The files in their order, cut about where they fill a file of the target size."""
        bins = [list[DataFileRef]() for _ in range(self._file_count(files))]
        whole = _live_bytes(files) or 1
        for end, file in zip(accumulate(map(live_bytes, files)), files, strict=True):
            middle = end - live_bytes(file) / 2
            bins[min(len(bins) - 1, int(middle * len(bins) / whole))].append(file)
        return [files for files in bins if files]

    def _rows(self, files: Sequence[DataFileRef], *others: str) -> DataFrame:
        """The rows that are not deleted, with the columns that are written, and `others` that are not."""
        source, schema = self.source, self.form.state.schema
        names = [*self.form.written.schema.names, *others]
        return read(source.spark, source.files, schema, files, columns=names, inline_rows=source.inline_rows)

    def _write(
        self, rows: DataFrame, order: SortOrder, complete: Complete, most: int, spec: PartitionSpec = UNPARTITIONED
    ) -> NewFiles:
        """Write the rows to files of at most `most` rows, and complete their entries."""
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

    def _completion(self, group: Group) -> Complete:
        """What sets a file's partition to the group's, and its level to that of its rows."""
        like, state = group.files[0], self.form.state
        values = list(partition_values(like, state.spec, state.schema).values())

        def complete(file: DataFileRef) -> None:
            if like.HasField("spec_id"):
                set_partition(file, state.spec, state.schema, values)
            self._set_bounds(file)
            if self.form.keys is not None:
                file.level = COMPACTED_LEVEL
                set_exact_keys(self.target.files, file, state.schema)

        return complete

    def _set_bounds(self, file: DataFileRef) -> None:
        set_last_updated_bounds(self.target.files, file)

    def _row_bytes(self, most: int) -> float:
        """What a row takes in a file of the target size that has at most `most` rows."""
        return self.form.options.file_bytes / (most + 0.5)

    def _file_count(self, files: Sequence[DataFileRef]) -> int:
        return file_count(files, self.form.options.file_bytes)


def _is_small(group: Group, target: int) -> bool:
    becomes_one = group.partition is not OLDER_SPEC and file_count(group.files, target) == 1
    return becomes_one and _live_bytes(group.files) <= SMALL_BYTES


def _live_bytes(files: Sequence[DataFileRef]) -> int:
    return sum(map(live_bytes, files))


def _live_rows(files: Sequence[DataFileRef]) -> int:
    return sum(file.num_rows - file.deleted_rows for file in files)
