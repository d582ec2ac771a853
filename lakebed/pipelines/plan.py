"""Plans: what a run would do with each step, and why; without Spark from metadata, with it also types and contracts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lakebed.errors import Expired, Forbidden, Invalid, LakebedError, NotFound
from lakebed.html import pre_html
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.pipelines.contracts import ColumnChange
from lakebed.pipelines.decisions import Action, Asked, Decision, decide, is_refreshed
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.graph import nearest
from lakebed.pipelines.inputs import Input, Read
from lakebed.pipelines.parts import Parts
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
    doubt: str | None = None
    """What its function raised over empty frames, which may come from looking at rows that are not there."""
    place: str | None = None
    """Where its code is, if that has changed."""

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
        where = f", {self.place}" if self.place else ""
        yield f"{self.name:<{width}}  {what}  {self.decision.reason}{where}"
        yield from (f"  {line}" for line in self.inputs)
        for change in self.columns:
            yield f"  {change}{'  read by nobody' if change.is_breaking and not self.readers else ''}"
        if self.readers:
            yield f"  breaking: read by {', '.join(self.readers)}"
        if self.problem is not None:
            yield f"  ✗ {self.problem}"
        if self.doubt is not None:
            yield f"  ? its types are known when it runs: over empty frames its function raised {self.doubt}"


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
        return not any(step.problem or step.doubt or step.is_breaking for step in self.steps)

    def __str__(self) -> str:
        width = max((len(step.name) for step in self.steps), default=0)
        lines = [line for step in self.steps for line in step.lines(width)]
        breaking = sum(step.is_breaking for step in self.steps)
        end = f"{self.checks} checks · {f'{breaking} breaking' if breaking else 'nothing breaking'}"
        return "\n".join([f"{self.pipeline} on {self.target} #{self.version}", *(f"  {line}" for line in lines), end])

    def _repr_html_(self) -> str:
        return pre_html(str(self))


def plan(parts: Parts, target: Catalog, chosen: Sequence[str], asked: Asked) -> Plan:
    """What a run on a line would do with the chosen steps; `Invalid` for a check of a table that nobody has."""
    graph, codes = parts.graph, parts.codes()
    _check_tables(parts, target)
    dirty: set[str] = set()
    planned: list[PlannedStep] = []
    for step_name in graph.order:
        step = graph.steps[step_name]
        if step.is_view or step_name not in chosen:
            continue
        tables = graph.tables(step_name)
        decision = decide(step, tables, target, codes[step_name], asked, dirty)
        problem = None
        if decision.runs:
            problem = _owned(parts.name, step, target, asked) or _missing(step, tables, target, dirty)
            dirty |= set(step.outputs)
        problem = problem or _unseen_late(step, tables, target)
        found = _planned(step, decision, tables, target, dirty - set(step.outputs))
        planned.append(replace(found, problem=problem, place=step.place if decision.is_of_code else None))
    return Plan(parts.name, target.ref, str(target.version), tuple(planned), len(parts.checks))


def _check_tables(parts: Parts, target: Catalog) -> None:
    made = parts.graph.made()
    for check in parts.checks:
        for name in sorted(parts.tables(check) - made):
            if not target.table_exists(name) and not target.view_exists(name):
                raise Invalid(
                    f"a check is of {name}, which no step makes and the lake does not have",
                    subject=f"check {check.name}",
                    advice=nearest(name, sorted({*made, *parts.graph.steps})),
                )


def _owned(pipeline: str, step: Step, target: Catalog, asked: Asked) -> LakebedError | None:
    """What keeps a step from writing a table that another pipeline makes: it would make its rows go."""
    if is_refreshed(step, asked):
        return None
    for name in step.outputs:
        fact = fact_of(target.table(name)) if target.table_exists(name) else None
        if fact is not None and fact.pipeline != pipeline:
            return Forbidden(
                f"pipeline {fact.pipeline} makes this table, in its step {fact.step}",
                subject=f"step {step.name}, table {name}",
                advice=f"Write another table. To take it over, and make its rows again: full_refresh={step.name!r}.",
            )
    return None


def _missing(step: Step, tables: Mapping[str, Input], target: Catalog, made: set[str]) -> LakebedError | None:
    """What keeps a step from running whose input is neither in the lake nor made before it."""
    for name, source in tables.items():
        is_past = isinstance(source, Read) and source.at is not None
        if is_past or name in made or target.table_exists(name) or target.view_exists(name):
            continue
        return NotFound(
            "an input is not there, and no step of this run makes it",
            subject=f"step {step.name}, input {name}",
            advice=f"Select the step that makes it, too: +{step.name}.",
        )
    return None


def _unseen_late(step: Step, tables: Mapping[str, Input], target: Catalog) -> LakebedError | None:
    """What keeps a step with windows from finding late rows: a view of the lake has no change feed."""
    if step.window is None or not step.enabled:
        return None
    for name, source in tables.items():
        is_past = isinstance(source, Read) and source.at is not None
        if not is_past and not target.table_exists(name) and target.view_exists(name):
            return Invalid(
                "a step with windows reads a view of the lake, behind which late rows are not found",
                subject=f"step {step.name}, input {name}",
                expected="tables, or a view of the pipeline",
                advice="Read the tables of the view, or write its query as a view of the pipeline: @shop.view.",
            )
    return None


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
