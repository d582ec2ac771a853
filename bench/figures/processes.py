"""Several processes at once: a metastore's commits against the store's, and the store alone."""

import time
from pathlib import Path
from statistics import median

from bench.concurrent import ConcurrentRun, Maker, run_concurrently
from bench.data.floor import write_again
from bench.data.metastore_lake import Lake
from bench.figure import Figure, Row, duration, share, shown
from bench.timing import Work
from lakebed.metastore import new_id
from lakebed.store import SQLiteStore, Transaction
from lakebed.store.conflicts import WriteSet

PROCESSES, ROUNDS = 4, 5
SECONDS = 2.0
THINK = 0.005


def commit(path: Path) -> Work:
    """A metastore's commits, to a table of the process's own."""
    lake = Lake(path)
    table = lake.add_table("own")
    return lambda: lake.commit(lake.set_properties(table, 1))


def think_and_commit(path: Path) -> Work:
    """The same with 5 ms of thinking after reading the newest version."""
    lake = Lake(path)
    table = lake.add_table("own")

    def work() -> None:
        lake.base = lake.metastore.newest()
        time.sleep(THINK)
        lake.commit(lake.set_properties(table, 1))

    return work


def write(path: Path) -> Work:
    """The store's part of `commit`: as many keys and bytes, without reads."""
    store, writes = SQLiteStore(path), _writes_of_a_commit(path)
    return lambda: store.run(lambda transaction: write_again(transaction, writes))


def think_and_write(path: Path) -> Work:
    write_now = write(path)

    def work() -> None:
        time.sleep(THINK)
        write_now()

    return work


def think_inside(path: Path) -> Work:
    """A transaction that reads, thinks for 5 ms, and writes as much as a metastore's commit does."""
    store, writes = SQLiteStore(path), _writes_of_a_commit(path)
    key = new_id().encode()

    def work(transaction: Transaction) -> None:
        transaction.get(key)
        time.sleep(THINK)
        write_again(transaction, writes)

    return lambda: store.run(work)


def _writes_of_a_commit(path: Path) -> WriteSet:
    """The writes of one commit, to a table of the process's own, so that no two processes write the same keys."""
    lake = Lake(path)
    table = lake.add_table("own")
    lake.commit(lake.set_properties(table, 1))
    lake.close()
    return lake.store.last[0]


def measure(folder: Path) -> list[Row]:
    rows = []
    for what, ours, theirs, goal in (
        ("4 processes, each on its own table", commit, write, 0.5),
        ("the same, thinking for 5 ms before each commit", think_and_commit, think_and_write, None),
    ):
        rounds = [
            (_run(folder / f"{ours.__name__}.db", ours), _run(folder / f"{theirs.__name__}.db", theirs))
            for _ in range(ROUNDS)
        ]
        rows.append(_throughput(f"{what} / the bare store", rounds, goal))
        rows.append(_fairness(what, [mine for mine, _ in rounds]))
    return rows


def measure_store(folder: Path) -> list[Row]:
    runs = [_run(folder / "store.db", think_inside) for _ in range(ROUNDS)]
    p50, p99 = (median(run.percentile(percent) for run in runs) for percent in (50, 99))
    commits = median(run.rate() for run in runs)
    return [
        Row("commits by 4 processes", f"{commits:,.0f}/s", f"at most {PROCESSES / THINK:,.0f}/s while all think"),
        duration("p99 of a transaction, thinking included", p99, f"p50 {shown(p50)}"),
        _fairness("4 processes", runs),
    ]


def _run(path: Path, make: Maker) -> ConcurrentRun:
    done = run_concurrently(PROCESSES, SECONDS, make, path)
    assert not done.failures, done.failures[0]
    return done


def _throughput(what: str, rounds: list[tuple[ConcurrentRun, ConcurrentRun]], goal: float | None) -> Row:
    ours, theirs = median(mine.rate() for mine, _ in rounds), median(other.rate() for _, other in rounds)
    detail = f"{ours:,.0f} against {theirs:,.0f} commits/s"
    return share(what, [mine.rate() / other.rate() for mine, other in rounds], detail, at_least=goal)


def _fairness(what: str, runs: list[ConcurrentRun]) -> Row:
    return share(f"{what}: slowest / fastest process", [run.fairness() for run in runs], "commits done")


FIGURES = (
    Figure("store", "The store alone: four processes, each thinking for 5 ms inside its transaction", measure_store),
    Figure("processes", "Four processes that commit to different objects", measure),
)
