"""Looking at a whole lake: the names of its tables, its system tables, and the conflicts of a thousand branches."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

import lakebed
from bench.data.one_row import ROW
from bench.figure import Figure, Row, duration, shown
from bench.timing import seconds
from lakebed.lake.catalog import Catalog

TABLES, BRANCHES, CHANGED, ROUNDS = 2_000, 1_000, 100, 5
PER_COMMIT = 100


def measure(folder: Path) -> list[Row]:
    return _measure(folder, TABLES, BRANCHES, CHANGED)


def quick(folder: Path) -> list[Row]:
    return _measure(folder, 20, 10, 2)


def _measure(folder: Path, tables: int, branches: int, changed: int) -> list[Row]:
    """The trunk makes a commit between two forks, so that the branches have forked from many versions."""
    with lakebed.connect(folder / "lake", author="bench") as lake:
        main = lake.catalog()
        fill(main, tables)
        rows = [
            _timed(folder, f"names of {tables:,} tables", lambda line: [one.name for one in line.tables("n")]),
            *(_timed(folder, f"`{name}` of {tables:,} tables", _inspected(name)) for name in ("__tables", "__files")),
        ]
        fork(main, branches)
        rows.append(_timed(folder, f"`__branches`, {branches:,}", _inspected("__branches")))
        rows.append(_timed(folder, f"`__conflicts` of {branches:,} unchanged branches", _inspected("__conflicts")))
        change(main, changed)
        rows.append(_timed(folder, f"`__conflicts`, {changed:,} of them changed", _inspected("__conflicts")))
    return rows


def fill(main: Catalog, tables: int) -> None:
    """Create tables of one row each in the namespace n."""
    main.create_namespace("n")
    for start in range(0, tables, PER_COMMIT):
        with main.transaction("fill") as tx:
            for number in range(start, min(start + PER_COMMIT, tables)):
                tx.create_table(f"n.t{number:05}", ROW.schema).append(ROW)


def fork(main: Catalog, branches: int) -> None:
    """Create branches, with a commit of the trunk after each."""
    for number in range(branches):
        main.create_branch(f"b{number:05}")
        main.set_properties({"forks": str(number)})


def change(main: Catalog, branches: int) -> None:
    """Append a row on some branches, each to a table of its own."""
    for number in range(branches):
        main.branch(f"b{number:05}").table(f"n.t{number % 20:05}").append(ROW)


def _inspected(name: str) -> Callable[[Catalog], object]:
    return lambda line: line.inspect(name)


def _timed(folder: Path, what: str, look: Callable[[Catalog], object]) -> Row:
    """Each round opens the lake again, so that nothing is remembered."""
    times = []
    for _ in range(ROUNDS):
        with lakebed.connect(folder / "lake") as lake:
            main = lake.catalog()
            times.append(seconds(lambda main=main: look(main)))  # type: ignore[misc]
    return duration(what, median(times), f"{ROUNDS} times, {shown(min(times))}–{shown(max(times))}")


FIGURE = Figure("inspection", "Looking at a whole lake", measure, quick)
