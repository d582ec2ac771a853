"""The table of an export: everything that its Iceberg metadata is made from."""

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
from lakebed.table.manifest.file_fields import constant_ids, field_ids_of
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A table at a version: its newest snapshot, its live files, and all schemas, specs and orders that it has had.

    `types` has the types of all fields of all schemas.
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
        """The lowest version of the format that can express everything in the table."""
        return 3 if self.vectors.places or any(needs_v3(schema) for schema in self.schemas) else 2

    @property
    def last_sequence_number(self) -> int:
        """That of the snapshot; in tables that merged before it was above all of its rows', the greatest of these."""
        return max([self.snapshot.record.sequence_number, *(live.file.seq_max for live in self.files)])

    def location(self, file: DataFileRef) -> str:
        return location_of(self.past.context.files, file)


def exported_table(work: Work, state: TableState) -> ExportedTable:
    """The table as it is committed; `Invalid` if it has rows that Iceberg's readers can't reach."""
    work.read(DataRead(state.partition))
    [past] = newest_of(work, [state.id])
    if state.partition in work.deltas or not past.steps:
        advice = "Commit the transaction first."
        raise Invalid("a table with uncommitted changes can't be exported", subject=state.id, advice=advice)
    files = tuple(table_files(work, state).all(work.context).values())
    schemas = _schemas(work, state, past.steps[-1])
    for live in files:
        _check_readable(live.file, state.schema)
    return ExportedTable(
        past,
        past.steps[-1],
        schemas,
        _specs(work, past, files),
        _orders(work, state),
        files,
        known_types(schemas),
        find_vectors(work.context.files, [live.file for live in files]),
    )


def _check_readable(file: DataFileRef, schema: Schema) -> None:
    """Refuse a file that only Lakebed can read, or that Iceberg's readers would read differently."""
    advice = "compact() writes the rows to files of the table."
    if is_inline(file):
        raise Invalid("a table with inline rows can't be exported", subject=file.path, advice=advice)
    held = field_ids_of(file)
    if held is not None and not (held | constant_ids(file)).issuperset(schema.ways):
        raise Invalid(
            "a file that was added in place may have columns that other readers mistake for the table's",
            subject=file.path,
            expected="a file with all columns of the table, or with no other columns",
            advice=advice,
        )


def _schemas(work: Work, state: TableState, newest: Step) -> tuple[Schema, ...]:
    """The newest snapshot's schema, then all that the line has had, oldest first; the table's own is the last."""
    past = [cast(pb.TableSchema, old.record).schema_id for old in states(work, [state.id], Attribute.SCHEMA)[0]]
    ids = dict.fromkeys([newest.record.schema_id, *past])
    return (*(schema_of(work, state.id, id) for id in ids if id != state.schema.id), state.schema)


def _specs(work: Work, past: TablePast, files: tuple[LiveFile, ...]) -> tuple[PartitionSpec, ...]:
    """The specs of the line, and those of files that came from other lines."""
    ids = dict.fromkeys([*(spec.id for spec in past.specs), *(live.file.spec_id for live in files)])
    return tuple(spec_of(work, past.state.id, id) for id in ids)


def _orders(work: Work, state: TableState) -> tuple[SortOrder, ...]:
    past = [cast(pb.TableSortOrder, old.record).sort_order_id for old in states(work, [state.id], Attribute.SORT)[0]]
    ids = (id for id in dict.fromkeys([0, *past]) if id != state.sort_order.id)
    return (*(work.context.bodies.sort_order(state.id, id) for id in ids), state.sort_order)
