"""A branch that is merged again and again, and an old one after many others were merged."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import lakebed
from bench.figure import Figure, Row, ratio
from bench.timing import Pairs, in_turn, seconds

FEW, MANY = 10, 300
ROUNDS, EACH = 5, 4
GOAL = 5.0


def measure(folder: Path) -> list[Row]:
    """Every merge brings one commit, of a property. The trunk does nothing else."""
    again = [_again(folder / f"again_{merges}", merges) for merges in (MANY, FEW)]
    old = [_old(folder / f"old_{merges}", merges) for merges in (MANY, FEW)]
    return [
        ratio(f"merging a branch for the {MANY}th time / the {FEW}th", _compared(again), at_most=GOAL),
        ratio(f"merging an old branch after {MANY} others / after {FEW}", _compared(old), at_most=GOAL),
    ]


def _compared(merges: list[Callable[[], float]]) -> Pairs:
    many, few = merges
    in_turn(many, few, rounds=1, each=1)
    return in_turn(many, few, rounds=ROUNDS, each=EACH)


def _again(folder: Path, merges: int) -> Callable[[], float]:
    main, numbers = lakebed.connect(folder).catalog(), count()
    branch = main.create_branch("dev")

    def merge() -> float:
        branch.set_properties({"n": str(next(numbers))})
        return seconds(lambda: main.merge(branch))

    for _ in range(merges):
        merge()
    return merge


def _old(folder: Path, merges: int) -> Callable[[], float]:
    main = lakebed.connect(folder).catalog()
    old = main.create_branch("old")
    old.set_properties({"old": "yes"})
    for number in range(merges):
        branch = main.create_branch(f"branch_{number}")
        branch.set_properties({"n": str(number)})
        main.merge(branch)
    return lambda: seconds(lambda: main.merge(old, dry_run=True))


FIGURE = Figure("merges", "Many merges", measure)
