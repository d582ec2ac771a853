"""The Spark engine: reads and writes rows by jobs of a session.

Each call runs in a thread of its own: a bar on the terminal shows its progress, and Ctrl-C cancels its jobs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.data.compaction import Done, Form, Writer
from lakebed.catalog.data.engine import Fill, Where
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.catalog.feed.compare import Compared
from lakebed.catalog.feed.feed import Feed
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import Decide, DisputedRow, KeyCheck, NumberedRows, RowSides
from lakebed.catalog.objects.naming import about_table
from lakebed.catalog.tables.properties import Check
from lakebed.spark.casting import cast_rows, unfit_values
from lakebed.spark.compaction import GroupWriter, rewrite
from lakebed.spark.expressions import value_errors
from lakebed.spark.fit import check_rows
from lakebed.spark.jobs.errors import file_errors
from lakebed.spark.jobs.run import run
from lakebed.spark.read.source import ReadInline, Source
from lakebed.spark.rows.comparison import PythonValues
from lakebed.spark.rows.copies import HeldRows, PieceReader
from lakebed.spark.rows.delete import delete_rows, overwrite_rows
from lakebed.spark.rows.differences import difference_rows
from lakebed.spark.rows.feed import feed_rows
from lakebed.spark.rows.keys import check_keys
from lakebed.spark.rows.merge import merge_rows
from lakebed.spark.rows.phantoms import settle_phantoms
from lakebed.spark.rows.read import read_rows
from lakebed.spark.rows.source import source_schema, stable_rows
from lakebed.spark.rows.three_way import MergedFrames, Merging, broken_rows, merge_sides
from lakebed.spark.rows.update import update_rows
from lakebed.spark.rows.upsert import upsert_rows
from lakebed.spark.rows.where import Where as SparkWhere
from lakebed.spark.rows.where import bind_read, bind_where
from lakebed.spark.types import schema_of
from lakebed.spark.write.rows import write_rows
from lakebed.table.expression.assignments import Values
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.filter.condition import Condition
from lakebed.table.keys.compaction import Group
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """A Spark session; `read_inline` reads inline rows by another engine, `python` knows that engine's values.

    `held` are rows of merges that are still to be written.
    """

    spark: SparkSession
    read_inline: ReadInline
    python: PythonValues
    held: HeldRows = field(default_factory=HeldRows, compare=False)

    @property
    def attempts(self) -> int:
        """Fewer than the local engine's: each attempt runs the jobs again."""
        return 5

    def columns_of(self, data: object) -> tuple[Schema, object]:
        return schema_of(cast(DataFrame, data).schema), data

    def cast(self, schema: Schema, data: object) -> object:
        return cast_rows(check_rows(data), schema)

    def write(self, target: Target, data: object) -> Written:
        with about_table(target.name):
            return run(
                self.spark,
                f"{target.purpose} {target.name}",
                lambda: write_rows(target, cast(DataFrame, data)),
                undo=lambda written: RowChange(written=written).discard(target.files),
            )

    def check_keys(self, target: Target, change: RowChange) -> None:
        self._run("look for the keys in", target, lambda: check_keys(target, self.source(target), change))

    def keep(self, data: object) -> "KeptFrame":
        with unfit_values():
            return KeptFrame(self, run(self.spark, "hold the rows", lambda: stable_rows(data)))

    def delete(self, target: Target, where: str | Condition) -> RowChange:
        def delete() -> RowChange:
            return delete_rows(target, self.source(target), bind_where(where, target.schema))

        return self.change("delete from", target, delete)

    def update(self, target: Target, values: Values, where: Where) -> RowChange:
        def update() -> RowChange:
            bound = () if where is None else (bind_where(where, target.schema),)
            return update_rows(target, self.source(target), values, *bound)

        return self.change("update", target, update)

    def overwrite(self, target: Target, written: Written, where: Where) -> RowChange:
        def overwrite() -> RowChange:
            bound = None if where is None else bind_where(where, target.schema)
            return overwrite_rows(target, self.source(target), written, bound)

        # The written rows stay for another attempt.
        return self._run("overwrite", target, overwrite, lambda change: change.discard_vectors(target.files))

    def rewrite(self, target: Target, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
        return self._run(
            "rewrite files of",
            target,
            lambda: rewrite(target, self.source(target), files),
            lambda made: RowChange(written=Written(made)).discard(target.files),
        )

    def writer(self, target: Target, form: Form) -> Writer:
        return _JobWriter(self, target, GroupWriter(target, self.source(target), form))

    def bound(self, where: str | Condition, schema: Schema) -> SparkWhere:
        """A condition for rows that are read: what files are planned by, and what Spark tests on rows."""
        return bind_read(where, schema)

    def read(
        self,
        table: str,
        sources: Sources,
        schema: Schema,
        files: Sequence[DataFileRef],
        where: SparkWhere | None = None,
        columns: Sequence[str] | None = None,
    ) -> DataFrame:
        """The rows of planned files that pass: inline rows are read now, all others by the DataFrame's jobs."""
        source = Source(self.spark, sources, self.read_inline)
        return read_rows(table, source, schema, files, where, columns)

    def feed(self, table: str, feed: Feed, schema: Schema, *, updates: bool, where: Where) -> DataFrame:
        """The rows of a feed that pass, in its columns; inline rows are read now, others by the DataFrame's jobs."""
        return feed_rows(table, self.spark, self.read_inline, feed, schema, updates=updates, where=where)

    def merge_sides(self, sides: RowSides, decide: Decide) -> MergedFrames:
        """Compare the rows that both sides of a merge changed; executors keep those to write until `release`."""
        merged = merge_sides(self._merging(sides.sources, sides.schema), self.held, sides, decide)
        settle_phantoms(merged, sides)
        return merged

    def broken_rows(
        self, sources: Sources, schema: Schema, pieces: Sequence[Piece], checks: Sequence[Check], side: str
    ) -> list[DisputedRow]:
        """The rows of one side of a merge that break checks of the other."""
        return broken_rows(self._merging(sources, schema), pieces, checks, side)

    def repeated_keys(self, check: KeyCheck) -> list[DisputedRow]:
        """The rows of one side of a merge whose primary key another row has, though the other side asks for it."""
        merging = self._merging(check.sources, check.schema)
        return MergedFrames(merging, lambda disputed: None).repeated_keys(check)

    def numbered_rows(self, sources: Sources, pieces: Sequence[Piece], ids_within: range | None = None) -> NumberedRows:
        """The places and sequence numbers of rows by their ids, read here: a conflict asks for those of few files."""
        return self.python.numbered_rows(sources, pieces, ids_within)

    def release(self) -> None:
        """Let executors go of the rows that were kept for merges."""
        self.held.release()

    def _merging(self, sources: Sources, schema: Schema) -> Merging:
        def run_jobs(what: str, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
            with value_errors("a merge"), file_errors(sources.files):
                return run(self.spark, what, work, undo=undo)

        return Merging(PieceReader(Source(self.spark, sources, self.read_inline), schema), self.python, run_jobs)

    def differences(self, table: str, compared: Compared, where: Where) -> DataFrame:
        """The rows in which two states of a table differ; inline rows are read now, others by the DataFrame's jobs."""
        return difference_rows(table, self.spark, self.read_inline, compared, where)

    def source(self, target: Target) -> Source:
        """Where the session reads a table's rows from."""
        return Source(self.spark, target.sources, self.read_inline)

    def change(self, what: str, target: Target, do: Callable[[], RowChange]) -> RowChange:
        """Make a change by jobs on a table's files; Ctrl-C discards it even if it is already made."""
        return self._run(what, target, do, lambda change: change.discard(target.files))

    def compact(self, target: Target, do: Callable[[], None]) -> None:
        """Run the writes of a compaction, which discards them itself after an error."""
        self._run("compact", target, do)

    def _run(self, what: str, target: Target, do: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
        """Run jobs on a table's files; errors name the table, and a file that can't be read."""
        with about_table(target.name), file_errors(target.files):
            return run(self.spark, f"{what} {target.name}", do, undo=undo)


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """Numbered rows that the executors hold."""

    engine: SparkEngine
    rows: DataFrame

    def schema(self, target: Schema) -> Schema:
        return source_schema(self.rows)

    def upsert(self, target: Target, on: Sequence[str], fill: Fill) -> RowChange:
        source = self.engine.source(target)
        return self.engine.change("upsert into", target, lambda: upsert_rows(target, source, self.rows, on, fill))

    def merge(self, target: Target, on: str | Sequence[str], clauses: Sequence[Clause]) -> RowChange:
        source = self.engine.source(target)
        return self.engine.change("merge into", target, lambda: merge_rows(target, source, self.rows, on, clauses))


@dataclass(frozen=True, slots=True)
class _JobWriter(Writer):
    """Writes the groups of a compaction as one piece of work."""

    engine: SparkEngine
    target: Target
    inner: GroupWriter

    def write(self, groups: Sequence[Group], done: Done) -> None:
        self.engine.compact(self.target, lambda: self.inner.write(groups, done))
