"""Workloads of several kinds of tables, one after the other in each round: time and CPU of each."""

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
    """Seconds of wall-clock time, and of CPU time."""

    wall: float
    cpu: float


def took(work: Work) -> Took:
    """The time of a workload that starts with everything synced to disk."""
    os.sync()
    cpu, start = cpu_seconds(), perf_counter()
    work()
    wall = perf_counter() - start
    return Took(wall, cpu_seconds() - cpu)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The time of each kind, by round."""

    each: Sequence[Mapping[str, Took]]

    def wall(self, ours: str, theirs: str) -> Pairs:
        return Pairs([([times[ours].wall], [times[theirs].wall]) for times in self.each])

    def cpu(self, ours: str, theirs: str) -> Pairs:
        return Pairs([([times[ours].cpu], [times[theirs].cpu]) for times in self.each])

    def middle(self, name: str) -> float:
        """The median of a kind's wall-clock seconds."""
        return median(times[name].wall for times in self.each)


def in_turn(kinds: Mapping[str, Kind], work: Callable[[Kind], Took], rounds: int) -> Rounds:
    """Run rounds, after a first one that does not count. The workload returns its time, without its preparation."""
    for kind in kinds.values():
        work(kind)
    return Rounds([{name: work(kind) for name, kind in kinds.items()} for _ in range(rounds)])


def compared(
    what: str, rounds: Rounds, ours: str, theirs: str, *, wall: float | None = None, cpu: float | None = None
) -> list[Row]:
    """One kind against another, by wall-clock and CPU time, with an upper limit for each."""
    return [
        ratio(f"{what}: {ours} / {theirs}", rounds.wall(ours, theirs), at_most=wall),
        ratio(f"{what}: {ours} / {theirs}, CPU", rounds.cpu(ours, theirs), at_most=cpu),
    ]
