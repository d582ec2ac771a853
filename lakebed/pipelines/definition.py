"""The definition of a pipeline, as its decorators made it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakebed.errors import Invalid
from lakebed.pipelines.checks import Check
from lakebed.pipelines.graph import Graph, graph_of
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.steps import Step


@dataclass(frozen=True, slots=True)
class Definition:
    """Steps, checks, hooks and parameters. `file` is where the pipeline was made, None at a prompt."""

    name: str
    steps: Sequence[Step]
    checks: Sequence[Check]
    hooks: Sequence[Hook]
    params: Mapping[str, Any]
    keep: timedelta
    file: str | None = None

    def values(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The values of all parameters; `Invalid` for one that the pipeline does not have."""
        unknown = sorted((given or {}).keys() - self.params.keys())
        if unknown:
            raise Invalid(
                "the pipeline has no such parameter",
                subject=", ".join(unknown),
                expected=", ".join(self.params) or "none",
            )
        return {**self.params, **(given or {})}

    def graph(self, given: Mapping[str, Any] | None = None) -> Graph:
        """Which step reads which."""
        return graph_of(self.steps, self.values(given))

    def parts(self, given: Mapping[str, Any] | None = None) -> Parts:
        """What a plan and a run get."""
        values = self.values(given)
        return Parts(self.name, graph_of(self.steps, values), values, self.checks, self.hooks)
