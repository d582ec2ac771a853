"""What a pipeline is made of, as a plan and a run get it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.pipelines.checks import Check
from lakebed.pipelines.code.fingerprint import fingerprint
from lakebed.pipelines.graph import Graph, nearest
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Given, Source

BESIDE = ("spark", "run", "lake")
"""Parameters of checks and hooks that the runner fills by their names."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pipeline is made of; `Invalid` if a check or a hook has a parameter that nobody fills."""

    name: str
    graph: Graph
    params: Mapping[str, Any]
    checks: Sequence[Check]
    hooks: Sequence[Hook]

    def __post_init__(self) -> None:
        for check in self.checks:
            self._check_parameters(f"check {check.name}", check.inputs, ("rows", own_name(check)))
        for hook in self.hooks:
            self._check_parameters(f"after_publish {hook.name}", hook.inputs, ())

    def codes(self) -> dict[str, str]:
        """The fingerprint of each step."""
        found: dict[str, str] = {}
        for name in self.graph.order:
            views = {view: found[view] for view in self.graph.views(name)}
            found[name] = fingerprint(self.graph.steps[name], self.params, views)
        return found

    def tables(self, check: Check) -> set[str]:
        """The tables that have to be made before a check can look at them."""
        named = set(check.tables())
        for source in check.inputs.values():
            step = self.graph.called(source.name) if isinstance(source, Given) else None
            if step is not None:
                named |= set(step.outputs) or {step.name}
        return {table for name in named for table in self._stored(name)}

    def _stored(self, name: str) -> set[str]:
        """A table itself, or the tables that a view of the pipeline reads."""
        step = self.graph.steps.get(name)
        return set(self.graph.tables(name)) if step is not None and step.is_view else {name}

    def due(self, chosen: Sequence[str], ran: Sequence[str]) -> Iterator[Check]:
        """The checks of a run: those of tables that it made, of tables of others, and those about time."""
        made, here, in_reach = self.graph.made(ran), self.graph.made(), self.graph.made(chosen)
        for check in self.checks:
            tables = self.tables(check)
            if tables & made or not tables & here or (check.is_about_time and tables & here <= in_reach):
                yield check

    def _check_parameters(self, subject: str, inputs: Mapping[str, Source], own: Sequence[str]) -> None:
        for source in inputs.values():
            known = [*own, *self.params, *BESIDE, *(step.short_name for step in self.graph.steps.values())]
            if isinstance(source, Given) and source.name not in known and self.graph.called(source.name) is None:
                raise Invalid(
                    f"nothing is called {source.name!r}",
                    subject=subject,
                    expected="a step, a parameter of the pipeline, or spark, run or lake",
                    advice=nearest(source.name, known) or 'Name a table as its default value: lp.read("a.b").',
                )


def own_name(check: Check) -> str:
    """What a check's parameter for its own table may be called."""
    return check.table.rpartition(".")[2]
