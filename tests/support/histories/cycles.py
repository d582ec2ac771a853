"""Cycles in small directed graphs."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

Graph = Mapping[str, Collection[str]]


def components(graph: Graph) -> list[list[str]]:
    """The sets of two or more nodes that can all reach each other (Tarjan, 1972), without recursion."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    open_nodes: set[str] = set()
    for root in graph:
        if root in index:
            continue
        path = [(root, iter(graph.get(root, ())))]
        index[root] = lowest[root] = len(index)
        waiting.append(root)
        open_nodes.add(root)
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    found.append(_closed(node, waiting, open_nodes))
            elif following not in index:
                index[following] = lowest[following] = len(index)
                waiting.append(following)
                open_nodes.add(following)
                path.append((following, iter(graph.get(following, ()))))
            elif following in open_nodes:
                lowest[node] = min(lowest[node], index[following])
    return [component for component in found if len(component) > 1]


def _closed(node: str, waiting: list[str], open_nodes: set[str]) -> list[str]:
    first = waiting.index(node)
    component = waiting[first:]
    del waiting[first:]
    open_nodes.difference_update(component)
    return component


def within(graph: Graph, nodes: Collection[str]) -> dict[str, list[str]]:
    """The part of a graph between some of its nodes."""
    kept = set(nodes)
    return {node: [one for one in graph.get(node, ()) if one in kept] for node in nodes}


def shortest_path(graph: Graph, start: str, end: str) -> list[str] | None:
    """The nodes from one to another over at least one edge, both included; None if there is no way."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for following in graph.get(node, ()):
            if following in came_from:
                continue
            came_from[following] = node
            if following == end:
                return _walked(came_from, start, end)
            queue.append(following)
    return None


def shortest(cycles: Iterable[list[str] | None]) -> list[str] | None:
    """The one with the fewest nodes, if there is any; the first of those that are as short."""
    return min((one for one in cycles if one is not None), key=len, default=None)


def shortest_cycle(graph: Graph) -> list[str] | None:
    """A shortest cycle: its nodes in order, the first one again at the end."""
    return shortest(shortest_path(within(graph, part), node, node) for part in components(graph) for node in part)


def _walked(came_from: Mapping[str, str], start: str, end: str) -> list[str]:
    path = [end]
    while len(path) == 1 or path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
