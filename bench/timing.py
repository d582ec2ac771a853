"""Times two workloads side by side on a shared machine: in turn, in rounds, by medians."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The seconds that two workloads took in turn, by round."""

    rounds: Sequence[tuple[Sequence[float], Sequence[float]]]
    busy: int = 0  # rounds with a slow disk, which pulls every ratio of commits towards 1

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
    """Run the two alternately, ours first. Each returns its own time, so that its preparation does not count."""
    return _in_rounds(lambda: _columns([(ours(), theirs()) for _ in range(each)]), rounds, calm)


def in_blocks(
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    rounds: int,
    each: int,
    calm: Callable[[], bool] = lambda: True,
) -> Pairs:
    """As `in_turn`, but with all runs of a round in a row, so that each finds the caches as its own last run left them.

    For workloads of very different length: one of 100 ms leaves nothing in the caches for one of 3 ms.
    """
    return _in_rounds(lambda: ([ours() for _ in range(each)], [theirs() for _ in range(each)]), rounds, calm)


def _in_rounds(run: Callable[[], tuple[list[float], list[float]]], rounds: int, calm: Callable[[], bool]) -> Pairs:
    """Repeat a round that was not `calm` before and after, up to three times as many rounds as wanted.

    Rounds are judged by the disk, never by their results.
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
