"""Plans: what a run would do with each step, and why; without Spark from metadata, with it also types and contracts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lakebed.errors import Expired, LakebedError, NotFound
from lakebed.html import pre_html
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.pipelines.contracts import ColumnChange
from lakebed.pipelines.decisions import Action, Asked, Decision, decide
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.inputs import Input, Read
from lakebed.pipelines.states import State, table_then
from lakebed.pipelines.steps import Step


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What a run would do with a step. `problem` is what would keep it from running."""

    name: str
    decision: Decision
    inputs: tuple[str, ...] = ()
    columns: tuple[ColumnChange, ...] = ()
    windows: tuple[str, ...] = ()
    of: int = 0
    readers: tuple[str, ...] = ()
    """Who reads columns that would go or change."""
    problem: LakebedError | None = None

    @property
    def action(self) -> str:
        """The decision's word."""
        return self.decision.action.value

    @property
    def is_breaking(self) -> bool:
        """Whether a column that somebody reads would go or change its type."""
        return bool(self.readers)

    def lines(self, width: int) -> Iterator[str]:
        """The step as people read it."""
        what = f"{len(self.windows)} of {self.of} windows" if self.windows else self.action
        yield f"{self.name:<{width}}  {what}  {self.decision.reason}"
        yield from (f"  {line}" for line in self.inputs)
        yield from (f"  {change}" for change in self.columns)
        if self.readers:
            yield f"  breaking: read by {', '.join(self.readers)}"
        if self.problem is not None:
            yield f"  ✗ {self.problem}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do, as of now. Printed, a line or a few for each step."""

    pipeline: str
    target: str
    version: str
    steps: tuple[PlannedStep, ...]
    checks: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is known that would keep the run from being published."""
        return not any(step.problem or step.is_breaking for step in self.steps)

    def __str__(self) -> str:
        width = max((len(step.name) for step in self.steps), default=0)
        lines = [line for step in self.steps for line in step.lines(width)]
        breaking = sum(step.is_breaking for step in self.steps)
        end = f"{self.checks} checks · {f'{breaking} breaking' if breaking else 'nothing breaking'}"
        return "\n".join([f"{self.pipeline} on {self.target} #{self.version}", *(f"  {line}" for line in lines), end])

    def _repr_html_(self) -> str:
        return pre_html(str(self))


def plan(
    name: str,
    graph: Graph,
    codes: Mapping[str, str],
    target: Catalog,
    chosen: Sequence[str],
    asked: Asked,
    checks: int,
) -> Plan:
    """What a run on a line would do with the chosen steps."""
    dirty: set[str] = set()
    planned: list[PlannedStep] = []
    for step_name in graph.order:
        step = graph.steps[step_name]
        if step.is_view or step_name not in chosen:
            continue
        tables = graph.tables(step_name)
        decision = decide(step, tables, target, codes[step_name], asked, dirty)
        if decision.runs:
            dirty |= set(step.outputs)
        planned.append(_planned(step, decision, tables, target, dirty - set(step.outputs)))
    return Plan(name, target.ref, str(target.version), tuple(planned), checks)


def _planned(
    step: Step, decision: Decision, tables: Mapping[str, Input], target: Catalog, dirty: set[str]
) -> PlannedStep:
    inputs = tuple(_changed(step, decision, tables, target, dirty)) if decision.runs else ()
    if step.window is None or decision.action is not Action.WINDOWS:
        return PlannedStep(step.name, decision, inputs)
    labels = tuple(step.window.label(number) for number in decision.windows)
    return PlannedStep(step.name, decision, inputs, windows=labels, of=len(step.window.due(asked_now(decision, step))))


def asked_now(decision: Decision, step: Step) -> Any:
    """The moment up to which windows are counted: the last that the decision knows, or now."""
    assert step.window is not None
    newest = datetime.now(UTC).replace(tzinfo=None)
    return max(newest, step.window.start(decision.windows[-1])) if decision.windows else newest


def _changed(
    step: Step, decision: Decision, tables: Mapping[str, Input], target: Catalog, dirty: set[str]
) -> Iterator[str]:
    """For each input that has changed, how many rows, and between which versions."""
    facts = [fact_of(target.table(name)) for name in step.outputs if target.table_exists(name)]
    fact = next((one for one in facts if one is not None), None)
    for name, source in tables.items():
        if name in dirty or not target.table_exists(name) or (isinstance(source, Read) and source.at is not None):
            continue
        then = None if fact is None or decision.starts_over else fact.inputs.get(name)
        if then is not None:
            shown = _difference(target.table(name), then)
            if shown:
                yield f"{shown}  {name} #{then.version}..#{target.table(name).version}"


def _difference(now: Table[Any], then: State) -> str:
    try:
        feed = now.changes(since=table_then(now, then), net=True)
    except (NotFound, Expired):
        return "its last state can't be read"
    came = sum(step.added.count for step in feed._feed.steps)
    went = sum(step.removed.count for step in feed._feed.steps)
    return " ".join(f"{sign}{count:,}" for sign, count in (("+", came), ("−", went)) if count) + (
        " rows" if came or went else ""
    )
