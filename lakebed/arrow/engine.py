"""The local engine: it reads and writes rows with Arrow, in this process."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow

from lakebed.arrow.add_files import added_files
from lakebed.arrow.casting import cast_rows
from lakebed.arrow.compaction import GroupWriter, rewrite
from lakebed.arrow.fit import kept_rows, reader_of, typed_rows
from lakebed.arrow.given_files import given_folder, has_files
from lakebed.arrow.python_rows import PythonRows
from lakebed.arrow.read.copies import KnownRows, NumberedCopies, numbered_copies, rows_with_ids
from lakebed.arrow.read.feed import ArrowFeed, shown_rows
from lakebed.arrow.read.get import find_placed_row, find_row
from lakebed.arrow.read.inserts import inserted_pieces
from lakebed.arrow.read.pieces import python_rows, read_pieces, row_values
from lakebed.arrow.read.rows import table_of_rows
from lakebed.arrow.read.scan import Replan, Scan, pruned_plan
from lakebed.arrow.read.stored import read_whole
from lakebed.arrow.rows.assignments import assignments
from lakebed.arrow.rows.delete import delete_rows, overwrite_rows
from lakebed.arrow.rows.differences import ArrowDifferences
from lakebed.arrow.rows.keys import check_keys, check_table
from lakebed.arrow.rows.merge import bind_merge, merge_rows
from lakebed.arrow.rows.phantoms import settle_phantoms
from lakebed.arrow.rows.source import keyed_rows
from lakebed.arrow.rows.three_way import ThreeWayRows, broken_rows, merge_sides
from lakebed.arrow.rows.update import update_rows
from lakebed.arrow.rows.upsert import upsert_rows
from lakebed.arrow.types import arrow_schema, schema_of
from lakebed.arrow.write.rows import write_rows
from lakebed.arrow.write.single import put_rows
from lakebed.catalog.data.compaction import Form
from lakebed.catalog.data.engine import Fill, Where, can_be_read_again
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.catalog.feed.compare import Compared
from lakebed.catalog.feed.feed import Feed
from lakebed.catalog.feed.steps import Piece, Step
from lakebed.catalog.merge.rows import Decide, DisputedRow, KeyCheck, RowSides
from lakebed.catalog.tables.properties import Check
from lakebed.files import Files
from lakebed.table.expression.assignments import Values
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.expression.where import bind_where
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Filter, Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Type


class ArrowEngine:
    """The local engine. Rows for an upsert or a merge are kept in memory."""

    @property
    def attempts(self) -> int:
        return 50

    def schema_of(self, given: pyarrow.Schema) -> Schema:
        """An Arrow schema as a table's schema."""
        return schema_of(given)

    def type_of(self, column: str, given: pyarrow.DataType) -> Type:
        """An Arrow type as that of a table's column; `Invalid` names the column if a table can't have it."""
        return schema_of(pyarrow.schema([(column, given)])).fields[0].type

    def columns_of(self, data: object) -> tuple[Schema, object]:
        rows = data if can_be_read_again(data) else reader_of(data)
        found = reader_of(rows).schema
        typed = [field for field in found if not pyarrow.types.is_null(field.type)]  # nulls fit any column
        return schema_of(pyarrow.schema(typed)), rows

    def check_typed(self, rows: object) -> None:
        """`Invalid` names a column of rows that has only nulls: a new table could not tell its type."""
        schema_of(reader_of(rows).schema)

    def cast(self, schema: Schema, data: object) -> object:
        rows = cast_rows(reader_of(data, schema), schema)
        return rows.read_all() if can_be_read_again(data) else rows

    def write(self, target: Target, data: object) -> Written:
        return write_rows(target, data)

    def check_keys(self, target: Target, change: RowChange) -> None:
        check_keys(target, change)

    def check_table(self, target: Target) -> None:
        """`Invalid` if two rows of the table have one primary key."""
        check_table(target)

    def keep(self, data: object) -> "KeptTable":
        return KeptTable(kept_rows(data))

    def delete(self, target: Target, where: str | Condition) -> RowChange:
        return delete_rows(target, bind_where(where, target.schema).filter)

    def update(self, target: Target, values: Values, where: Where) -> RowChange:
        return update_rows(target, assignments(values, target.schema), _filter(where, target.schema))

    def overwrite(self, target: Target, written: Written, where: Where) -> RowChange:
        if where is None:
            return overwrite_rows(target, written, None, None)
        bound = bind_where(where, target.schema)
        return overwrite_rows(target, written, bound.filter, bound.text)

    def rewrite(self, target: Target, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
        return rewrite(target, files)

    def writer(self, target: Target, form: Form) -> GroupWriter:
        return GroupWriter(target, form)

    def scan(
        self,
        sources: Sources,
        schema: Schema,
        plan: Plan,
        filter: Filter | None = None,
        columns: Iterable[str] | None = None,
        limit: int | None = None,
        replan: Replan | None = None,
        again: Callable[[], Scan] | None = None,
    ) -> Scan:
        """The rows of planned files that pass."""
        return Scan(sources, schema, plan, filter, columns, limit, replan, again)

    def feed(self, feed: Feed, schema: Schema, *, updates: bool, filter: Filter | None) -> ArrowFeed:
        """The rows of a feed that pass, in its columns."""
        return ArrowFeed(feed.steps, shown_rows(feed.schema, schema, updates=updates, filter=filter))

    def inserted(self, step: Step) -> list[Piece]:
        """The rows of a commit that are new."""
        return list(inserted_pieces(step))

    def put_pieces(self, path: str, sources: Sources, schema: Schema, pieces: Sequence[Piece]) -> int:
        """Write the rows of pieces to one file, unless it is there; its size, 0 if there are no rows."""
        return put_rows(sources.files, path, schema, read_pieces(sources, pieces, schema))

    def put_feed(self, files: Files, path: str, feed: Feed, schema: Schema) -> int:
        """The same for the rows of a feed."""
        return put_rows(files, path, schema, self.feed(feed, schema, updates=True, filter=None).to_batches())

    def differences(self, compared: Compared, filter: Filter | None) -> ArrowDifferences:
        """The rows in which two states of a table differ, and of which either image passes."""
        return ArrowDifferences(compared, filter)

    def python_rows(self, rows: pyarrow.RecordBatch) -> list[dict[str, object]]:
        """Rows as dictionaries of Python's values; text where Python has no such value."""
        return python_rows(rows)

    def read_inline(
        self,
        sources: Sources,
        schema: Schema,
        files: Sequence[DataFileRef],
        filter: Filter | None,
        columns: Sequence[str],
    ) -> pyarrow.Table:
        """The rows of inline entries that pass, for an engine that can't read inline rows."""
        plan = pruned_plan([PlannedFile(file) for file in files], filter)
        return Scan(sources, schema, plan, filter, columns).to_arrow()

    def get(self, target: Target, key: Sequence[object]) -> dict[str, object] | None:
        """The row with a primary key."""
        return find_row(target, key)

    def find(self, target: Target, key: Sequence[object]) -> dict[str, object] | None:
        """The row with a primary key, with its metadata columns."""
        return find_placed_row(target, key)

    def rows_with_ids(self, sources: Sources, pieces: Sequence[Piece], schema: Schema, ids: Sequence[int]) -> KnownRows:
        """The rows of pieces that have one of these ids, to be compared."""
        return rows_with_ids(sources, pieces, schema, ids)

    def add_files(
        self,
        files: Files,
        schema: Schema,
        spec: PartitionSpec,
        addresses: Sequence[str],
        values: Mapping[Field, Value | None] | None = None,
        *,
        verify: bool,
    ) -> Sequence[DataFileRef]:
        """Entries for Parquet files that another writer wrote, where they are; `values` are an explicit partition's."""
        return added_files(files, schema, spec, addresses, values, verify=verify)

    def files_in(
        self,
        files: Files,
        schema: Schema,
        spec: PartitionSpec,
        location: str,
        values: Mapping[Field, Value | None],
        *,
        verify: bool = True,
        without: Collection[str] = (),
    ) -> Sequence[DataFileRef]:
        """Entries for the Parquet files in the folder of an explicit partition, which may be empty."""
        folder = given_folder(location)
        if not has_files(folder):
            return []
        return added_files(files, schema, spec, [folder], values, folder, verify=verify, without=without)

    def folder(self, files: Files, location: str) -> str:
        """The path by which a lake knows a folder of files that others wrote."""
        return files.path_of(given_folder(location))

    def read_whole(self, files: Files, file: DataFileRef) -> None:
        """Read a data file with all its checksums; `Corrupt` if it is damaged."""
        read_whole(files, file)

    def broken_rows(
        self, sources: Sources, schema: Schema, pieces: Sequence[Piece], checks: Sequence[Check], side: str
    ) -> list[DisputedRow]:
        """The rows of one side of a merge that break checks of the other."""
        return broken_rows(sources, schema, pieces, checks, side)

    def repeated_keys(self, check: KeyCheck) -> list[DisputedRow]:
        """The rows of one side of a merge whose primary key another row has, though the other side asks for it."""
        return ThreeWayRows(check.schema, lambda disputed: None).repeated_keys(check)

    def merge_sides(self, sides: RowSides, decide: Decide) -> ThreeWayRows:
        """Compare the rows that both sides of a merge changed, cell by cell; they are held in memory."""
        merged = merge_sides(sides, decide)
        settle_phantoms(merged, sides)
        return merged

    def numbered_rows(
        self, sources: Sources, pieces: Sequence[Piece], ids_within: range | None = None
    ) -> NumberedCopies:
        """The places and sequence numbers of rows by their ids; their values are not read."""
        return numbered_copies(sources, pieces, ids_within)

    def release(self) -> None:
        """Nothing is kept for a merge outside of its answers."""

    def row_values(self, schema: Schema, rows: pyarrow.Table) -> list[dict[str, object]]:
        """The rows of another engine as Python's values, by the names of the columns, which may have other names."""
        typed = rows.rename_columns(list(schema.names)).cast(arrow_schema(schema))
        return [row_values(typed, place) for place in range(typed.num_rows)]

    def typed_rows(self, schema: Schema, rows: Sequence[Mapping[str, object]]) -> pyarrow.Table:
        """Python's values in the types of a table's columns."""
        return typed_rows(schema, rows)

    def table_of_rows(
        self,
        schema: Schema,
        rows: Iterable[Sequence[object]],
        filter: Filter | None = None,
        columns: Iterable[str] | None = None,
    ) -> pyarrow.Table:
        """Plain values as an Arrow table."""
        return table_of_rows(schema, rows, filter, columns)


@dataclass(frozen=True, slots=True)
class KeptTable:
    """Rows in memory."""

    rows: pyarrow.Table | PythonRows

    def schema(self, target: Schema) -> Schema:
        return schema_of(reader_of(self.rows, target).schema)

    def upsert(self, target: Target, on: Sequence[str], fill: Fill) -> RowChange:
        return upsert_rows(target, keyed_rows(self.rows, target.schema, on, fill))

    def merge(self, target: Target, on: str | Sequence[str], clauses: Sequence[Clause]) -> RowChange:
        return merge_rows(target, bind_merge(target.schema, self.rows, on, clauses))


def _filter(where: Where, schema: Schema) -> Filter | None:
    return None if where is None else bind_where(where, schema).filter
