"""A commit of a small change against the bare transaction of the same bytes."""

from collections.abc import Callable
from pathlib import Path

from bench.data.floor import FloorDatabase, write_again
from bench.data.metastore_lake import Lake, new_table
from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.timing import Pairs, in_turn, seconds
from lakebed.metastore import Change
from lakebed.store import SQLiteStore

WARM_UP = 300  # commits: past the first wrap of the WAL
ROUNDS, EACH = 5, 120

Calm = Callable[[], bool]


def measure(folder: Path) -> list[Row]:
    lake, floor = Lake(folder / "lake.db"), FloorDatabase(folder / "bare.db")
    store = SQLiteStore(folder / "store.db")
    table = lake.add_table("orders")

    def calm() -> bool:
        return is_calm(folder)

    numbers = iter(range(1_000_000))
    kinds: dict[str, Callable[[], Change]] = {
        "setting properties": lambda: lake.set_properties(table, next(numbers)),
        "an append": lambda: lake.append(table),
        "creating a table": lambda: lake.create(new_table(), f"t{next(numbers)}"),
    }
    rows = []
    for kind, change in kinds.items():
        goal = None if kind == "creating a table" else 2.5
        rows.append(ratio(f"{kind} / bare apsw, same bytes", against_floor(lake, floor, change, calm), at_most=goal))
        rows.append(ratio(f"{kind} / the store alone, same bytes", against_store(lake, store, change, calm)))
    for each in (lake, floor, store):
        each.close()
    return rows


def against_floor(lake: Lake, floor: FloorDatabase, change: Callable[[], Change], calm: Calm) -> Pairs:
    def ours() -> float:
        made = change()
        return seconds(lambda: lake.commit(made))

    def theirs() -> float:
        rows = lake.store.last_rows()
        return seconds(lambda: floor.write(rows))

    in_turn(ours, theirs, rounds=1, each=WARM_UP)
    return in_turn(ours, theirs, rounds=ROUNDS, each=EACH, calm=calm)


def against_store(lake: Lake, store: SQLiteStore, change: Callable[[], Change], calm: Calm) -> Pairs:
    def ours() -> float:
        made = change()
        return seconds(lambda: lake.commit(made))

    def theirs() -> float:
        writes, _ = lake.store.last
        return seconds(lambda: store.run(lambda transaction: write_again(transaction, writes)))

    in_turn(ours, theirs, rounds=1, each=WARM_UP)
    return in_turn(ours, theirs, rounds=ROUNDS, each=EACH, calm=calm)


FIGURE = Figure("commit", "A commit of a small change, against the floor", measure)
