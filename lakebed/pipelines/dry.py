"""A dry run: functions over empty frames of their inputs' columns: types and contracts are known without a job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from lakebed.catalog.feed.columns import CHANGE_TYPE
from lakebed.errors import Invalid, LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.pipelines.contracts import ColumnChange, check_contract, column_changes
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.inputs import Changed, Input, Read, Streamed
from lakebed.pipelines.plan import Plan
from lakebed.pipelines.rows import Rows
from lakebed.pipelines.running.frames import Frames, Positions, checked_frame
from lakebed.pipelines.running.writing import Output
from lakebed.pipelines.steps import Step
from lakebed.pipelines.windows import Window, window_of
from lakebed.spark.types import result_schema


@dataclass(frozen=True, slots=True)
class EmptyFrames(Frames):
    """The same values as in a run, but frames without rows; of steps above, with the columns that they make."""

    made: dict[str, StructType] = field(default_factory=dict)

    def frame(self, asked: Input, positions: Positions) -> DataFrame:
        schema = self._schema(asked)
        if isinstance(asked, Streamed):
            return _empty_stream(self.spark, schema).alias(f"lakebed:{asked.name}")
        rows = self.spark.createDataFrame([], schema).alias(f"lakebed:{asked.name}")
        if isinstance(asked, Read):
            kept = rows if asked.where is None else rows.where(asked.where)
            return kept if asked.columns is None else kept.select(*asked.columns)
        return rows

    def _schema(self, asked: Input) -> StructType:
        known = self.made.get(asked.name)
        if known is None or (isinstance(asked, Read) and asked.at is not None and self.line.table_exists(asked.name)):
            known = self._stored(asked.name)
        if isinstance(asked, Changed):
            return StructType([*known.fields, StructField(CHANGE_TYPE.name, _text())])
        return known

    def _stored(self, name: str) -> StructType:
        if self.line.view_exists(name):
            rows = self.line.sql(self.spark, f"SELECT * FROM {name}")
            assert isinstance(rows, DataFrame)
            return rows.schema
        return result_schema(self.line.table(name).schema)


def dried(known: Plan, graph: Graph, line: Catalog, spark: SparkSession, params: Mapping[str, Any]) -> Plan:
    """A plan with what only functions know: columns that change, who reads those that go, and what would fail."""
    found = dry_steps(graph, line, spark, params, [step.name for step in known.steps])
    return replace(known, steps=tuple(replace(step, **found.get(step.name, {})) for step in known.steps))


def dry_steps(
    graph: Graph, line: Catalog, spark: SparkSession, params: Mapping[str, Any], chosen: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """For each chosen step, the columns that change, who reads those that go, and what would keep it from running."""
    frames = EmptyFrames(graph, spark, line, line, params)
    found: dict[str, dict[str, Any]] = {}
    changes: dict[str, list[ColumnChange]] = {}
    for name in graph.order:
        step = graph.steps[name]
        if step.is_view:
            continue
        try:
            changes[name] = list(_evaluated(step, frames, line))
        except LakebedError as error:
            found[name] = {"problem": error}
        except Exception as error:
            text = str(error).strip().splitlines()
            found[name] = {
                "problem": Invalid(
                    f"its function failed over empty frames: {type(error).__name__}: {text[0] if text else ''}",
                    subject=f"step {name}",
                )
            }
        if name in found:
            break  # what reads it can't be evaluated
    for name, listed in changes.items():
        if name in chosen and listed:
            gone = [change for change in listed if change.is_breaking]
            found.setdefault(name, {})["columns"] = tuple(listed)
            if gone:
                found[name]["readers"] = tuple(_readers(graph, name, gone, line))
    return {name: parts for name, parts in found.items() if name in chosen}


def _evaluated(step: Step, frames: EmptyFrames, line: Catalog) -> Iterator[ColumnChange]:
    window = None
    if step.window is not None:
        first = step.window.number(step.window.since)
        window = window_of(step.window, range(first, first + 1), {})
    for output in _outputs(step, frames, window):
        check_contract(step, output.columns)
        frames.made[output.name] = result_schema(output.columns)
        if line.table_exists(output.name):
            yield from column_changes(step, line.table(output.name), output.columns)


def _outputs(step: Step, frames: EmptyFrames, window: Window | None) -> Iterator[Output]:
    answer = step.answer(frames.values(step, Positions(), window))
    if isinstance(answer, Rows) or hasattr(answer, "__next__"):
        listed = [answer] if isinstance(answer, Rows) else list(answer)
        for one in listed:
            yield Output(step, one.table, checked_frame(step, one.frame))
        return
    yield Output(step, step.outputs[0], checked_frame(step, answer))


def _empty_stream(spark: SparkSession, schema: StructType) -> DataFrame:
    """A stream with these columns, which never runs."""
    source = spark.readStream.format("rate").load()
    return source.select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in schema.fields))


def _readers(graph: Graph, name: str, gone: Sequence[ColumnChange], line: Catalog) -> Iterator[str]:
    """Views and shares of the lake, and tables of other steps, that may read columns that go."""
    columns = {change.name.casefold() for change in gone}
    for output in graph.steps[name].outputs:
        for view in line.views(recursive=True):
            texts = " ".join(view.sql.values()).casefold()
            if output.casefold() in texts and any(column in texts for column in columns):
                yield f"view {view.name}"


def _text() -> Any:
    from pyspark.sql.types import StringType

    return StringType()
