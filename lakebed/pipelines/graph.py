"""The graph of a pipeline: which step reads which, in what order they run, and which of them a selection names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lakebed.errors import Invalid
from lakebed.pipelines.inputs import Changed, Given, Input, Read
from lakebed.pipelines.picture import Kind, mermaid, svg
from lakebed.pipelines.steps import INPUTS, Step

SPECIAL = ("spark", "run", "window", "lake")
"""Parameters that the runner fills by their names."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An input of a step that another step, or nobody, makes. `source` is a table's name, or a view's function."""

    parameter: str
    input: Input
    maker: str | None


@dataclass(frozen=True, slots=True)
class Graph:
    """Steps by name, in an order in which each comes after those that it reads."""

    steps: Mapping[str, Step]
    edges: Mapping[str, tuple[Edge, ...]]
    order: tuple[str, ...]

    def makers(self, name: str) -> Iterator[str]:
        """The steps that a step reads directly, views included."""
        yield from dict.fromkeys(edge.maker for edge in self.edges[name] if edge.maker is not None)

    def readers(self, name: str) -> Iterator[str]:
        """The steps that read a step directly."""
        yield from (reader for reader in self.order if name in self.makers(reader))

    def tables(self, name: str) -> dict[str, Input]:
        """The tables that a step reads, by name, those of the views that it reads too."""
        found: dict[str, Input] = {}
        for edge in self.edges[name]:
            if edge.maker is not None and self.steps[edge.maker].is_view:
                found |= self.tables(edge.maker)
            else:
                found[edge.input.name] = edge.input
        return found

    def views(self, name: str) -> Iterator[str]:
        """The views that a step reads, directly or by another view."""
        for maker in self.makers(name):
            if self.steps[maker].is_view:
                yield maker
                yield from self.views(maker)

    def called(self, name: str) -> Step | None:
        """The step that a parameter of a check or a hook means; None if none is called so."""
        return next((step for step in self.steps.values() if name in (step.short_name, step.name)), None)

    def made(self, names: Iterable[str] | None = None) -> set[str]:
        """The tables that steps make, or those of some of them."""
        return {table for name in (self.order if names is None else names) for table in self.steps[name].outputs}

    def reach(self, name: str, *, down: bool) -> set[str]:
        """A step, and all that it reads or, `down`, all that read it."""
        found, rest = {name}, [name]
        while rest:
            step = rest.pop()
            for other in self.readers(step) if down else self.makers(step):
                if other not in found:
                    found.add(other)
                    rest.append(other)
        return found

    def select(self, terms: str | Sequence[str] | None, exclude: str | Sequence[str] | None = None) -> list[str]:
        """The steps that names, patterns and `tag:x` select, in order; `+x` with what it reads, `x+` with readers."""
        chosen = set(self.order) if terms is None else self._selected(terms)
        return [name for name in self.order if name in chosen - (set() if exclude is None else self._selected(exclude))]

    def mermaid(self) -> str:
        """The graph as text that pages draw."""
        return mermaid(self._nodes(), self._arrows())

    def _repr_svg_(self) -> str:
        return svg(self._nodes(), self._arrows())

    def _nodes(self) -> dict[str, Kind]:
        """What nobody in the pipeline makes, then views and steps in their order."""
        inputs = [edge.input.name for name in self.order for edge in self.edges[name] if edge.maker is None]
        found: dict[str, Kind] = dict.fromkeys(inputs, "input")
        return found | {name: "view" if self.steps[name].is_view else "step" for name in self.order}

    def _arrows(self) -> list[tuple[str, str]]:
        found = [(edge.maker or edge.input.name, name) for name in self.order for edge in self.edges[name]]
        return list(dict.fromkeys(found))

    def _selected(self, terms: str | Sequence[str]) -> set[str]:
        listed = terms.split() if isinstance(terms, str) else list(terms)
        found: set[str] = set()
        for term in listed:
            bare = term.strip("+")
            named = [name for name in self.order if self._matches(name, bare)]
            if not named:
                raise Invalid(
                    "no step is called so",
                    subject=term,
                    expected=", ".join(self.order),
                    advice=nearest(bare, self.order),
                )
            for name in named:
                found |= {name}
                found |= self.reach(name, down=False) if term.startswith("+") else set()
                found |= self.reach(name, down=True) if term.endswith("+") else set()
        return found

    def _matches(self, name: str, term: str) -> bool:
        step = self.steps[name]
        if term.startswith("tag:"):
            return term.removeprefix("tag:") in step.tags
        candidates = (name, step.short_name, *step.outputs)
        return any(fnmatchcase(candidate, term) for candidate in candidates)


def graph_of(steps: Iterable[Step], params: Mapping[str, Any]) -> Graph:
    """The graph of steps; `Invalid` for parameters that nobody fills, tables with two steps, and cycles."""
    by_name: dict[str, Step] = {}
    outputs: dict[str, str] = {}
    for step in steps:
        _check_new(step, by_name, outputs)
        by_name[step.name] = step
        outputs |= dict.fromkeys(step.outputs or (step.name,), step.name)
    edges = {step.name: tuple(_edges(step, by_name, outputs, params)) for step in by_name.values()}
    needs = {
        name: [edge.maker for edge in found if edge.maker and not _looks_back(edge)] for name, found in edges.items()
    }
    try:
        sorter = TopologicalSorter(needs)
        order = tuple(sorter.static_order())
    except CycleError as error:
        raise Invalid(
            "steps read one another in a circle",
            found=" -> ".join(reversed(error.args[1])),
            advice='Read one of them as it was published: lp.read(name, at="published").',
        ) from None
    found = Graph(by_name, edges, order)
    for name in order:
        _check_windowed(found, name)
    return found


def _check_windowed(graph: Graph, name: str) -> None:
    """`Invalid` for a step by windows that reads changes: each window but the first would get none of them."""
    if graph.steps[name].window is None:
        return
    for table, source in graph.tables(name).items():
        if not isinstance(source, Read):
            raise Invalid(
                "a step with windows reads whole tables, of which it takes the window's rows",
                subject=f"step {name}",
                expected=f"lp.read({table!r}), then .where(window.of(…))",
                found=f"lp.{'changes' if isinstance(source, Changed) else 'appended'}({table!r})",
                advice="Windows in which rows changed are made again by themselves.",
            )


def _check_new(step: Step, steps: Mapping[str, Step], outputs: Mapping[str, str]) -> None:
    for name in (step.name, *step.outputs):
        if name in steps or name in outputs:
            raise Invalid("two steps have one name", subject=name, advice="Rename one: a table is written by one step.")


def _edges(
    step: Step, steps: Mapping[str, Step], outputs: Mapping[str, str], params: Mapping[str, Any]
) -> Iterator[Edge]:
    for parameter, source in step.inputs.items():
        if isinstance(source, INPUTS):
            yield Edge(parameter, source, outputs.get(source.name))
        elif isinstance(source, Given) and source.name not in params and source.name not in SPECIAL:
            found = [other for other in steps.values() if source.name in (other.short_name, other.name)]
            if not found:
                known = [*(other.short_name for other in steps.values()), *params, *SPECIAL]
                raise Invalid(
                    f"nothing is called {source.name!r}",
                    subject=f"step {step.name}",
                    expected="a step, a parameter of the pipeline, or spark, run, window or lake",
                    advice=nearest(source.name, known) or 'Name a table as its default value: lp.read("a.b").',
                )
            if len(found) > 1:
                raise Invalid(
                    f"two steps are called {source.name!r}",
                    subject=f"step {step.name}",
                    expected=", ".join(other.name for other in found),
                    advice="Name the table as its default value: lp.read(…).",
                )
            made = found[0]
            name = made.name if made.is_view or len(made.outputs) != 1 else made.outputs[0]
            yield Edge(parameter, Read(name), made.name)


def _looks_back(edge: Edge) -> bool:
    """Whether an input is what was there before the run, which needs no order."""
    return isinstance(edge.input, Read) and edge.input.at is not None


def nearest(word: str, known: Sequence[str]) -> str:
    """What somebody may have meant who wrote a word that nobody knows."""
    near = get_close_matches(word, known, n=3)
    return f"Did you mean {' or '.join(near)}?" if near else ""
