"""Timing two things side by side on a machine that others use too: in turn, in rounds, by medians."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The seconds that two works took in turn, by round."""

    rounds: Sequence[tuple[Sequence[float], Sequence[float]]]
    busy: int = 0  # of the rounds: the disk was slow, which pulls every ratio of commits towards 1

    def ratios(self) -> list[float]:
        return [median(ours) / median(theirs) for ours, theirs in self.rounds]

    def ours(self) -> float:
        return median(median(ours) for ours, _ in self.rounds)

    def theirs(self) -> float:
        return median(median(theirs) for _, theirs in self.rounds)


def seconds(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def in_turn(
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    rounds: int,
    each: int,
    calm: Callable[[], bool] = lambda: True,
) -> Pairs:
    """Each work answers its own time, so that it can prepare itself unseen; ours goes first in each turn."""
    return _in_rounds(lambda: _columns([(ours(), theirs()) for _ in range(each)]), rounds, calm)


def in_blocks(
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    rounds: int,
    each: int,
    calm: Callable[[], bool] = lambda: True,
) -> Pairs:
    """As `in_turn`, but each one's runs of a round in a row: each finds the caches as its own last run left them.

    For works of very different length: what takes 100 ms leaves nothing in the caches for what takes 3.
    """
    return _in_rounds(lambda: ([ours() for _ in range(each)], [theirs() for _ in range(each)]), rounds, calm)


def _in_rounds(run: Callable[[], tuple[list[float], list[float]]], rounds: int, calm: Callable[[], bool]) -> Pairs:
    """A round that was not `calm` before and after is done again, up to three times as many as asked for.

    What is judged is the disk and never the outcome.
    """
    good, busy = [], []
    while len(good) < rounds and len(good) + len(busy) < 3 * rounds:
        before = calm()
        done = run()
        (good if calm() and before else busy).append(done)
    missing = rounds - len(good)
    return Pairs(good + busy[:missing], missing)


def _columns(turns: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [one for one, _ in turns], [other for _, other in turns]


def percentile(times: Sequence[float], percent: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * percent / 100))]
