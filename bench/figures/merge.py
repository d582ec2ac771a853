"""Diff and merge of a branch that changed 10 tables, in a lake of 10 and in one of 100,000."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import lakebed
from bench.data.many_tables import COMPLETE_TABLES, open_lake, warm
from bench.data.one_row import ROW
from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.timing import Pairs, in_turn, seconds

FEW, MANY = 10, 100_000
ROUNDS, DIFFS, MERGES = 5, 10, 4
GOAL = 1.5


def measure(folder: Path) -> list[Row]:
    """The branch appended a row to each table and set a property of it: 20 commits. The trunk did nothing."""
    few, many = (open_lake(folder / f"{tables}", tables) for tables in (FEW, MANY))

    def calm() -> bool:
        return is_calm(folder)

    def diffs() -> Pairs:
        return in_turn(_diff(many), _diff(few), rounds=ROUNDS, each=DIFFS)

    after_load = diffs()
    for lake in (few, many):
        warm(lake)
    later = diffs()
    ours, theirs = _merge(many), _merge(few)
    in_turn(ours, theirs, rounds=1, each=1)
    merges = in_turn(ours, theirs, rounds=ROUNDS, each=MERGES, calm=calm)
    for lake in (few, many):
        lake.close()
    changed = f"of {len(COMPLETE_TABLES)} changed tables, in a lake of {MANY:,} / of {FEW}"
    return [
        ratio(f"diff {changed}", later, at_most=GOAL),
        ratio(f"merge {changed}", merges, at_most=GOAL),
        ratio(f"diff {changed}, right after they were loaded", after_load, at_most=GOAL),
    ]


def _diff(lake: lakebed.Lake) -> Callable[[], float]:
    main = lake.catalog()
    branch = _changed_branch(main, f"compared_{len(main.branches())}")

    def diff() -> None:
        assert len(main.diff(branch)) == len(COMPLETE_TABLES)

    return lambda: seconds(diff)


def _merge(lake: lakebed.Lake) -> Callable[[], float]:
    """Merges a new branch each time; creating and changing it is not measured."""
    main, numbers = lake.catalog(), count()

    def merge() -> float:
        branch = _changed_branch(main, f"branch_{next(numbers)}")
        took = seconds(lambda: main.merge(branch))
        assert not main.diff(branch)
        return took

    return merge


def _changed_branch(main: lakebed.Catalog, name: str) -> lakebed.Catalog:
    branch = main.create_branch(name)
    for table in map(branch.table, COMPLETE_TABLES):
        table.append(ROW)
        table.set_properties({"changed_on": name})
    return branch


FIGURE = Figure("merge", "Comparing and merging a branch", measure)
