"""The local engine's part of a compaction: it writes the rows of groups, streamed or sorted by key, to new files.

The entry of a new file gets the range of its rows' last changes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow
import pyarrow.compute

from lakebed.arrow.read.scan import Scan
from lakebed.arrow.sorted_rows import HELD_BYTES, SortedRows
from lakebed.arrow.write.write import write, write_groups
from lakebed.catalog.data.compaction import Done, Form, Writer
from lakebed.catalog.data.target import Target
from lakebed.table.filter.filter import Filter
from lakebed.table.keys.compaction import OLDER_SPEC, Group
from lakebed.table.keys.levels import COMPACTED_LEVEL
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.values import partition_values, set_partition
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.schema.metadata_columns import LAST_UPDATED
from lakebed.table.statistics.sequences import set_sequences


def rewrite(target: Target, files: Sequence[DataFileRef]) -> list[DataFileRef]:
    """New files with exactly the rows of these files that are not deleted, each row with its lineage.

    They are cut by the table's newest spec and sorted by its order, for a commit on level 0. After an error no file is
    left behind.
    """
    return GroupWriter(target, Form(target.state, target.write_options)).stream(files) if files else []


@dataclass(frozen=True, slots=True)
class GroupWriter(Writer):
    """Writes the rows of groups; to sort by key, at most `held_bytes` of rows are in memory at a time."""

    target: Target
    form: Form
    held_bytes: int = HELD_BYTES

    def write(self, groups: Sequence[Group], done: Done) -> None:
        for group in groups:
            done([(group, self._write_group(group))])

    def stream(self, files: Sequence[DataFileRef]) -> list[DataFileRef]:
        """Write the rows of files to new files; rows that are in memory together are cut by partition and sorted."""
        changes = LastChanges()
        state, reader = self.form.written, self._read(files)
        rows = pyarrow.RecordBatchReader.from_batches(reader.schema, changes.observed(reader))
        order, options = self.form.order, self.form.options
        new_files = write(self.target.files, state.data_folder, state.schema, rows, state.spec, order, options)
        for file in new_files:
            changes.write_to(file)
        return new_files

    def _write_group(self, group: Group) -> list[DataFileRef]:
        if self.form.keys is None or group.partition is OLDER_SPEC:
            return self.stream(group.files)
        return self._write_by_key(group, self.form.keys)

    def _write_by_key(self, group: Group, order: SortOrder) -> list[DataFileRef]:
        """Write files that have no key in common; each entry has the first and the last key."""
        state, options = self.form.written, self.form.options
        rows = SortedRows(lambda *asked: self._read(group.files, *asked), state.schema, order, self.held_bytes)
        row_groups: list[_RowGroup] = []

        def tables() -> Iterator[pyarrow.Table]:
            for sorted_group in rows.groups(options):
                row_groups.append(_RowGroup(sorted_group.key_min, sorted_group.key_max))
                row_groups[-1].changes.add_values(sorted_group.rows.column(LAST_UPDATED.physical_name))
                yield sorted_group.rows

        new_files = write_groups(self.target.files, state.data_folder, state.schema, tables(), options)
        left = iter(row_groups)
        for file in new_files:
            self._complete(file, group.files[0], list(islice(left, max(1, len(file.blocks)))))
        return new_files

    def _complete(self, file: DataFileRef, like: DataFileRef, groups: Sequence["_RowGroup"]) -> None:
        """Set the keys and last changes of a file by its row groups, and its partition to that of the file `like`."""
        state = self.form.state
        file.level = COMPACTED_LEVEL
        file.key_min, file.key_max = groups[0].key_min, groups[-1].key_max
        file.key_schema_id = state.schema.id
        for group in groups[1:]:
            groups[0].changes.add(group.changes)
        groups[0].changes.write_to(file)
        if like.HasField("spec_id"):
            values = partition_values(like, state.spec, state.schema)
            set_partition(file, state.spec, state.schema, list(values.values()))

    def _read(
        self, files: Sequence[DataFileRef], filter: Filter | None = None, columns: Sequence[str] | None = None
    ) -> pyarrow.RecordBatchReader:
        planned = tuple(map(PlannedFile, files))
        names = self.form.written.schema.names if columns is None else columns
        plan = Plan(planned, len(planned))
        return Scan(self.target.sources, self.form.state.schema, plan, filter, names).to_batches()


class LastChanges:
    """The range of the sequence numbers of rows' last changes.

    A row without a number gets the commit's, which is the greatest of all: then the upper end is unknown.
    """

    def __init__(self) -> None:
        self._extremes: list[int] = []
        self._has_null = False

    def observed(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The same batches, whose last changes are added as they go by."""
        for batch in batches:
            self.add_values(batch.column(LAST_UPDATED.name))
            yield batch

    def add_values(self, values: pyarrow.Array | pyarrow.ChunkedArray) -> None:
        self._has_null |= values.null_count > 0
        extremes = pyarrow.compute.min_max(values).as_py()
        self._extend(value for value in extremes.values() if value is not None)

    def add(self, other: "LastChanges") -> None:
        self._has_null |= other._has_null
        self._extend(other._extremes)

    def write_to(self, file: DataFileRef) -> None:
        """Write the range to the entry of a file that has no other rows."""
        if self._extremes:
            set_sequences(file, self._extremes[0], None if self._has_null else self._extremes[1])

    def _extend(self, values: Iterable[int]) -> None:
        numbers = [*self._extremes, *values]
        self._extremes = [min(numbers), max(numbers)] if numbers else []


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """The keys and the last changes of a written row group."""

    key_min: bytes
    key_max: bytes
    changes: LastChanges = field(default_factory=LastChanges)
