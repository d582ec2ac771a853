"""What a catalog does all day, against PyIceberg's SqlCatalog on SQLite: create, load, rename, set a property."""

from collections.abc import Callable
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Protocol

from pyiceberg.catalog.sql import SqlCatalog

import lakebed
from bench.data.one_row import ROW, open_warm
from bench.figure import Figure, Row, ratio
from bench.machine import is_calm
from bench.timing import Work, in_blocks, seconds

WARM_UP = 10
ROUNDS, EACH = 5, 40  # of 200 tables each


class Catalog(Protocol):
    """The same work, done by either. Tables are empty, and have the same columns."""

    def create(self, name: str) -> object: ...

    def load(self, name: str) -> object:
        """Find a table by its name and read what it is: columns and properties."""

    def rename(self, name: str, new_name: str) -> object: ...

    def setting(self, name: str) -> Work:
        """What sets a property of a table that is open."""


class OfLakebed:
    def __init__(self, lake: lakebed.Lake) -> None:
        self._catalog = lake.catalog()

    def create(self, name: str) -> object:
        return self._catalog.create_table(name, ROW.schema)

    def load(self, name: str) -> object:
        table = self._catalog.table(name)
        return table.schema, table.properties

    def rename(self, name: str, new_name: str) -> object:
        return self._catalog.rename_table(name, new_name)

    def setting(self, name: str) -> Work:
        table = self._catalog.table(name)
        return lambda: table.set_properties({"owner": "bench"})


class OfPyIceberg:
    """As it comes: the catalog in a SQLite file, and a JSON file for each version of each table."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
        self._catalog.create_namespace("sales")

    def create(self, name: str) -> object:
        return self._catalog.create_table(name, ROW.schema)

    def load(self, name: str) -> object:
        table = self._catalog.load_table(name)
        return table.schema(), table.properties

    def rename(self, name: str, new_name: str) -> object:
        return self._catalog.rename_table(name, new_name)

    def setting(self, name: str) -> Work:
        table = self._catalog.load_table(name)
        return lambda: table.transaction().set_properties(owner="bench").commit_transaction()

    def close(self) -> None:
        self._catalog.close()


def measure(folder: Path) -> list[Row]:
    lake, iceberg = open_warm(folder / "lake"), OfPyIceberg(folder / "iceberg")
    ours, theirs = _steps(OfLakebed(lake)), _steps(iceberg)

    def calm() -> bool:
        return is_calm(folder)

    rows = []
    for step in ours:
        in_blocks(theirs[step], ours[step], rounds=1, each=WARM_UP)
        pairs = in_blocks(theirs[step], ours[step], rounds=ROUNDS, each=EACH, calm=calm)
        rows.append(ratio(f"{step}, pyiceberg {version('pyiceberg')} / Lakebed", pairs))
    iceberg.close()
    lake.close()
    return rows


def _steps(catalog: Catalog) -> dict[str, Callable[[], float]]:
    """Each handles the next table and returns how long that took; only the first creates tables."""
    names: list[str] = []

    def create(number: int) -> float:
        names.append(f"sales.table_{number}")
        return seconds(lambda: catalog.create(names[-1]))

    def load(number: int) -> float:
        name = names[number % len(names)]
        return seconds(lambda: catalog.load(name))

    def rename(number: int) -> float:
        index = number % len(names)
        old, names[index] = names[index], f"sales.renamed_{number}"
        return seconds(lambda: catalog.rename(old, names[index]))

    def set_property(number: int) -> float:
        return seconds(catalog.setting(names[number % len(names)]))

    steps = {
        "create a table": create,
        "load its columns and properties": load,
        "rename": rename,
        "set a property": set_property,
    }
    return {what: _counted(step) for what, step in steps.items()}


def _counted(step: Callable[[int], float]) -> Callable[[], float]:
    numbers = count()
    return lambda: step(next(numbers))


FIGURE = Figure("catalog", "A catalog's daily work, against PyIceberg's", measure)
