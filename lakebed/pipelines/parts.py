"""What a pipeline is made of, as a plan and a run get it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakebed.pipelines.checks import Check
from lakebed.pipelines.fingerprint import fingerprint
from lakebed.pipelines.graph import Graph
from lakebed.pipelines.hooks import Hook


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pipeline is made of."""

    name: str
    graph: Graph
    params: Mapping[str, Any]
    checks: Sequence[Check]
    hooks: Sequence[Hook]

    def codes(self) -> dict[str, str]:
        """The fingerprint of each step."""
        found: dict[str, str] = {}
        for name in self.graph.order:
            views = {view: found[view] for view in self.graph.views(name)}
            found[name] = fingerprint(self.graph.steps[name], self.params, views)
        return found
