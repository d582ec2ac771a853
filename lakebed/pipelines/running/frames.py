"""The values of a step's parameters: inputs as DataFrames of the run's branch, parameters, the session."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakebed.catalog.feed import columns as feed_columns
from lakebed.catalog.feed.columns import DELETE, FEED_NAMES, INSERT, PREIMAGE
from lakebed.errors import Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.pipelines import windows
from lakebed.pipelines.flows import Values
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.inputs import PUBLISHED, Appended, Changed, Given, Input, Read, Streamed
from lakebed.pipelines.states import State, table_then
from lakebed.pipelines.steps import INPUTS, Step
from lakebed.spark.fit import quoted

if TYPE_CHECKING:
    from lakebed.pipelines.running.run import Run

CHANGE_TYPE = feed_columns.CHANGE_TYPE.name

MARK = "lakebed:"
"""How the alias of an input begins: column lineage finds inputs by it in Spark's plans."""


@dataclass(frozen=True, slots=True)
class Positions:
    """From which states a step's `changes` go on; none if it starts over."""

    since: Mapping[str, State] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frames:
    """What the functions of a run get. `line` is the run's branch, `published` the target as it was at the base."""

    graph: Graph
    spark: SparkSession
    line: Catalog
    published: Catalog
    params: Mapping[str, Any]
    run: "Run | None" = None
    lake: Any = None

    def values(self, step: Step, positions: Positions, window: windows.Window | None = None) -> Values:
        """The values of the step's parameters, each made when it is asked for."""
        return lambda parameter: self._value(step, parameter, positions, window)

    def _value(self, step: Step, parameter: str, positions: Positions, window: windows.Window | None) -> Any:
        source = step.inputs[parameter]
        edge = next((edge for edge in self.graph.edges[step.name] if edge.parameter == parameter), None)
        if edge is not None:
            maker = None if edge.maker is None else self.graph.steps[edge.maker]
            if maker is not None and maker.is_view:
                return self._view(maker, edge.input, positions, window)
            return self.frame(edge.input, positions)
        assert isinstance(source, Given) and not isinstance(source, INPUTS)
        special = {"spark": self.spark, "run": self.run, "window": window, "lake": self.lake}
        return self.params[source.name] if source.name in self.params else special[source.name]

    def value(self, asked: Input, positions: Positions) -> DataFrame:
        """The rows of an input of a check or a hook: a table, or a view of the pipeline."""
        view = self.graph.steps.get(asked.name)
        return (
            self._view(view, asked, positions, None)
            if view is not None and view.is_view
            else self.frame(asked, positions)
        )

    def has(self, name: str) -> bool:
        """Whether a table or a view of the lake is there; of a view of the pipeline, all that it reads."""
        view = self.graph.steps.get(name)
        if view is not None and view.is_view:
            return all(self.has(table) for table in self.graph.tables(name))
        return self.line.table_exists(name) or self.line.view_exists(name)

    def _view(self, view: Step, asked: Input, positions: Positions, window: windows.Window | None) -> DataFrame:
        if not isinstance(asked, Read | Streamed):
            raise Invalid("a view has no changes of its own", subject=view.name, advice="Read it with lp.read.")
        made = checked_frame(view, view.answer(self.values(view, positions, window)))
        check_read(view.name, made, asked)
        return made if isinstance(asked, Streamed) else _narrowed(made, asked)

    def frame(self, asked: Input, positions: Positions) -> DataFrame:
        """The rows of an input."""
        rows = self._rows(asked, positions)
        return rows.alias(MARK + asked.name)

    def _rows(self, asked: Input, positions: Positions) -> DataFrame:
        if isinstance(asked, Read):
            return self._read(asked)
        table, since = self.line.table(asked.name), positions.since.get(asked.name)
        if isinstance(asked, Streamed):
            return _streamed(self.spark, table, asked)
        if isinstance(asked, Changed):
            return _changed(self.spark, table, since, asked.net)
        return _appended(self.spark, table, since, asked)

    def _read(self, asked: Read) -> DataFrame:
        line = self.line
        if asked.at == PUBLISHED:
            line = self.published
            if not line.table_exists(asked.name) and not line.view_exists(asked.name):
                return self.line.table(asked.name).read(self.spark, columns=asked.columns).limit(0)
        if line.view_exists(asked.name):
            rows = line.sql(self.spark, f"SELECT * FROM {'.'.join(map(quoted, str(asked.name).split('.')))}")
            assert isinstance(rows, DataFrame)
            return _narrowed(rows, asked)
        table = line.table(asked.name)
        if asked.at is not None and asked.at != PUBLISHED:
            table = table.at(asked.at)
        return table.read(self.spark, asked.where, asked.columns)


def is_frame(made: object) -> TypeGuard[DataFrame]:
    """Whether it is a DataFrame of Spark, of a classic session or a remote one."""
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.") for kind in type(made).__mro__)


def checked_frame(step: Step, made: object) -> DataFrame:
    """What a function answered, if it is a DataFrame."""
    if not is_frame(made):
        raise Invalid(
            "a step answers a DataFrame",
            subject=f"step {step.name}",
            found=type(made).__name__,
            advice="Return the rows: they are written when the function has ended.",
        )
    return made


def check_read(view: str, rows: DataFrame, asked: Input) -> None:
    """`Invalid` if a view of rows is read as a stream, or the other way round."""
    if rows.isStreaming and not isinstance(asked, Streamed):
        raise Invalid("a view that is a stream is read as one", subject=view, expected="spark.readStream, or STREAM")
    if isinstance(asked, Streamed) and not rows.isStreaming:
        raise Invalid("a view of rows is not read as a stream", subject=view, expected="spark.read, without STREAM")


def time_kinds(tables: Mapping[str, Table[Any]]) -> dict[str, str]:
    """How inputs keep dates and times, by the name of the column."""
    found: dict[str, str] = {}
    for table in tables.values():
        for column in table.schema.fields:
            text = str(column.type)
            if text in ("date", "timestamp", "timestamptz"):
                found.setdefault(column.name.casefold(), text)
    return found


def _narrowed(rows: DataFrame, asked: Read) -> DataFrame:
    kept = rows if asked.where is None else rows.where(asked.where)
    return kept if asked.columns is None else kept.select(*map(quoted, asked.columns))


def _changed(spark: SparkSession, table: Table[Any], since: State | None, net: bool) -> DataFrame:
    if since is None:
        return table.read(spark).withColumn(CHANGE_TYPE, F.lit(INSERT))
    feed = table.changes(since=table_then(table, since), net=net).read(spark)
    key = table.primary_key
    if key and net:
        feed = _with_moved_keys(feed, key)
    return feed.where(F.col(CHANGE_TYPE) != PREIMAGE).drop(*(FEED_NAMES - {CHANGE_TYPE}))


def _with_moved_keys(feed: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The feed, in which the row before an update is a `delete` if the update changed its key."""
    before_after = Window.partitionBy("_row_id").orderBy(F.desc(CHANGE_TYPE))  # the preimage is the later word
    own = F.struct(*(F.col(quoted(name)) for name in key))
    moved = (F.col(CHANGE_TYPE) == PREIMAGE) & ~own.eqNullSafe(F.lead(own).over(before_after))
    kind = F.when(moved, F.lit(DELETE)).otherwise(F.col(CHANGE_TYPE))
    return feed.withColumn("__lakebed_kind", kind).drop(CHANGE_TYPE).withColumnRenamed("__lakebed_kind", CHANGE_TYPE)


def _appended(spark: SparkSession, table: Table[Any], since: State | None, asked: Appended) -> DataFrame:
    if since is None:
        return table.read(spark)
    feed = table.changes(since=table_then(table, since), net=True)
    if asked.on_change == "error":
        counts = feed.summary()
        if counts.updated or counts.deleted:
            raise Invalid(
                "rows were updated or deleted, but only new ones are read",
                subject=asked.name,
                found=f"{counts.updated:,} updated, {counts.deleted:,} deleted{_by_whom(table, since)}",
                advice='Read lp.changes(…), or pass lp.appended(…, on_change="ignore").',
            )
    rows = feed.read(spark)
    return rows.where(F.col(CHANGE_TYPE) == INSERT).drop(*FEED_NAMES)


def _streamed(spark: SparkSession, table: Table[Any], asked: Streamed) -> DataFrame:
    """The rows of a table as a stream: a flow's checkpoint says from where it goes on."""
    on_change = "fail" if asked.on_change == "error" else "ignore"
    return table.read_stream(spark, max_files=asked.max_files, max_bytes=asked.max_bytes, on_change=on_change)


def _by_whom(table: Table[Any], since: State) -> str:
    """The first commit that changed or deleted old rows."""
    with suppress(NotFound):
        steps = table.changes(since=table_then(table, since))._feed.steps
        version = next((step.version for step in steps if step.removed.count), None)
        commit = next((commit for commit in table.history() if commit.version == version), None)
        if commit is not None:
            return f", first by {commit}"
    return ""
