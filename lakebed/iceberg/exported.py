"""A table with all that its Iceberg metadata are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.data.row_sources import location_of
from lakebed.catalog.inspect.history import Step, TablePast, newest_of, states
from lakebed.catalog.tables.tables import TableState, schema_of, spec_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.iceberg.schemas import known_types, needs_v3
from lakebed.iceberg.vectors import Vectors, find_vectors
from lakebed.metastore import DataRead
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A table at a version: its newest snapshot, its live files, and every schema, spec and order that it ever had.

    `types` are those of all fields of all schemas.
    """

    past: TablePast
    snapshot: Step
    schemas: tuple[Schema, ...]
    specs: tuple[PartitionSpec, ...]
    orders: tuple[SortOrder, ...]
    files: tuple[LiveFile, ...]
    types: Mapping[int, Type]
    vectors: Vectors

    @property
    def state(self) -> TableState:
        return self.past.state

    @property
    def format_version(self) -> int:
        """The lowest that has words for all that is in the table."""
        return 3 if self.vectors.places or any(needs_v3(one) for one in self.schemas) else 2

    @property
    def last_sequence_number(self) -> int:
        """Of the snapshot, or of a file that came with a higher one from another line."""
        return max([self.snapshot.record.sequence_number, *(one.file.seq_max for one in self.files)])

    def location(self, file: DataFileRef) -> str:
        return location_of(self.past.context.files, file)


def exported(work: Work, state: TableState) -> ExportedTable:
    """The table as it was committed; `Invalid` if it has what Iceberg's readers can't reach."""
    work.read(DataRead(state.partition))
    [past] = newest_of(work, [state.id])
    if state.id in work.deltas or not past.steps:
        advice = "Commit the transaction first."
        raise Invalid("a table with changes that are not committed can't be exported", subject=state.id, advice=advice)
    files = tuple(table_files(work, state).all(work.context).values())
    schemas = _schemas(work, state, past.steps[-1])
    for one in files:
        _check(one.file, state.schema)
    return ExportedTable(
        past,
        past.steps[-1],
        schemas,
        _specs(work, past, files),
        _orders(work, state),
        files,
        known_types(schemas),
        find_vectors(work.context.files, [one.file for one in files]),
    )


def _check(file: DataFileRef, schema: Schema) -> None:
    """Refuse files that only Lakebed can read, or reads otherwise than Iceberg's readers would."""
    advice = "compact() writes the rows to files of the table."
    if is_inline(file):
        raise Invalid("a table with inline rows can't be exported", subject=file.path, advice=advice)
    held = field_ids_of(file)
    if held is not None and not held.issuperset(schema.ways):
        raise Invalid(
            "a file that was added in place may have columns that other readers take for the table's",
            subject=file.path,
            expected="a file with all columns of the table, or with none besides",
            advice=advice,
        )


def _schemas(work: Work, state: TableState, newest: Step) -> tuple[Schema, ...]:
    """All that the line had, and the newest snapshot's, in the order of their coming; the table's own is the last."""
    past = [cast(pb.TableSchema, one.record).schema_id for one in states(work, state.id, Attribute.SCHEMA)]
    ids = dict.fromkeys([newest.record.schema_id, *past])
    return (*(schema_of(work, state.id, one) for one in ids if one != state.schema.id), state.schema)


def _specs(work: Work, past: TablePast, files: tuple[LiveFile, ...]) -> tuple[PartitionSpec, ...]:
    """Those of the line, and those that files of other lines came with."""
    ids = dict.fromkeys([*(one.id for one in past.specs), *(one.file.spec_id for one in files)])
    return tuple(spec_of(work, past.state.id, one) for one in ids)


def _orders(work: Work, state: TableState) -> tuple[SortOrder, ...]:
    past = [cast(pb.TableSortOrder, one.record).sort_order_id for one in states(work, state.id, Attribute.SORT)]
    ids = (one for one in dict.fromkeys([0, *past]) if one != state.sort_order.id)
    return (*(work.context.bodies.sort_order(state.id, one) for one in ids), state.sort_order)
