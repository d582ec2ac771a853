"""Draw docs/commit-latency.svg: the time of a one-row commit over the number of commits before it, ours and the peers'.

It draws the measurements of the last run of `python -m bench commits`.
"""

import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib.metadata import version
from math import log10
from pathlib import Path
from statistics import median

from bench.figures.commits import LATENCIES

PAGE = Path(__file__).parent.parent / "docs" / "commit-latency.svg"

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 40, 50
SERIES = {
    "pyiceberg": (f"PyIceberg {version('pyiceberg')}", "#b0413e"),
    "deltalake": (f"deltalake {version('deltalake')}", "#d08a2e"),
    "files": ("Lakebed, Parquet files", "#4878a8"),
    "inline": ("Lakebed, inline rows", "#1f4e79"),
}
POINTS_PER_DECADE = 12

Points = list[tuple[float, float]]


def main() -> None:
    times = json.loads(LATENCIES.read_text(encoding="utf-8"))
    PAGE.write_text(drawing({name: points_of(times[name]) for name in SERIES}), encoding="utf-8")


def points_of(times: Sequence[float]) -> Points:
    """Medians of neighbouring commits, twelve points for each power of ten."""
    points, start = Points(), 0
    while start < len(times):
        end = max(start + 1, round((start + 1) * 10 ** (1 / POINTS_PER_DECADE)) - 1)
        some = times[start:end]
        points.append((start + 1 + (len(some) - 1) / 2, median(some)))
        start = end
    return points


def drawing(series: dict[str, Points]) -> str:
    scale = _Scale(list(series.values()))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 22, "One-row commit: median time, by commits before it (both axes logarithmic)", "start", 14),
        *_grid(scale),
        *(line for name, points in series.items() for line in _line(scale, name, points)),
        *_names(scale, series),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Scale:
    """Maps a commit's number and seconds to the page, which spans whole powers of ten."""

    def __init__(self, series: Sequence[Points]) -> None:
        seconds = [second for points in series for _, second in points]
        commits = max(number for points in series for number, _ in points)
        self.decades = range(-int(-log10(commits) // 1) + 1)
        self.powers = range(int(log10(min(seconds)) // 1), -int(-log10(max(seconds)) // 1) + 1)

    def x(self, number: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(number) / self.decades[-1]

    def y(self, seconds: float) -> float:
        share = (log10(seconds) - self.powers[0]) / (self.powers[-1] - self.powers[0])
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def _grid(scale: _Scale) -> Iterator[str]:
    for power in scale.powers:
        y = scale.y(10.0**power)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(LEFT - 8, y + 4, _shown(10.0**power), "end")
    for decade in scale.decades:
        x = scale.x(10.0**decade)
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield _text(x, HEIGHT - BOTTOM + 18, f"{10**decade:,}", "middle")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "commits to the table", "middle")


def _line(scale: _Scale, name: str, points: Points) -> Iterator[str]:
    places = " ".join(f"{scale.x(number):.1f},{scale.y(seconds):.1f}" for number, seconds in points)
    yield f'<polyline points="{places}" fill="none" stroke="{SERIES[name][1]}" stroke-width="2"/>'


def _names(scale: _Scale, series: dict[str, Points]) -> Iterator[str]:
    """Each line's name at its end, moved down where two would overlap."""
    below = 0.0
    for name, points in sorted(series.items(), key=lambda one: scale.y(one[1][-1][1])):
        number, seconds = points[-1]
        y = max(scale.y(seconds) + 4, below + 15)
        below = y
        yield _text(scale.x(number) + 6, y, SERIES[name][0], "start", colour=SERIES[name][1])


def _text(x: float, y: float, text: str, anchor: str, size: int = 12, colour: str = "#333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{colour}">{escape(text)}</text>'


def _shown(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


if __name__ == "__main__":
    main()
