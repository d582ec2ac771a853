"""Tables of PyIceberg and deltalake with their default settings, to append one row to."""

from collections.abc import Callable
from pathlib import Path

from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from bench.data.one_row import ROW
from bench.timing import seconds

Append = Callable[[], float]


def new_iceberg(folder: Path) -> Append:
    """PyIceberg with its catalog in SQLite: four syncs for each append, and each has more to read."""
    folder.mkdir()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace("sales")
    table = catalog.create_table("sales.orders", ROW.schema)
    return lambda: seconds(lambda: table.append(ROW))


def new_delta(folder: Path) -> Append:
    """deltalake, which syncs nothing."""
    write_deltalake(folder, ROW)
    return lambda: seconds(lambda: write_deltalake(folder, ROW, mode="append"))
