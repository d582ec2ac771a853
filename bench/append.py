"""A durable append of one row against what PyIceberg and deltalake take for it, as they come."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.one_row import ROW, append_to, new_table, open_warm
from bench.timing import in_blocks, in_turn, seconds

BEHIND = 50  # commits to each table before it is measured
ROUNDS, EACH = 5, 10

Append = Callable[[], float]


def measure(folder: Path) -> list[Row]:
    lake = open_warm(folder / "lake")

    def calm() -> bool:
        return is_calm(folder)

    def against(name: str, theirs: Append, goal: float) -> list[Row]:
        ours = append_to(new_table(lake, name))
        in_turn(theirs, ours, rounds=1, each=BEHIND)
        warm = in_blocks(theirs, ours, rounds=ROUNDS, each=EACH, calm=calm)
        cold = in_turn(theirs, ours, rounds=ROUNDS, each=EACH, calm=calm)
        what = f"{name} {version(name)} / Lakebed"
        return [ratio(f"{what}, {EACH} in a row", warm, at_least=goal), ratio(f"{what}, one by one", cold)]

    rows = [
        *against("pyiceberg", _iceberg(folder / "iceberg"), goal=20),
        *against("deltalake", _delta(folder / "delta"), goal=5),
    ]
    lake.close()
    return rows


def _iceberg(folder: Path) -> Append:
    """PyIceberg with its catalog in SQLite: four syncs each, and more to read with each."""
    folder.mkdir()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace("sales")
    table = catalog.create_table("sales.orders", ROW.schema)
    return lambda: seconds(lambda: table.append(ROW))


def _delta(folder: Path) -> Append:
    """deltalake, which syncs nothing."""
    write_deltalake(folder, ROW)
    return lambda: seconds(lambda: write_deltalake(folder, ROW, mode="append"))


FIGURE = Figure("append", "An append of one row of eight columns, against the peers", measure)
