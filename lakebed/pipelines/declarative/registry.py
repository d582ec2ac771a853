"""What the decorators of `pyspark.pipelines` call: it keeps what they define, and evaluates nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pyspark.pipelines.graph_element_registry import GraphElementRegistry
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, Table, TemporaryView

from lakebed.errors import Invalid
from lakebed.pipelines.declarative.columns import expression, name_of, names_of
from lakebed.pipelines.declarative.definitions import Dataset, DefinedFlow, Kind, Place
from lakebed.pipelines.declarative.queries import FunctionQuery, StreamQuery
from lakebed.pipelines.declarative.scope import Scope
from lakebed.pipelines.declarative.wanted import Parts
from lakebed.pipelines.expectations import expectations_of
from lakebed.pipelines.flows import Cdc
from lakebed.spark.sql.tokens import words_of

_KINDS: Sequence[tuple[type, Kind]] = (
    (MaterializedView, Kind.MATERIALIZED_VIEW),
    (StreamingTable, Kind.STREAMING_TABLE),
    (TemporaryView, Kind.TEMPORARY_VIEW),
    (Sink, Kind.SINK),
)


@dataclass
class Registry(GraphElementRegistry):
    """What a project has defined so far."""

    scope: Scope
    read_sql: Callable[["Registry", str, Path], None]
    """Reads the definitions in a text of SQL."""
    datasets: dict[Parts, Dataset] = field(default_factory=dict)
    """By their names, casefolded."""
    flows: list[DefinedFlow] = field(default_factory=list)

    def register_output(self, output: Output) -> None:
        kind = next((kind for type, kind in _KINDS if isinstance(output, type)), None)
        place = _place(output)
        if kind is None:
            raise Invalid("this kind of dataset is not known", subject=str(place), found=type(output).__name__)
        parts = _parts(output.name, place)
        if isinstance(output, Table):
            self.add(_table(output, self.scope.defined(parts), kind, place))
        else:
            options = dict(output.options) if isinstance(output, Sink) else {}
            format = output.format if isinstance(output, Sink) else None
            name = _single(parts, kind, place)
            self.add(Dataset(name, kind, place, output.comment, format=format, options=options))

    def register_flow(self, flow: Any) -> None:
        place = _place(flow)
        self.add_flow(
            DefinedFlow(
                flow.name,
                _parts(flow.target, place),
                FunctionQuery(flow.func),
                self.scope,
                place,
                dict(flow.spark_conf),
                expectations_of(flow.func),
            )
        )

    def register_auto_cdc_flow(self, flow: Any) -> None:
        place = _place(flow)
        columns, left_out = _columns(flow, "column_list"), _columns(flow, "except_column_list")
        tracked, untracked = (
            _columns(flow, "track_history_column_list"),
            _columns(flow, "track_history_except_column_list"),
        )
        cdc = Cdc(
            tuple(names_of(flow.keys)),
            expression(flow.sequence_by),
            None if flow.apply_as_deletes is None else expression(flow.apply_as_deletes),
            columns,
            left_out or (),
            2 if str(flow.stored_as_scd_type or 1) == "2" else 1,
            tracked,
            untracked or (),
        )
        name, target = flow.name or flow.target, _parts(flow.target, place)
        query = StreamQuery(_parts(flow.source, place))
        self.add_flow(DefinedFlow(name, target, query, self.scope, place, dict(flow.spark_conf), (), cdc))

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        self.read_sql(self, sql_text, Path(file_path))

    def add(self, dataset: Dataset) -> None:
        """Keep a dataset; `Invalid` if there is one of its name."""
        known = self.datasets.setdefault(folded(dataset.parts), dataset)
        if known is not dataset:
            raise Invalid(
                "two datasets have one name",
                subject=f"{dataset.name}, {dataset.place}",
                found=f"a {known.kind.value} in {known.place}",
                advice="Rename one of them.",
            )

    def add_flow(self, flow: DefinedFlow) -> None:
        """Keep a flow; what it writes to may be defined later."""
        self.flows.append(flow)

    def flows_into(self) -> dict[Parts, list[DefinedFlow]]:
        """The flows of each dataset, by its name, casefolded; `Invalid` for flows into nothing, or with one name."""
        found: dict[Parts, list[DefinedFlow]] = {parts: [] for parts in self.datasets}
        for flow in self.flows:
            target = self._target(flow)
            for known in found[target]:
                if known.name.casefold() == flow.name.casefold():
                    raise Invalid(
                        "two flows into one dataset have one name",
                        subject=f"flow {flow.name}, {flow.place}",
                        found=str(known.place),
                        advice="Give one of them another name: its position is kept by it.",
                    )
            found[target].append(flow)
        return found

    def _target(self, flow: DefinedFlow) -> Parts:
        """What a flow writes to: a view or a sink of one part, or a table."""
        for parts in (flow.target, flow.scope.full(flow.target)):
            if folded(parts) in self.datasets:
                return folded(parts)
        names = [dataset.name for dataset in self.datasets.values()]
        near = get_close_matches(".".join(flow.target), names, n=1)
        raise Invalid(
            "a flow writes to a dataset that nobody defines",
            subject=f"flow {flow.name}, {flow.place}",
            found=".".join(flow.target),
            advice=f"Did you mean {near[0]}?"
            if near
            else "Define it with dp.create_streaming_table, or CREATE STREAMING TABLE.",
        )


def folded(parts: Parts) -> Parts:
    """A name as names are compared."""
    return tuple(part.casefold() for part in parts)


def _parts(name: str, place: Place) -> Parts:
    try:
        return tuple(word.text for word in words_of(name).words[::2])
    except Invalid as error:
        error.subject = str(place)
        raise


def _table(output: Table, parts: Parts, kind: Kind, place: Place) -> Dataset:
    return Dataset(
        parts,
        kind,
        place,
        output.comment,
        dict(output.table_properties),
        tuple(output.partition_cols or ()),
        tuple(output.cluster_by or ()),
        output.schema,
        output.format,
    )


def _single(parts: Parts, kind: Kind, place: Place) -> Parts:
    if len(parts) != 1:
        raise Invalid(f"a {kind.value} has a name of one part", subject=str(place), found=".".join(parts))
    return parts


def _columns(flow: Any, field: str) -> tuple[str, ...] | None:
    found = getattr(flow, field, None)
    return tuple(map(name_of, found)) if found else None


def _place(defined: Any) -> Place:
    found = getattr(defined, "source_code_location", None)
    return Place("?") if found is None else Place(found.filename, found.line_number)
