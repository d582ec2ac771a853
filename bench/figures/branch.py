"""Creating a branch in a lake of 10, of 10,000 and of 100,000 tables."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import lakebed
from bench.data.many_tables import open_lake, warm
from bench.figure import Figure, Row, duration, ratio
from bench.machine import is_calm
from bench.timing import Pairs, in_turn, seconds

FEW, MANY, MOST = 10, 10_000, 100_000
WARM_UP = 20
ROUNDS, EACH = 5, 40
GOAL, FLAT = 0.002, 1.3


def measure(folder: Path) -> list[Row]:
    """A fork of the trunk's newest version, by name: the name is looked up, and one commit writes a few rows."""
    few, many, most = (open_lake(folder / f"{tables}", tables) for tables in (FEW, MANY, MOST))
    for lake in (few, many, most):
        warm(lake)

    def against_few(lake: lakebed.Lake) -> Pairs:
        ours, theirs = _branch(lake), _branch(few)
        in_turn(ours, theirs, rounds=1, each=WARM_UP)
        return in_turn(ours, theirs, rounds=ROUNDS, each=EACH, calm=lambda: is_calm(folder))

    by_many, by_most = against_few(many), against_few(most)
    rows = [
        _took(FEW, by_most.theirs(), by_most.busy),
        _took(MANY, by_many.ours(), by_many.busy),
        _took(MOST, by_most.ours(), by_most.busy),
        ratio(f"a branch, {MANY:,} tables / {FEW}", by_many, at_most=FLAT),
        ratio(f"a branch, {MOST:,} tables / {FEW}", by_most, at_most=FLAT),
    ]
    for lake in (few, many, most):
        lake.close()
    return rows


def _branch(lake: lakebed.Lake) -> Callable[[], float]:
    main = lake.catalog()
    names = (f"branch_{number}" for number in count(len(main.branches())))
    return lambda: seconds(lambda: main.create_branch(next(names)))


def _took(tables: int, took: float, busy: int) -> Row:
    row = duration(f"a branch, {tables:,} tables", took, f"the median of {ROUNDS * EACH}", at_most=GOAL)
    return replace(row, met=None) if busy else row


FIGURE = Figure("branch", "Creating a branch", measure)
