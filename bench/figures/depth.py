"""Lookups and pages of a listing on branches 10 and 100 forks from the trunk, through the public API."""

from collections.abc import Callable
from pathlib import Path

import lakebed
from bench.data.many_tables import NAMESPACE, open_lake, table_name, warm
from bench.figure import Figure, Row, ratio
from bench.timing import Pairs, in_turn, seconds

TABLES = 1_000
PAGE = 100
DEPTHS = 10, 100
ROUNDS = 5
GOAL = 1.5

Question = Callable[[lakebed.Catalog], object]


def measure(folder: Path) -> list[Row]:
    """Each branch of a chain forks from the previous one and makes a commit. Every question is asked once before."""
    lake = open_lake(folder / "lake", TABLES)
    warm(lake)
    branches = _chain(lake.catalog(), max(DEPTHS))
    name = f"{NAMESPACE}.{table_name(TABLES // 2)}"

    def page(catalog: lakebed.Catalog) -> None:
        assert len(catalog.tables(NAMESPACE, limit=PAGE)) == PAGE

    questions: list[tuple[str, Question, int]] = [
        ("a table by its name", lambda catalog: catalog.table(name), 100),
        (f"a page of {PAGE} of {TABLES:,} tables", page, 50),
    ]
    rows = [
        ratio(f"{what}, {depth} forks deep / 1", _asked(ask, branches[depth - 1], branches[0], each), at_most=GOAL)
        for what, ask, each in questions
        for depth in DEPTHS
    ]
    lake.close()
    return rows


def _chain(catalog: lakebed.Catalog, depth: int) -> list[lakebed.Catalog]:
    branches = []
    for number in range(depth):
        catalog = catalog.create_branch(f"branch_{number}")
        catalog.namespace(NAMESPACE).set_properties({"comment": f"fork {number}"})
        branches.append(catalog)
    return branches


def _asked(ask: Question, far: lakebed.Catalog, near: lakebed.Catalog, each: int) -> Pairs:
    ask(far)
    ask(near)
    return in_turn(lambda: seconds(lambda: ask(far)), lambda: seconds(lambda: ask(near)), rounds=ROUNDS, each=each)


FIGURE = Figure("depth", "Names and listings on branches of branches", measure)
