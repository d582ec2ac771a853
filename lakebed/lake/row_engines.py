"""The two engines that change rows, by the same calls: the local one, and Spark."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from lakebed.catalog.data.row_changes import Discard, RowChange, RowChanges, Written, row_changes, without_vectors
from lakebed.catalog.data.row_sources import sources
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.engines import is_of_spark, load_engine, run_on, run_on_table, spark_source
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.manifest.manifest_pb2 import DataFileRef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.spark import Source

Make = Callable[[Work, TableState], RowChange | None]
"""Makes a change; None if there is nothing to do, and then nothing is committed."""

Overwrite = Callable[[Work, TableState, Written], RowChange]
Where = str | Condition | None


class RowEngine(Protocol):
    """What changes rows. What it is given is looked at once; what it answers can be made again on a newer state."""

    attempts: int
    """How often a change is made before changes by others are too many. Each is lost to one that took effect."""

    def delete(self, where: str | Condition) -> Make: ...

    def update(self, values: Mapping[str, Any], where: Where) -> Make: ...

    def upsert(self, data: Any, names: Sequence[str]) -> Make: ...

    def merge(self, source: Any, on: str | Sequence[str], clauses: Sequence[Clause]) -> Make: ...

    def overwrite(self, where: Where) -> Overwrite: ...

    def rewritten(self, work: Work, state: TableState, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]: ...


def row_engine(spark: "SparkSession | None" = None, data: Any = None) -> RowEngine:
    """Spark if there is a session, or if the data is a DataFrame of it; else the local engine."""
    if spark is None and is_of_spark(data) and hasattr(data, "sparkSession"):
        spark = data.sparkSession
    if spark is None:
        return LocalRows()
    if not is_of_spark(spark):
        raise Invalid(
            "this is not a Spark session",
            expected="what lakebed.spark.session(lake) answers",
            found=f"{spark!r:.80}",
            advice="Without one the local engine changes the rows.",
        )
    return SparkRows(spark)


def copying(engine: RowEngine, make: Make, discard: Discard = RowChange.discard) -> Make:
    """The change as the table wants it: with vectors, or with copies of the files that it takes rows out of.

    `discard` takes away what it had written if the copies fail.
    """

    def made(work: Work, state: TableState) -> RowChange | None:
        wanted = row_changes(work, state.id)
        change = make(work, state)
        if change is None or wanted is RowChanges.MERGE_ON_READ:
            return change
        return without_vectors(work, state, change, engine.rewritten, discard)

    return made


class LocalRows:
    """The local engine, in this process: what is given is held in memory."""

    attempts = 50

    def __init__(self) -> None:
        self._engine: Any = load_engine("arrow")

    def delete(self, where: str | Condition) -> Make:
        return lambda work, state: self._engine.delete_rows(work, state, bind(where, state.schema))

    def update(self, values: Mapping[str, Any], where: Where) -> Make:
        def make(work: Work, state: TableState) -> RowChange:
            change = self._engine.assignments(values, state.schema)
            filter = None if where is None else bind(where, state.schema)
            return cast(RowChange, self._engine.update_rows(work, state, change, filter))

        return make

    def upsert(self, data: Any, names: Sequence[str]) -> Make:
        held = self._engine.held(data)

        def make(work: Work, state: TableState) -> RowChange:
            keyed = self._engine.keyed_rows(held, state.schema, names)
            return cast(RowChange, self._engine.upsert_rows(work, state, keyed))

        return make

    def merge(self, source: Any, on: str | Sequence[str], clauses: Sequence[Clause]) -> Make:
        held = self._engine.held(source)

        def make(work: Work, state: TableState) -> RowChange:
            bound = self._engine.bind_merge(state.schema, held, on, clauses)
            return cast(RowChange, self._engine.merge_rows(work, state, bound))

        return make

    def overwrite(self, where: Where) -> Overwrite:
        def make(work: Work, state: TableState, written: Written) -> RowChange:
            filter = None if where is None else bind(where, state.schema)
            condition = None if where is None else str(where)
            return cast(RowChange, self._engine.overwrite_rows(work, state, written, filter, condition))

        return make

    def rewritten(self, work: Work, state: TableState, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
        return cast("Sequence[DataFileRef]", self._engine.rewritten(work, state, files))


class SparkRows:
    """A Spark session. A change that has to be made again runs its jobs again, so it is made less often."""

    attempts = 5

    def __init__(self, spark: "SparkSession") -> None:
        self._engine: Any = load_engine("spark")
        self._spark = spark

    def delete(self, where: str | Condition) -> Make:
        def make(work: Work, state: TableState) -> RowChange:
            bound = self._engine.bind_where(where, state.schema)
            return cast(RowChange, self._engine.delete_rows(work, state, self._source(work, state), bound))

        return self._shown("delete from", make)

    def update(self, values: Mapping[str, Any], where: Where) -> Make:
        def make(work: Work, state: TableState) -> RowChange:
            asked = () if where is None else (self._engine.bind_where(where, state.schema),)
            return cast(RowChange, self._engine.update_rows(work, state, self._source(work, state), values, *asked))

        return self._shown("update", make)

    def upsert(self, data: Any, names: Sequence[str]) -> Make:
        rows = run_on(self._spark, "hold the rows", lambda: self._engine.stable_rows(data))

        def make(work: Work, state: TableState) -> RowChange:
            return cast(RowChange, self._engine.upsert_rows(work, state, self._source(work, state), rows, names))

        return self._shown("upsert into", make)

    def merge(self, source: Any, on: str | Sequence[str], clauses: Sequence[Clause]) -> Make:
        rows = run_on(self._spark, "hold the rows", lambda: self._engine.stable_rows(source))

        def make(work: Work, state: TableState) -> RowChange:
            return cast(RowChange, self._engine.merge_rows(work, state, self._source(work, state), rows, on, clauses))

        return self._shown("merge into", make)

    def overwrite(self, where: Where) -> Overwrite:
        def make(work: Work, state: TableState, written: Written) -> RowChange:
            def made() -> RowChange:
                bound = None if where is None else self._engine.bind_where(where, state.schema)
                source = self._source(work, state)
                return cast(RowChange, self._engine.overwrite_rows(work, state, source, written, bound))

            files = work.context.files
            return run_on_table(
                self._spark, "overwrite", work, state, made, lambda change: change.discard_vectors(files)
            )

        return make

    def rewritten(self, work: Work, state: TableState, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
        return run_on_table(
            self._spark,
            "rewrite files of",
            work,
            state,
            lambda: cast(
                "Sequence[DataFileRef]", self._engine.rewritten(self._source(work, state), work, state, files)
            ),
            lambda made: RowChange(written=Written(made)).discard(work.context.files),
        )

    def _shown(self, what: str, make: Make) -> Make:
        """The change as work of the session, which Ctrl-C cancels."""

        def made(work: Work, state: TableState) -> RowChange | None:
            return run_on_table(
                self._spark,
                what,
                work,
                state,
                lambda: make(work, state),
                lambda change: None if change is None else change.discard(work.context.files),
            )

        return made

    def _source(self, work: Work, state: TableState) -> "Source":
        return spark_source(self._spark, sources(work, state.id))
