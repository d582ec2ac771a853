"""The commits of a lake as a picture: a lane for each branch, from left to right in the order of versions."""

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

from lakebed import Catalog, Commit

LANE, STEP, LEFT, TOP, WIDTH = 64, 34, 96, 40, 900
STYLE = """
  .page { fill: #ffffff; }
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .name { font-weight: 600; }
  .edge { fill: none; stroke-width: 2; }
  .lane0 { stroke: #0969da; } .lane1 { stroke: #1a7f37; } .lane2 { stroke: #bc4c00; } .lane3 { stroke: #8250df; }
  circle { fill: #ffffff; stroke-width: 3; }
  @media (prefers-color-scheme: dark) { .page, circle { fill: #0d1117; } text { fill: #e6edf3; } }
"""


def write_graph(main: Catalog, path: Path) -> None:
    """Draw the commits of all branches of a catalog."""
    path.write_text(draw(main), encoding="utf-8")


def draw(main: Catalog) -> str:
    """The picture as SVG, readable on light and on dark pages."""
    lanes = {row["id"]: lane for lane, row in enumerate(main.inspect("__branches").to_pylist())}
    names = [row["name"] for row in main.inspect("__branches").to_pylist()]
    commits = _commits(main, names)
    rows = {int(commit.version): place for place, commit in enumerate(commits)}
    height = TOP + STEP * len(commits) + 10
    parts = [
        '<rect class="page" width="100%" height="100%" rx="8"/>',  # a browser in the dark shows a picture on white
        *_edges(main, commits, lanes, rows),
        *(part for place, commit in enumerate(commits) for part in _commit(commit, lanes[commit.line], place, names)),
        *(_text(LEFT + lane * LANE, TOP - 22, name, "name", "middle") for lane, name in enumerate(names)),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="The commits of the lake">\n<style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _commits(main: Catalog, names: list[str]) -> list[Commit]:
    """All commits, each once, newest first."""
    found = {commit.version: commit for name in names for commit in main.branch(name).log()}
    return sorted(found.values(), key=lambda commit: commit.version, reverse=True)


def _edges(main: Catalog, commits: list[Commit], lanes: dict[str, int], rows: dict[int, int]) -> Iterator[str]:
    """A line from each commit to the one before it on its branch, from each branch to its fork, to what was merged."""
    forks = {row["id"]: (row["parent_id"], row["fork_version"]) for row in main.inspect("__branches").to_pylist()}
    for line, lane in lanes.items():
        own = [commit for commit in commits if commit.line == line]
        for newer, older in pairwise(own):
            yield _edge(lane, rows[int(newer.version)], lane, rows[int(older.version)], lane)
        parent, fork = forks[line]
        if own and parent is not None:
            place = _place_at(commits, parent, int(fork))
            if place is not None:
                yield _edge(lane, rows[int(own[-1].version)], lanes[parent], place, lane)
    for commit in commits:
        for head in commit.parents[1:]:
            place = _place_at(commits, head.line, int(head.version))
            if place is not None:
                yield _edge(lanes[commit.line], rows[int(commit.version)], lanes[head.line], place, lanes[head.line])


def _place_at(commits: list[Commit], line: str, version: int) -> int | None:
    """Where the newest commit of a branch up to a version is drawn."""
    return next((place for place, one in enumerate(commits) if one.line == line and int(one.version) <= version), None)


def _edge(lane: int, row: int, other_lane: int, other_row: int, color: int) -> str:
    x, y, to_x, to_y = LEFT + lane * LANE, TOP + row * STEP, LEFT + other_lane * LANE, TOP + other_row * STEP
    bend = (y + to_y) / 2
    return f'<path class="edge lane{color % 4}" d="M{x} {y} C{x} {bend} {to_x} {bend} {to_x} {to_y}"/>'


def _commit(commit: Commit, lane: int, row: int, names: list[str]) -> Iterator[str]:
    x, y = LEFT + lane * LANE, TOP + row * STEP
    said = str(commit).split("  ", 3)[3]
    yield f'<circle class="lane{lane % 4}" cx="{x}" cy="{y}" r="6"><title>{escape(str(commit))}</title></circle>'
    yield _text(LEFT - 24, y + 4, str(commit.version), "", "end")
    yield _text(LEFT + len(names) * LANE, y + 4, said if len(said) <= 90 else f"{said[:89]}…", "", "start")


def _text(x: float, y: float, text: str, style: str, anchor: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
