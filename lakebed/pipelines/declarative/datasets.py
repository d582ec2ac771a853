"""The steps of a project: one for each dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakebed.errors import Invalid
from lakebed.pipelines.declarative.analysis import Analysed
from lakebed.pipelines.declarative.bound import BoundFlow
from lakebed.pipelines.declarative.definitions import Kind
from lakebed.pipelines.declarative.views import kept_text
from lakebed.pipelines.expectations import check_expectations
from lakebed.pipelines.flows import Flow, Values
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Given, Source
from lakebed.pipelines.running.flows import combined, made_rows
from lakebed.pipelines.running.sinks import OF_FILES, Sink
from lakebed.pipelines.steps import Function, Step
from lakebed.pipelines.writes import Write
from lakebed.spark.fit import quoted
from lakebed.spark.types import schema_of


@dataclass(frozen=True, slots=True)
class DatasetStep(Step):
    """A step that makes its rows from what its flows ask for by name, instead of from parameters."""

    rows: Any = field(default=None, kw_only=True)

    def answer(self, values: Values) -> Any:
        return self.rows(values)


def step_of(found: Analysed, known: Mapping[str, Analysed]) -> Step:
    """The step that makes a dataset; `known` are all of the project."""
    dataset, flow = found.dataset, found.flows[0]
    is_view, is_stream = dataset.kind in (Kind.TEMPORARY_VIEW, Kind.VIEW), dataset.kind is Kind.STREAMING_TABLE
    streams = tuple(map(partial(_flow, found), found.flows)) if is_stream else ()
    inputs: dict[str, Source] = dict(found.inputs)
    if found.reads_unseen:
        inputs["spark"] = Given("spark")
    expectations = tuple(dict.fromkeys(one for bound in found.flows for one in bound.flow.expectations))
    check_expectations(expectations, f"{dataset.name}, {dataset.place}")
    return DatasetStep(
        dataset.name,
        _function(flow, dataset.parts[-1]),
        inputs,
        () if is_view else (dataset.name,),
        Write("append" if is_stream else "replace"),
        {dataset.name: expectations},
        schema=None if found.declared is None else schema_of(found.declared),
        evolve="add" if is_stream else "replace",
        partition_by=dataset.partition_by,
        sort_by=dataset.cluster_by,
        spark_conf={} if is_view else flow.conf,
        comment=dataset.comment or _doc(flow),
        text=flow.code,
        properties=dict(dataset.properties),
        flows=streams,
        kept=kept_text(found, known) if dataset.kind is Kind.VIEW else None,
        rows=partial(_streamed, streams) if is_stream else partial(_rows, found, flow),
    )


def hook_of(found: Analysed, catalog: str) -> Hook:
    """What writes to a sink, after a run was published."""
    dataset = found.dataset
    if "checkpointlocation" in map(str.lower, dataset.options):
        raise Invalid(
            "the position of a sink is kept by its pipeline",
            subject=f"sink {dataset.name}, {dataset.place}, checkpointLocation",
            advice="Leave the option out.",
        )
    if len(found.flows) > 1 and str(dataset.format).lower() in OF_FILES:
        raise Invalid(
            "a folder of files has one flow: Spark would take the batches of a second one for those of the first",
            subject=f"sink {dataset.name}, {dataset.place}",
            found=", ".join(f"{bound.flow.name} ({bound.flow.place})" for bound in found.flows),
            advice="Unite their rows in one flow, or write to two sinks.",
        )
    flows = tuple(Flow(bound.flow.name, bound.rows, bound.code, bound.conf) for bound in found.flows)
    sink = Sink(catalog, dataset.name, str(dataset.format), dict(dataset.options), flows)
    inputs: dict[str, Source] = {name: Given(name) for name in ("run", "lake", "spark")}
    return Hook(dataset.name, sink.deliver, inputs | dict(found.inputs), is_always=True)


def fitted(rows: DataFrame, declared: StructType | None) -> DataFrame:
    """Rows in the order of the columns that a dataset declares; columns that they don't have are null."""
    if declared is None:
        return rows
    known = {name.casefold(): name for name in rows.columns}
    own = [
        F.col(quoted(known[one.name.casefold()])).alias(one.name)
        if one.name.casefold() in known
        else F.lit(None).cast(one.dataType).alias(one.name)
        for one in declared.fields
    ]
    wanted = {one.name.casefold() for one in declared.fields}
    return rows.select(*own, *(F.col(quoted(name)) for folded, name in known.items() if folded not in wanted))


def _rows(found: Analysed, flow: BoundFlow, values: Values) -> DataFrame:
    return fitted(flow.rows(values), found.declared)


def _flow(found: Analysed, bound: BoundFlow) -> Flow:
    """A stream into a table; one that applies changes answers its source."""
    cdc = bound.flow.cdc
    rows = partial(_rows, found, bound) if cdc is None else bound.rows
    return Flow(bound.flow.name, rows, bound.code, bound.conf, cdc)


def _streamed(flows: tuple[Flow, ...], values: Values) -> DataFrame:
    """What all flows of a table make, as one frame: its columns are those of the table."""
    return combined([made_rows(flow, flow.rows(values)) for flow in flows])


def _function(flow: BoundFlow, name: str) -> Function:
    """What a step is called by: the function of the project, or for a query the dataset's own name."""
    if flow.flow.query.function is not None and hasattr(flow.flow.query.function, "__name__"):
        return flow.flow.query.function

    def query(**values: Any) -> Any:
        return flow.rows(values.__getitem__)

    query.__name__ = query.__qualname__ = name
    return query


def _doc(flow: BoundFlow) -> str | None:
    return (getattr(flow.flow.query.function, "__doc__", None) or "").strip() or None
