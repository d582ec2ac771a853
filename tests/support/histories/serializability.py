"""Whether a history is strictly serializable: as if its transactions had run one by one, in the order of real time.

After Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020: the values
that were read tell which transaction came before which; a cycle is an anomaly, and its edges give it its name.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tests.support.histories.anomalies import Anomaly, Finding
from tests.support.histories.cycles import components, shortest, shortest_cycle, shortest_path
from tests.support.histories.dependencies import Edge, Kind, dependencies
from tests.support.histories.histories import History
from tests.support.histories.observations import Observations, forks, lost_updates, observe

_FLOW = frozenset({Kind.WW, Kind.WR})
_DATA = _FLOW | {Kind.RW}

_Between = Mapping[tuple[str, str], Mapping[Kind, Edge]]


def check(history: History) -> list[Finding]:
    """All that is wrong with single reads, the worst cycle of each knot, and every edge that goes back in versions.

    Nothing if the history is strictly serializable, as far as what was read can tell.
    """
    observed = observe(history)
    edges = dependencies(observed)
    alone = [*observed.findings, *forks(observed), *lost_updates(observed)]
    return [*alone, *_cycles(edges), *_inversions(observed, edges)]


def _cycles(edges: Sequence[Edge]) -> list[Finding]:
    between = _by_ends(edges)
    graph = _graph(between, frozenset(Kind))
    return [_worst(_part(between, component)) for component in components(graph)]


def _worst(between: _Between) -> Finding:
    """The worst cycle in a knot, and among equally bad ones a shortest."""
    for anomaly, kinds in ((Anomaly.G0, frozenset({Kind.WW})), (Anomaly.G1C, _FLOW)):
        if cycle := shortest_cycle(_graph(between, kinds)):
            return _explained(anomaly, between, cycle, kinds)
    if cycle := _one_missed(between):
        return _explained(Anomaly.G_SINGLE, between, cycle, _DATA)
    for anomaly, kinds in ((Anomaly.G2, _DATA), (Anomaly.PROCESS, _DATA | {Kind.PROCESS})):
        if cycle := shortest_cycle(_graph(between, kinds)):
            return _explained(anomaly, between, cycle, kinds)
    cycle = shortest_cycle(_graph(between, frozenset(Kind)))
    assert cycle is not None, "a knot has a cycle"
    return _explained(Anomaly.REAL_TIME, between, cycle, frozenset(Kind))


def _one_missed(between: _Between) -> list[str] | None:
    """A shortest cycle with one rw edge, closed by ww and wr."""
    graph = _graph(between, _FLOW)
    missed = [ends for ends, kinds in between.items() if Kind.RW in kinds]
    paths = ((source, shortest_path(graph, target, source)) for source, target in missed)
    return shortest([source, *path] if path is not None else None for source, path in paths)


def _explained(anomaly: Anomaly, between: _Between, cycle: Sequence[str], kinds: frozenset[Kind]) -> Finding:
    steps = [_edge(between[ends], kinds) for ends in pairwise(cycle)]
    return Finding(anomaly, tuple(cycle[:-1]), tuple(str(step) for step in steps))


def _edge(kinds: Mapping[Kind, Edge], wanted: frozenset[Kind]) -> Edge:
    """The most telling edge between two transactions: as `Kind` has them, data first."""
    return next(kinds[kind] for kind in Kind if kind in kinds and kind in wanted)


def _inversions(observed: Observations, edges: Iterable[Edge]) -> list[Finding]:
    """Edges whose target has the smaller version: the lake's order of commits is not the one that the data shows."""
    versions = {one.name: one.version for one in observed.transactions}
    found = []
    for edge in edges:
        source, target = versions[edge.source], versions[edge.target]
        if source is not None and target is not None and source >= target:
            steps = str(edge), f"{edge.source} has version {source}, {edge.target} has version {target}"
            found.append(Finding(Anomaly.VERSIONS, (edge.source, edge.target), steps))
    return found


def _by_ends(edges: Iterable[Edge]) -> dict[tuple[str, str], dict[Kind, Edge]]:
    """One edge of each kind between any two."""
    found: dict[tuple[str, str], dict[Kind, Edge]] = {}
    for edge in edges:
        found.setdefault((edge.source, edge.target), {}).setdefault(edge.kind, edge)
    return found


def _graph(between: _Between, kinds: frozenset[Kind]) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {}
    for (source, target), found in between.items():
        if kinds & found.keys():
            graph.setdefault(source, []).append(target)
            graph.setdefault(target, [])
    return graph


def _part(between: _Between, component: Sequence[str]) -> _Between:
    kept = set(component)
    return {ends: kinds for ends, kinds in between.items() if kept.issuperset(ends)}
