"""An append of one row to a table with 10,000 commits behind it, against one to a fresh table."""

from pathlib import Path

from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.one_row import ROW, append_to, new_table, open_warm
from bench.timing import in_turn

COMMITS = 10_000
ROUNDS, EACH = 5, 60


def measure(folder: Path) -> list[Row]:
    """Each table is in a lake of its own, so that the fresh one's has no long history either."""
    old, fresh = open_warm(folder / "old"), open_warm(folder / "fresh")
    grown, young = new_table(old, "grown"), new_table(fresh, "young")
    for _ in range(COMMITS):
        grown.append(ROW)

    def calm() -> bool:
        return is_calm(folder)

    pairs = in_turn(append_to(grown), append_to(young), rounds=ROUNDS, each=EACH, calm=calm)
    old.close()
    fresh.close()
    return [ratio("an append, 10,000 commits behind / fresh", pairs, at_most=1.3)]


FIGURE = Figure("append-growth", "An append of one row to a table with a long history", measure)
