"""Creating a table: life, properties, a schema of eight columns, storage, a first delta, in one commit."""

from pathlib import Path
from time import thread_time

from bench.data.metastore_lake import Lake, new_table
from bench.figure import Figure, Row, duration, shown
from bench.timing import percentile, seconds

WARM_UP, TABLES = 200, 1_500
GOAL = 0.002


def measure(folder: Path) -> list[Row]:
    """With everything that a caller does: get the newest version, make the records, commit."""
    lake = Lake(folder / "lake.db")

    def create(number: int) -> None:
        lake.base = lake.metastore.newest()
        lake.commit(lake.create(new_table(), f"table_{number}"))

    for number in range(WARM_UP):
        create(number)
    busy = thread_time()
    times = [seconds(lambda number=number: create(number)) for number in range(WARM_UP, WARM_UP + TABLES)]
    busy = (thread_time() - busy) / TABLES
    lake.close()
    count = f"of {TABLES:,} creates; processor time {shown(busy)} each, the rest is waiting for the disk"
    return [
        duration("create a table, p50", percentile(times, 50), count, at_most=GOAL),
        duration("create a table, p99", percentile(times, 99), count, at_most=GOAL),
    ]


FIGURE = Figure("create", "Creating a table", measure)
