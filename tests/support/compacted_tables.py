"""Small tables of several files that tests compact, and how they look at their rows and files."""

from collections.abc import Callable
from typing import Any, Final

import pyarrow
import pytest

from lakebed.catalog.data.compaction import Compaction
from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.table.manifest.manifest_pb2 import DataFileRef

LINEAGE: Final = ["_row_id", "_last_updated_sequence_number"]
COLUMNS: Final = {"id": "long", "name": "string"}
IN_FILES: Final = {"write.inline-bytes": "0"}


def plain_table(line: Catalog) -> Table:
    """An empty table `s.t` without a key."""
    line.create_namespace("s")
    return line.create_table("s.t", COLUMNS, properties=IN_FILES)


def keyed_table(line: Catalog) -> Table:
    """An empty table `k.t` with one."""
    line.create_namespace("k")
    return line.create_table("k.t", COLUMNS, primary_key=["id"], properties=IN_FILES)


def ids(first: int, last: int) -> pyarrow.Table:
    """Rows from the first id up to the last, which is none of them."""
    return pyarrow.table({"id": range(first, last), "name": [f"n{one}" for one in range(first, last)]})


def fill(table: Table, count: int = 5, each: int = 10) -> None:
    """Append rows in as many commits, each with a file."""
    for one in range(count):
        table.append(ids(one * each, (one + 1) * each))


def rows(table: Table) -> list[tuple[Any, ...]]:
    """All rows with their lineage, in no order."""
    found = table.scan(columns=[*table.schema.names, *LINEAGE]).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def entries(table: Table) -> list[DataFileRef]:
    """The entries of its files."""
    return [one.file for one in table.scan()._plan.files]


def after_making(monkeypatch: pytest.MonkeyPatch, do: Callable[[int], object]) -> list[RowChange | None]:
    """Do something after each time that a compaction has written its files, before its commit; what it has made."""
    made = Compaction.make
    changes: list[RowChange | None] = []

    def make(self: Compaction, work: Work, state: TableState) -> RowChange | None:
        changes.append(made(self, work, state))
        do(len(changes))
        return changes[-1]

    monkeypatch.setattr(Compaction, "make", make)
    return changes
