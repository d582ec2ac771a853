"""Pictures of a graph: Mermaid's text for pages, SVG for notebooks and files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Literal

Kind = Literal["input", "view", "step"]
Arrows = Sequence[tuple[str, str]]
"""From what is read to what reads it."""

WIDTH, HEIGHT, ACROSS, DOWN, LETTER = 40, 34, 70, 18, 7.9
STYLE = (
    ".page{fill:#ffffff}text{font:13px ui-monospace,monospace;fill:#24292f}"
    ".step,.view{fill:#f6f8fa;stroke:#57606a}.view{stroke-dasharray:4 3}.input{fill:none;stroke:#afb8c1}"
    "path{fill:none;stroke:#8c959f}"
    "@media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.step,.view{fill:#161b22;stroke:#8b949e}"
    ".input{fill:none;stroke:#484f58}path{stroke:#6e7681}}"
)
SHAPES = {"input": ("([", "])"), "view": ("[[", "]]"), "step": ("[", "]")}


def mermaid(nodes: Mapping[str, Kind], arrows: Arrows) -> str:
    """A graph as Mermaid has it."""
    numbers = {name: f"n{place}" for place, name in enumerate(nodes)}
    lines = ["graph LR"]
    for name, kind in nodes.items():
        before, after = SHAPES[kind]
        lines.append(f'  {numbers[name]}{before}"{name}"{after}')
    return "\n".join([*lines, *(f"  {numbers[source]} --> {numbers[target]}" for source, target in arrows)])


def svg(nodes: Mapping[str, Kind], arrows: Arrows) -> str:
    """A graph as a picture, readable on light and dark pages."""
    columns = _columns(nodes, arrows)
    widths: dict[str, float] = {}
    places: dict[str, tuple[float, float]] = {}
    left = 10.0
    for names in columns:
        width = max(map(len, names)) * LETTER + 24
        for row, name in enumerate(names):
            places[name], widths[name] = (left, 10.0 + row * (HEIGHT + DOWN)), width
        left += width + ACROSS
    tall = max(map(len, columns), default=1) * (HEIGHT + DOWN) + 4
    parts = list(_curves(arrows, places, widths))
    for name, (x, y) in places.items():
        box = f'x="{x:.0f}" y="{y:.0f}" width="{widths[name]:.0f}" height="{HEIGHT}"'
        parts.append(f'<rect class="{nodes[name]}" {box} rx="5"/>')
        parts.append(f'<text x="{x + 12:.0f}" y="{y + 22:.0f}">{escape(name)}</text>')
    size = f'width="{max(left - ACROSS + 10, WIDTH):.0f}" height="{tall:.0f}"'
    page = '<rect class="page" width="100%" height="100%" rx="8"/>'  # a browser in the dark shows a picture on white
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{page}{"".join(parts)}</svg>'


def _columns(nodes: Iterable[str], arrows: Arrows) -> list[list[str]]:
    """The nodes from left to right: each behind all that it reads. They come in such an order."""
    depth: dict[str, int] = {}
    for name in nodes:
        depth[name] = max((depth.get(source, 0) + 1 for source, target in arrows if target == name), default=0)
    found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, place in depth.items():
        found[place].append(name)
    return found


def _curves(arrows: Arrows, places: Mapping[str, tuple[float, float]], widths: Mapping[str, float]) -> Iterator[str]:
    for source, target in arrows:
        (left, above), (x, y) = places[source], places[target]
        begin, start, end = left + widths[source], above + HEIGHT / 2, y + HEIGHT / 2
        middle = (begin + x) / 2
        curve = f"C{middle:.0f} {start:.0f} {middle:.0f} {end:.0f} {x:.0f} {end:.0f}"
        yield f'<path d="M{begin:.0f} {start:.0f}{curve}"/>'
