"""A commit to an object that has had 10,000 commits, against one in a fresh lake."""

from collections.abc import Callable
from pathlib import Path

from bench.data.metastore_lake import Lake, Table
from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.timing import in_turn, seconds
from lakebed.metastore import Change

COMMITS = 10_000
WARM_UP = 400  # commits: past the first wrap of the WAL
ROUNDS, EACH = 5, 120


def measure(folder: Path) -> list[Row]:
    """The fresh lake is warmed up on another table, so that the measured table begins without history."""
    old, fresh = Lake(folder / "old.db"), Lake(folder / "fresh.db")
    grown = old.add_table("grown")
    for number in range(COMMITS // 2):
        old.commit(old.set_properties(grown, number))
        old.commit(old.append(grown))
    other = fresh.add_table("other")
    for number in range(WARM_UP):
        fresh.commit(fresh.set_properties(other, number))
    young = fresh.add_table("young")

    def calm() -> bool:
        return is_calm(folder)

    rows = [
        ratio(
            "setting properties, 10,000 commits behind / fresh",
            in_turn(_properties(old, grown), _properties(fresh, young), rounds=ROUNDS, each=EACH, calm=calm),
            at_most=1.3,
        ),
        ratio(
            "an append, 10,000 commits behind / fresh",
            in_turn(_append(old, grown), _append(fresh, young), rounds=ROUNDS, each=EACH, calm=calm),
            at_most=1.3,
        ),
    ]
    old.close()
    fresh.close()
    return rows


def _properties(lake: Lake, table: Table) -> Callable[[], float]:
    return lambda: _seconds_to_commit(lake, lake.set_properties(table, 7))


def _append(lake: Lake, table: Table) -> Callable[[], float]:
    return lambda: _seconds_to_commit(lake, lake.append(table))


def _seconds_to_commit(lake: Lake, change: Change) -> float:
    return seconds(lambda: lake.commit(change))


FIGURE = Figure("growth", "A commit to an object with a long history", measure)
