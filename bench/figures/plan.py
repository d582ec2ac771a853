"""Planning a scan of a table with many files: which of them may have matching rows."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import lakebed
from bench.data import iceberg_table, synthetic_files
from bench.figure import Figure, Row, duration, ratio, shown
from bench.new_process.run import run
from bench.timing import Pairs, in_turn, seconds

FILES, MANY = 2_000, 1_000_000
ROUNDS, EACH = 5, 7
PROCESSES = 3
PEER = f"pyiceberg {version('pyiceberg')}"


def measure(folder: Path, files: int = FILES, many: int = MANY) -> list[Row]:
    return [*_few(folder, files), *_many(folder / "many", many)]


def _few(folder: Path, files: int) -> list[Row]:
    """Against PyIceberg; the files came in one commit, without a checkpoint."""
    synthetic_files.create(folder / "few", files)
    theirs = iceberg_table.create(
        folder / "iceberg", synthetic_files.SCHEMA, map(synthetic_files.entry, range(files)), folder
    )
    lake = lakebed.connect(folder / "few")
    ours = lake.catalog().table(synthetic_files.NAME)
    rows = []
    for where, what, goal in ((synthetic_files.ID, "one is left", 0.005), (None, "no filter", 0.005)):
        pairs = _against(ours, theirs, where)
        rows += [
            duration(f"plan {files:,} files, {what}, warm", pairs.theirs(), "the median of rounds", at_most=goal),
            ratio(f"plan {files:,} files, {what}, {PEER} / Lakebed", pairs),
        ]
    lake.close()
    return [*rows, _cold_pair(folder, files)]


def _against(ours: lakebed.Table, theirs: Any, where: str | None) -> Pairs:
    chosen = {} if where is None else {"row_filter": where}
    _check_same(len(ours.scan(where)._plan.files), len(list(theirs.scan(**chosen).plan_files())))
    return in_turn(
        _timed(lambda: list(theirs.scan(**chosen).plan_files())),
        _timed(lambda: list(ours.scan(where)._plan.files)),
        rounds=ROUNDS,
        each=EACH,
    )


def _cold_pair(folder: Path, files: int) -> Row:
    """Each in new processes, including opening the table, but not importing Python modules."""
    pairs = in_turn(
        lambda: run("bench.new_process.open_iceberg", folder / "iceberg", synthetic_files.ID)["cold"],
        lambda: run("bench.new_process.open_plan", folder / "few", synthetic_files.ID)["cold"],
        rounds=PROCESSES,
        each=1,
    )
    return ratio(f"open and plan {files:,} files in a new process, {PEER} / Lakebed", pairs)


def _many(folder: Path, files: int) -> list[Row]:
    """Two kinds of filters: one skips whole parts of the checkpoint, one has to look at every part."""
    synthetic_files.create_checkpointed(folder, files)
    rows = []
    for where, what in (
        (synthetic_files.ID, "by a clustered column"),
        (synthetic_files.CUSTOMER, "by a scattered column"),
    ):
        found = [run("bench.new_process.open_plan", folder, where) for _ in range(PROCESSES)]
        cold, warm, memory = (median(result[name] for result in found) for name in ("cold", "warm", "memory"))
        left = f"{found[0]['files']:,} left"
        name = f"plan {files:,} files {what}"
        opened = median(result["opened"] for result in found)
        rows += [
            duration(f"{name}, warm", warm, left, at_most=0.1),
            duration(f"{name}, new process", cold, f"{left}; opening the table {shown(opened)}", at_most=1.0),
            Row(f"{name}, memory", f"{memory / 1e6:,.0f} MB", "what the process has more afterwards"),
        ]
    return rows


def _check_same(ours: int, theirs: int) -> None:
    assert ours == theirs, f"{ours} files are left of ours, {theirs} of theirs"


def _timed(work: Callable[[], object]) -> Callable[[], float]:
    return lambda: seconds(work)


FIGURE = Figure("plan", "Planning a scan of many files", measure, quick=partial(measure, files=800, many=20_000))
