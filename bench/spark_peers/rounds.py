"""Works of several kinds of tables, one after the other in each round: how long each took, and how much CPU."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TypeVar

from bench.figure import Row, ratio
from bench.spark_peers.cpu import cpu_seconds
from bench.timing import Pairs, Work

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds: by the clock, and of CPU."""

    wall: float
    cpu: float


def took(work: Work) -> Took:
    """What a work takes that begins with nothing left to write."""
    os.sync()
    cpu, start = cpu_seconds(), perf_counter()
    work()
    wall = perf_counter() - start
    return Took(wall, cpu_seconds() - cpu)


@dataclass(frozen=True, slots=True)
class Rounds:
    """What each took, by round."""

    each: Sequence[Mapping[str, Took]]

    def wall(self, ours: str, theirs: str) -> Pairs:
        return Pairs([([one[ours].wall], [one[theirs].wall]) for one in self.each])

    def cpu(self, ours: str, theirs: str) -> Pairs:
        return Pairs([([one[ours].cpu], [one[theirs].cpu]) for one in self.each])

    def middle(self, name: str) -> float:
        """The median of one's seconds by the clock."""
        return median(one[name].wall for one in self.each)


def in_turn(kinds: Mapping[str, Kind], work: Callable[[Kind], Took], rounds: int) -> Rounds:
    """Rounds after one that does not count. The work says what it took, so that it can prepare itself unseen."""
    for kind in kinds.values():
        work(kind)
    return Rounds([{name: work(kind) for name, kind in kinds.items()} for _ in range(rounds)])


def compared(
    what: str, rounds: Rounds, ours: str, theirs: str, *, wall: float | None = None, cpu: float | None = None
) -> list[Row]:
    """One against another, by the clock and in CPU, with what each of these is to be at most."""
    return [
        ratio(f"{what}: {ours} / {theirs}", rounds.wall(ours, theirs), at_most=wall),
        ratio(f"{what}: {ours} / {theirs}, CPU", rounds.cpu(ours, theirs), at_most=cpu),
    ]
