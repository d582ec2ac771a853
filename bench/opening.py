"""Opening a table in a new process: with 100, 10,000 and 100,000 commits behind it, each of which added a file."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import child, fabricated
from bench.figure import Figure, Row, duration, ratio
from bench.timing import in_turn

COMMITS = (100, 10_000, 100_000)
ROUNDS = 5
MEMORY = Path("/dev/shm")

Open = Callable[[Path], float]


def measure(folder: Path, commits: Sequence[int] = COMMITS) -> list[Row]:
    """To plan a read of the newest row costs the deltas since the checkpoint; to count, a look at every file."""
    places = _grown(folder, commits)
    return [
        *_compared("open and plan a read of the last row", places, _planned),
        *_compared("open and count all rows", places, _counted),
    ]


def _grown(folder: Path, commits: Sequence[int]) -> dict[int, Path]:
    """One table, copied on its way; checkpoints are written as they come.

    It grows in memory, where that is to be had: a hundred thousand commits would wait for the disk for minutes.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY if MEMORY.is_dir() else folder) as place:
        growing, done = Path(place, "lake"), 1
        fabricated.create(growing, done)
        for many in commits:
            fabricated.append_one_by_one(growing, range(done, many))
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
    last = int(place.name) * fabricated.ROWS - 1
    found = child.run("bench.open_plan", place, f"id = {last}")
    assert found["files"] == 1, found
    return float(found["cold"])


def _counted(place: Path) -> float:
    found = child.run("bench.open_count", place)
    assert found["rows"] == int(place.name) * fabricated.ROWS, found
    return float(found["seconds"])


FIGURE = Figure("open", "Opening a table in a new process", measure, quick=partial(measure, commits=(50, 400)))
