"""The commits of several branches as a graph in text: a column for each branch, the newest commit on top."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakebed.catalog.transaction.commits import Commit
from lakebed.store import Version

Heads = Sequence[tuple[str, Sequence[Commit]]]
"""Branches, and the commits that each shows."""


@dataclass(slots=True)
class _Lanes:
    """Which column each line is drawn in, and which of them have commits below the current row."""

    of_line: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)

    def drawn(self, marked: Mapping[int, str], begun: set[str]) -> str:
        """One row: a sign in some columns, a bar in those that go on."""
        cells = []
        for line, lane in sorted(self.of_line.items(), key=lambda item: item[1]):
            goes_on = line in begun and self.left[line] > 0
            cells.append(marked.get(lane, "│" if goes_on else " "))
        return " ".join(cells).rstrip()

    def joined(self, from_lane: int, to_lane: int, corner: str, begun: set[str]) -> str:
        """A row that joins two columns."""
        low, high = sorted((from_lane, to_lane))
        text = list(self.drawn({}, begun).ljust(2 * len(self.of_line)))
        text[2 * low] = "├"
        for place in range(2 * low + 1, 2 * high):
            text[place] = "┼" if text[place] == "│" else "─"
        text[2 * high] = corner
        return "".join(text).rstrip()


def graph_lines(
    heads: Heads,
    tags: Mapping[Version, str],
    limit: int | None,
    said: Callable[[Commit], str],
    when: Callable[[datetime], str],
) -> list[str]:
    """The graph, a commit a line, with rows between for forks and merges."""
    commits = sorted({one.version: one for _, log in heads for one in log}.values(), key=_version, reverse=True)
    commits = commits[:limit]
    lanes = _Lanes()
    for _, log in heads:
        for one in log[:1]:
            lanes.of_line.setdefault(one.line, len(lanes.of_line))
    for one in commits:
        lanes.of_line.setdefault(one.line, len(lanes.of_line))
        lanes.left[one.line] = lanes.left.get(one.line, 0) + 1
    lanes.of_line = {line: lane for lane, line in enumerate(line for line in lanes.of_line if line in lanes.left)}
    names, forks = _names(heads, tags), _forks(heads)
    lines, begun = [], set[str]()
    for one in commits:
        begun.add(one.line)
        lanes.left[one.line] -= 1
        graph = lanes.drawn({lanes.of_line[one.line]: "●"}, begun)
        label = f" ({', '.join(names[one.version])})" if one.version in names else ""
        about = f"{one.version}{label}  {said(one)}  [{one.author or '-'}, {when(one.time)}]"
        lines.append(f"{graph:<{2 * len(lanes.of_line)}} {about}")
        lines += _joins(lanes, one, forks.get(one.version), begun)
    return lines


def _joins(lanes: _Lanes, commit: Commit, fork: str | None, begun: set[str]) -> list[str]:
    """The rows below a commit: to the sources of a merge, and to the line that its own forked from."""
    lane, rows = lanes.of_line[commit.line], []
    for source in {parent.line for parent in commit.parents} - {commit.line}:
        if lanes.left.get(source, 0) > 0:
            begun.add(source)
            rows.append(lanes.joined(lane, lanes.of_line[source], "╮", begun))
    if fork is not None and lanes.left.get(fork, 0) > 0:
        begun.add(fork)
        rows.append(lanes.joined(lane, lanes.of_line[fork], "╯", begun))
    return rows


def _forks(heads: Heads) -> dict[Version, str]:
    """The first commits of branches, and the lines that these forked from."""
    return {
        first.version: before.line
        for _, log in heads
        for first, before in itertools.pairwise(log)
        if first.line != before.line
    }


def _names(heads: Heads, tags: Mapping[Version, str]) -> dict[Version, list[str]]:
    names: dict[Version, list[str]] = {}
    for name, log in heads:
        for newest in log[:1]:
            names.setdefault(newest.version, []).append(name)
    for version, name in tags.items():
        names.setdefault(version, []).append(f"tag {name}")
    return names


def _version(commit: Commit) -> Any:
    return commit.version
