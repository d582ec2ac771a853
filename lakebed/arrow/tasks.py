"""Reads and writes as tasks for other processes: each has all that it needs, pickled, without a catalog.

Such a process needs access to the lake's files, and to nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow

from lakebed.arrow.fit import fit
from lakebed.arrow.read.scan import Scan
from lakebed.arrow.write.checks import checked
from lakebed.arrow.write.write import write
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.catalog.objects.naming import about_table
from lakebed.catalog.tables.properties import Check, WriteOptions
from lakebed.catalog.tables.tables import TableState
from lakebed.files import Files
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.inline import inline_id, is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.plan.splits import TARGET_BYTES, Split, splits
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Some of a plan's row groups, and the inline rows among them."""

    sources: Sources
    schema: Schema
    split: Split
    filter: Filter | None
    columns: tuple[str, ...]

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        plan = Plan(self.split.files, len(self.split.files), filter=self.filter)
        yield from Scan(self.sources, self.schema, plan, self.filter, self.columns).to_batches()


def read_tasks(
    sources: Sources,
    schema: Schema,
    files: Iterable[PlannedFile],
    filter: Filter | None,
    columns: Sequence[str],
    target_bytes: int = TARGET_BYTES,
) -> list[ReadTask]:
    """A plan as tasks of about `target_bytes` each; all tasks, one after the other, give the plan's rows."""
    return [
        ReadTask(_own_sources(sources, split), schema, split, filter, tuple(columns))
        for split in splits(files, target_bytes)
    ]


def _own_sources(sources: Sources, split: Split) -> Sources:
    """The sources of a split, with its inline rows but without a metastore."""
    inline = [planned.file for planned in split.files if is_inline(planned.file)]
    bodies = sources.inline_rows(inline) if inline else []
    return Sources(sources.files, sources.table, None, dict(zip(map(inline_id, inline), bodies, strict=True)))


@dataclass(frozen=True, slots=True)
class WriteTask:
    """How rows are written for a table in `state`; all tasks of a write share it."""

    files: Files
    state: TableState
    table: str
    checks: tuple[Check, ...]
    options: WriteOptions

    def check(self, form: pyarrow.Schema) -> None:
        """Refuse rows of this form if they can't be the table's: `Invalid` lists every reason."""
        fit(form.empty_table(), self.state.schema)

    def write(self, rows: pyarrow.RecordBatchReader) -> list[DataFileRef]:
        """Write the rows to files with new names; after an error no file is left behind."""
        state = self.state
        with about_table(self.table):
            data = checked(self.checks, state.schema, rows) if self.checks else rows
            return write(self.files, state.data_folder, state.schema, data, state.spec, state.sort_order, self.options)


def write_task(target: Target) -> WriteTask:
    """How rows are written for a table, as its properties say."""
    return WriteTask(target.files, target.state, target.name, target.checks, target.write_options)
