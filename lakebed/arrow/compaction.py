"""The local engine's part of a compaction: the rows of a group, streamed or sorted by key, into new files."""

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
from lakebed.table.types.values import encode_bound


class LastChanges:
    """The least and the greatest of the sequence numbers that it is shown.

    A row without a number gets that of the commit, which is above all others: then there is nothing to tell.
    """

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._has_null = False

    def noted(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The batches as they are; their column of last changes is looked at."""
        for batch in batches:
            self.note(batch.column(LAST_UPDATED.name))
            yield batch

    def note(self, values: pyarrow.Array | pyarrow.ChunkedArray) -> None:
        self._has_null |= values.null_count > 0
        found = pyarrow.compute.min_max(values).as_py()
        self._add(value for value in found.values() if value is not None)

    def add(self, other: "LastChanges") -> None:
        self._has_null |= other._has_null
        self._add(other._seen)

    def tell(self, file: DataFileRef) -> None:
        """Write them into the entry of a file that has no other rows."""
        if self._seen and not self._has_null:
            lower, upper = (encode_bound(LAST_UPDATED.type, one) for one in self._seen)
            rows = file.num_rows
            file.statistics.add(field_id=LAST_UPDATED.id, value_count=rows, null_count=0, lower=lower, upper=upper)

    def _add(self, values: Iterable[int]) -> None:
        every = [*self._seen, *values]
        self._seen = [min(every), max(every)] if every else []


def rewrite(target: Target, files: Sequence[DataFileRef]) -> list[DataFileRef]:
    """New files with exactly the rows of these that are not deleted, each row with its lineage.

    They are cut by the table's newest spec and sorted by its order, whatever those were; for a commit on level 0. After
    an error nothing is left behind.
    """
    return GroupWriter(target, Form(target.state, target.write_options)).streamed(files) if files else []


@dataclass(frozen=True, slots=True)
class GroupWriter(Writer):
    """Writes the rows of groups. Sorted rows of a group are in order over all its files, up to `held_bytes` of rows."""

    target: Target
    form: Form
    held_bytes: int = HELD_BYTES

    def write(self, groups: Sequence[Group], done: Done) -> None:
        for one in groups:
            done([(one, self._written(one))])

    def _written(self, group: Group) -> list[DataFileRef]:
        if self.form.keys is None or group.partition is OLDER_SPEC:
            return self.streamed(group.files)
        return self._by_key(group, self.form.keys)

    def streamed(self, files: Sequence[DataFileRef]) -> list[DataFileRef]:
        changes = LastChanges()
        state, reader = self.form.written, self._read(files)
        rows = pyarrow.RecordBatchReader.from_batches(reader.schema, changes.noted(reader))
        order, options = self.form.order, self.form.options
        made = write(self.target.files, state.data_folder, state.schema, rows, state.spec, order, options)
        for one in made:
            changes.tell(one)
        return made

    def _by_key(self, group: Group, order: SortOrder) -> list[DataFileRef]:
        """Files that have no key in common, each with its first and its last."""
        state, options = self.form.written, self.form.options
        rows = SortedRows(lambda *asked: self._read(group.files, *asked), state.schema, order, self.held_bytes)
        noted: list[_RowGroup] = []

        def tables() -> Iterator[pyarrow.Table]:
            for one in rows.groups(options):
                noted.append(_RowGroup(one.key_min, one.key_max))
                noted[-1].changes.note(one.rows.column(LAST_UPDATED.physical_name))
                yield one.rows

        made = write_groups(self.target.files, state.data_folder, state.schema, tables(), options)
        left = iter(noted)
        for file in made:
            self._complete(file, group.files[0], list(islice(left, max(1, len(file.blocks)))))
        return made

    def _complete(self, file: DataFileRef, like: DataFileRef, groups: Sequence["_RowGroup"]) -> None:
        """Tell of a file what is known of its row groups, and put it in the partition of another."""
        state = self.form.state
        file.level = COMPACTED_LEVEL
        file.key_min, file.key_max = groups[0].key_min, groups[-1].key_max
        file.key_schema_id = state.schema.id
        for one in groups[1:]:
            groups[0].changes.add(one.changes)
        groups[0].changes.tell(file)
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


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """What is known of rows that are written, without the rows."""

    key_min: bytes
    key_max: bytes
    changes: LastChanges = field(default_factory=LastChanges)
