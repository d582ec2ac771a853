"""A figure and its result: rows with what was compared, what was measured, and the goal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.timing import Pairs


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `goal` is None if there is none, `met` if it can't be judged."""

    what: str
    measured: str
    detail: str
    goal: str | None = None
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement, under its name on the command line. `measure` gets an empty folder of its own.

    `quick` is the same with small sizes, to see that it runs; None where that is not needed.
    """

    name: str
    title: str
    measure: Callable[[Path], list[Row]]
    quick: Callable[[Path], list[Row]] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure's rows, and the time of a disk sync before and after it, which other work on the machine slows down."""

    figure: Figure
    rows: list[Row]
    syncs: tuple[float, float]


def ratio(what: str, pairs: Pairs, *, at_most: float | None = None, at_least: float | None = None) -> Row:
    """How many times as long the first workload took: the median of the rounds' ratios, and their range."""
    times = pairs.ratios()
    middle = median(times)
    detail = f"{shown(pairs.ours())} against {shown(pairs.theirs())}; rounds {min(times):.2f}–{max(times):.2f}"
    if pairs.busy:
        detail += f"; the disk was busy in {pairs.busy} of {len(times)}"
    if at_most is not None:
        goal, met = f"≤ {at_most:g}×", middle <= at_most
    elif at_least is not None:
        goal, met = f"≥ {at_least:g}×", middle >= at_least
    else:
        return Row(what, f"{middle:.2f}×", detail)
    return Row(what, f"{middle:.2f}×", detail, goal, None if pairs.busy else met)


def duration(what: str, seconds: float, detail: str, *, at_most: float | None = None) -> Row:
    goal = None if at_most is None else f"≤ {shown(at_most)}"
    return Row(what, shown(seconds), detail, goal, None if at_most is None else seconds <= at_most)


def share(what: str, shares: Sequence[float], detail: str, *, at_least: float | None = None) -> Row:
    """The median of some fractions."""
    middle = median(shares)
    goal = None if at_least is None else f"≥ {at_least:.0%}"
    spread = f"{detail}; rounds {min(shares):.0%}–{max(shares):.0%}"
    return Row(what, f"{middle:.0%}", spread, goal, None if at_least is None else middle >= at_least)


def rate(what: str, rates: Sequence[float], detail: str, *, at_least: float | None = None) -> Row:
    """The median of some rates per second."""
    middle = median(rates)
    goal = None if at_least is None else f"≥ {at_least:,.0f}/s"
    spread = f"{detail}; rounds {min(rates):,.0f}–{max(rates):,.0f}"
    return Row(what, f"{middle:,.0f}/s", spread, goal, None if at_least is None else middle >= at_least)


def shown(seconds: float) -> str:
    if seconds < 0.000_995:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.995 else f"{seconds:.3g} s"
