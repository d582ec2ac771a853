"""Four processes that commit through the public API: each to a table of its own, and all to one table."""

from itertools import count
from pathlib import Path
from statistics import median

import lakebed
from bench.concurrent import ConcurrentRun, Maker, run_concurrently
from bench.data.one_row import ROW
from bench.figure import Figure, Row, duration, rate, shown
from bench.machine import calm_sync_seconds
from bench.timing import Work
from lakebed.metastore import new_id

PROCESSES, ROUNDS = 4, 3
SECONDS = 2.0
GOAL = 100

NAMESPACE, ONE = "sales", "sales.one"


def set_on_own(folder: Path) -> Work:
    return _setting(_own_table(folder))


def set_on_one(folder: Path) -> Work:
    """Properties are read, changed and written: the loser of a race has to start again."""
    return _setting(_one_table(folder))


def append_to_own(folder: Path) -> Work:
    return _appending(_own_table(folder))


def append_to_one(folder: Path) -> Work:
    return _appending(_one_table(folder))


def measure(folder: Path) -> list[Row]:
    return [
        *_measured(folder / "own", "setting a property, each of its own table", set_on_own),
        *_measured(folder / "one", "setting a property, all of one table", set_on_one, GOAL),
        *_measured(folder / "own", "appending a row, each to its own table", append_to_own),
        *_measured(folder / "one", "appending a row, all to one table", append_to_one, GOAL),
    ]


def _measured(folder: Path, what: str, make: Maker, goal: float | None = None) -> list[Row]:
    _prepare(folder)
    calm_sync_seconds(folder)
    runs = [run_concurrently(PROCESSES, SECONDS, make, folder) for _ in range(ROUNDS)]
    p50, p99 = (median(run.percentile(percent) for run in runs) for percent in (50, 99))
    return [
        rate(what, [run.rate() for run in runs], _failures(runs), at_least=goal),
        duration(f"{what}, p99", p99, f"p50 {shown(p50)}"),
    ]


def _failures(runs: list[ConcurrentRun]) -> str:
    failed = [error for run in runs for error in run.failures]
    done = sum(len(times) for run in runs for times in run.times)
    return f"{len(failed)} of {done + len(failed):,} calls failed" + (f", the first: {failed[0]}" if failed else "")


def _prepare(folder: Path) -> None:
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        if not main.namespace_exists(NAMESPACE):
            main.create_namespace(NAMESPACE)
            main.create_table(ONE, ROW.schema)


def _own_table(folder: Path) -> lakebed.Table:
    return lakebed.connect(folder).catalog().create_table(f"{NAMESPACE}.own_{new_id()}", ROW.schema)


def _one_table(folder: Path) -> lakebed.Table:
    return lakebed.connect(folder).catalog().table(ONE)


def _setting(table: lakebed.Table) -> Work:
    key, numbers = new_id(), count()
    return lambda: table.set_properties({key: f"change {next(numbers)}"})


def _appending(table: lakebed.Table) -> Work:
    return lambda: table.append(ROW)


FIGURE = Figure("catalog-processes", "Four processes that commit through the handles", measure)
