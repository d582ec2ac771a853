"""The graph of a project: flows are evaluated over empty frames, and what they ask for are their inputs.

No job runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lakebed.errors import Invalid, LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.pipelines.declarative.bound import BoundFlow, Reading, is_own_view, parameter_of
from lakebed.pipelines.declarative.definitions import Dataset, DefinedFlow, Kind
from lakebed.pipelines.declarative.registry import folded
from lakebed.pipelines.declarative.scope import Scope
from lakebed.pipelines.declarative.unseen import reads_unseen
from lakebed.pipelines.declarative.wanted import Asked, Parts, WantedStream
from lakebed.pipelines.dry import EmptyFrames
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.inputs import Input, Read, Streamed
from lakebed.pipelines.running.cdc import target_rows
from lakebed.pipelines.running.flows import combined
from lakebed.pipelines.running.frames import Positions, check_read
from lakebed.spark.attachment.attachments import spark_alone

NOWHERE = Positions()
VIEWS = (Kind.TEMPORARY_VIEW, Kind.VIEW)


@dataclass(frozen=True, slots=True)
class Analysed:
    """A dataset with its flows, as they were evaluated."""

    dataset: Dataset
    flows: tuple[BoundFlow, ...]
    inputs: Mapping[str, Input]
    declared: StructType | None
    reads_unseen: bool
    """Whether its rows may differ although no input has changed."""


@dataclass
class Analysis:
    """Evaluates the datasets of a project, each once, after what it reads."""

    spark: SparkSession
    line: Catalog
    datasets: Mapping[Parts, Dataset]
    flows: Mapping[Parts, Sequence[DefinedFlow]]
    reading: Reading
    done: dict[str, Analysed] = field(default_factory=dict)
    """By name, in an order in which each comes after those that it reads."""
    _path: list[Dataset] = field(default_factory=list)
    _frames: EmptyFrames = field(init=False)
    _reported: LakebedError | None = None

    def __post_init__(self) -> None:
        self._frames = EmptyFrames(Graph({}, {}, ()), self.spark, self.line, self.line, {})

    def run(self) -> dict[str, Analysed]:
        """All datasets, by their names."""
        for dataset in self.datasets.values():
            self._visit(dataset)
        return self.done

    def _visit(self, dataset: Dataset) -> Analysed:
        if dataset.name in self.done:
            return self.done[dataset.name]
        if dataset in self._path:
            circle = [*self._path[self._path.index(dataset) :], dataset]
            raise Invalid(
                "datasets read one another in a circle",
                found=" -> ".join(f"{one.name} ({one.place})" for one in reversed(circle)),
            )
        self._path.append(dataset)
        try:
            self.done[dataset.name] = found = self._analysed(dataset)
        finally:
            self._path.pop()
        return found

    def _analysed(self, dataset: Dataset) -> Analysed:
        flows: list[BoundFlow] = []
        frames: list[DataFrame] = []
        inputs: dict[str, Input] = {}
        for flow in self._checked_flows(dataset):
            with self._placed(dataset, flow):
                bound = BoundFlow(dataset, flow, self.reading, {})
                frame = self._evaluated(bound, inputs)
                _check_streaming(dataset, frame)
                flows.append(bound)
                frames.append(frame if flow.cdc is None else target_rows(frame, flow.cdc))
        with self._placed(dataset, flows[0].flow):
            declared = None if dataset.schema is None else self._declared(dataset.schema)
            made = combined(frames)
            self._frames.made[dataset.name] = made.schema if declared is None else declared
        unseen = any(
            reads_unseen(frame, is_sql=flow.flow.query.function is None)
            for flow, frame in zip(flows, frames, strict=True)
        )
        return Analysed(dataset, tuple(flows), inputs, declared, unseen)

    def _declared(self, schema: Any) -> StructType:
        if isinstance(schema, StructType):
            return schema
        with spark_alone():
            return self.spark.createDataFrame([], schema).schema

    def _checked_flows(self, dataset: Dataset) -> Sequence[DefinedFlow]:
        found = self.flows[folded(dataset.parts)]
        if not found:
            raise Invalid(
                "no flow writes to the dataset",
                subject=f"{dataset.kind.value} {dataset.name}, {dataset.place}",
                advice="Add one with @dp.append_flow, or CREATE FLOW.",
            )
        if len(found) > 1 and dataset.kind not in (Kind.STREAMING_TABLE, Kind.SINK):
            raise Invalid(
                f"a {dataset.kind.value} has one flow",
                subject=f"{dataset.name}, {dataset.place}",
                found=", ".join(f"{flow.name} ({flow.place})" for flow in found),
            )
        changing = [flow for flow in found if flow.cdc is not None]
        if changing and (len(found) > 1 or dataset.kind is not Kind.STREAMING_TABLE):
            raise Invalid(
                "changes are applied to a streaming table that has no other flow",
                subject=f"{dataset.kind.value} {dataset.name}, {changing[0].place}",
                found=", ".join(f"{flow.name} ({flow.place})" for flow in found),
            )
        return found

    def _evaluated(self, bound: BoundFlow, inputs: dict[str, Input]) -> DataFrame:
        """A flow's frame without rows; what it asks for is noted."""

        def find(wanted: Asked) -> DataFrame | None:
            found = self._resolved(wanted, bound.flow.scope)
            bound.asked[wanted] = None if found is None else parameter_of(found)
            if found is None:
                return None
            inputs[parameter_of(found)] = found
            return self._empty(found)

        return bound.evaluated(find)

    def _resolved(self, wanted: Asked, scope: Scope) -> Input | None:
        """What a name means: a dataset of the project, a table or view of the lake, or None."""
        dataset = self._defined(wanted.parts, scope)
        if dataset is not None:
            self._visit(dataset)
            return _input(dataset.name, wanted)
        if is_own_view(self.spark, wanted.parts):
            return None
        name = stored_name(self.line, scope.full(wanted.parts))
        return None if name is None else _input(name, wanted)

    def _defined(self, parts: Parts, scope: Scope) -> Dataset | None:
        """The dataset of a name; a temporary view hides a table whose name has the same last part."""
        single = self.datasets.get(folded(parts))
        if single is not None and single.kind is Kind.TEMPORARY_VIEW:
            return single
        found = self.datasets.get(folded(scope.full(parts)))
        return None if found is None or found.kind is Kind.SINK else found

    def _empty(self, asked: Input) -> DataFrame:
        view = self.done.get(asked.name)
        if view is None or view.dataset.kind not in VIEWS:
            return self._frames.frame(asked, NOWHERE)
        [flow] = view.flows
        rows = flow.evaluated(lambda wanted: self._again(flow, wanted))
        check_read(view.dataset.name, rows, asked)
        return rows

    def _again(self, flow: BoundFlow, wanted: Asked) -> DataFrame | None:
        found = self._resolved(wanted, flow.flow.scope)
        return None if found is None else self._empty(found)

    @contextmanager
    def _placed(self, dataset: Dataset, flow: DefinedFlow) -> Iterator[None]:
        """Errors say the dataset and where its flow is defined."""
        subject = f"{dataset.kind.value} {dataset.name}, {flow.place}"
        try:
            yield
        except LakebedError as error:
            if error is not self._reported:
                error.subject = f"{subject}, {error.subject}" if error.subject else subject
                self._reported = error
            raise
        except Exception as error:
            text = str(error).strip().splitlines()
            self._reported = Invalid(
                f"it could not be evaluated: {type(error).__name__}: {text[0] if text else ''}".rstrip(": "),
                subject=subject,
                advice=self._meant(error),
            )
            raise self._reported from error

    def _meant(self, error: Exception) -> str:
        """What may be meant by a name that nobody has."""
        if not isinstance(error, AnalysisException) or "NOT_FOUND" not in (error.getCondition() or ""):
            return ""
        name = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
        known = [dataset.name for dataset in self.datasets.values()] + [
            str(table.name) for table in self.line.tables(recursive=True)
        ]
        near = get_close_matches(name, known, n=2) or [
            one for one in known if one.rpartition(".")[2] == name.rpartition(".")[2]
        ]
        return f"Did you mean {' or '.join(near[:2])}?" if name and near else ""


def _check_streaming(dataset: Dataset, frame: DataFrame) -> None:
    if dataset.kind in (Kind.STREAMING_TABLE, Kind.SINK) and not frame.isStreaming:
        raise Invalid(
            f"a {dataset.kind.value} is made of streams",
            found="a frame that is not one",
            advice="Read with spark.readStream or FROM STREAM, or define a materialized view.",
        )
    if dataset.kind in (Kind.MATERIALIZED_VIEW, Kind.VIEW) and frame.isStreaming:
        raise Invalid(
            f"a {dataset.kind.value} is made of rows",
            found="a stream",
            advice="Read with spark.read or FROM without STREAM, or define a streaming table: @dp.table.",
        )


def _input(name: str, wanted: Asked) -> Input:
    if isinstance(wanted, WantedStream):
        return Streamed(name, wanted.on_change, wanted.max_files, wanted.max_bytes)
    return Read(name, at=wanted.at)


def stored_name(line: Catalog, parts: Parts) -> str | None:
    """The name of a table or view of the lake; None if it has none, or could not have one."""
    try:
        if line.table_exists(parts):
            return str(line.table(parts).name)
        return str(line.view(parts).name) if line.view_exists(parts) else None
    except Invalid:
        return None
