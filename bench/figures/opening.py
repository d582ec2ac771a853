"""Opening a table in a new process: with 100, 10,000 and 100,000 commits behind it, each of which added a file."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.data import synthetic_files
from bench.figure import Figure, Row, duration, ratio
from bench.new_process.run import run
from bench.timing import in_turn

COMMITS = (100, 10_000, 100_000)
ROUNDS = 5
MEMORY = Path("/dev/shm")

Open = Callable[[Path], float]


def measure(folder: Path, commits: Sequence[int] = COMMITS) -> list[Row]:
    """Planning a read of the newest row costs the deltas since the checkpoint; a count looks at every file."""
    places = _grow(folder, commits)
    return [
        *_compared("open and plan a read of the last row", places, _planned),
        *_compared("open and count all rows", places, _counted),
    ]


def _grow(folder: Path, commits: Sequence[int]) -> dict[int, Path]:
    """One table, copied at each of these numbers of commits; checkpoints are written as usual.

    It grows in memory if possible: a hundred thousand commits would wait for the disk for minutes.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY if MEMORY.is_dir() else folder) as place:
        growing, done = Path(place, "lake"), 1
        synthetic_files.create(growing, done)
        for many in commits:
            synthetic_files.append_one_by_one(growing, range(done, many))
            done = many
            shutil.copytree(growing, folder / str(many))
    return {many: folder / str(many) for many in commits}


def _compared(what: str, places: dict[int, Path], opened: Open) -> list[Row]:
    fewest, *more = places
    rows = []
    for many in more:
        pairs = in_turn(partial(opened, places[many]), partial(opened, places[fewest]), rounds=ROUNDS, each=1)
        rows += [
            duration(f"{what}, {many:,} commits behind", pairs.ours(), f"the median of {ROUNDS} processes"),
            ratio(f"{what}, {many:,} commits behind / {fewest:,}", pairs),
        ]
    return rows


def _planned(place: Path) -> float:
    last = int(place.name) * synthetic_files.ROWS - 1
    found = run("bench.new_process.open_plan", place, f"id = {last}")
    assert found["files"] == 1, found
    return float(found["cold"])


def _counted(place: Path) -> float:
    found = run("bench.new_process.open_count", place)
    assert found["rows"] == int(place.name) * synthetic_files.ROWS, found
    return float(found["seconds"])


FIGURE = Figure("open", "Opening a table in a new process", measure, quick=partial(measure, commits=(50, 400)))
