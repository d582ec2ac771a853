"""Tables for export: a lake in a folder, and a table with all that can become of one."""

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pyarrow
import pytest

import lakebed
from lakebed import Field, Lake, Schema, Table
from lakebed.catalog.tables.tables import table_state
from lakebed.iceberg import export_table

IN_FILES = {"write.inline-bytes": "0"}
COLUMNS = [Field("id", "int", required=True), Field("name", "string"), Field("region", "string"), Field("date", "date")]

Export = Callable[[Table], str]


@pytest.fixture(scope="session")
def export() -> Export:
    """Export a table as it is seen by its handle: where its metadata document is."""

    def export(table: Table) -> str:
        work = table._scope.read()
        return export_table(work, table_state(work, table.id))

    return export


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A lake at a path that would trip up whoever quotes where nobody unquotes."""
    with lakebed.connect(tmp_path / "a lake, 100% [ünïcode]") as lake:
        yield lake


@pytest.fixture
def orders(lake: Lake) -> Table:
    """The source document's example, by region and day, with three commits."""
    return make_orders(lake)


@pytest.fixture
def evolved(orders: Table) -> Table:
    return evolve_orders(orders)


def make_orders(lake: Lake) -> Table:
    table = lake.catalog().create_table(
        "orders",
        Schema(COLUMNS),
        partition_by=["region", "day(date)"],
        sort_by=["date desc"],
        primary_key=["id"],
        properties={**IN_FILES, "owner": "ada"},
    )
    for first in (0, 20, 40):
        table.append(rows(first))
    return table


def rows(first: int, count: int = 20) -> pyarrow.Table:
    numbers = range(first, first + count)
    return pyarrow.table(
        {
            "id": pyarrow.array(numbers, pyarrow.int32()),
            "name": [f"name {one}" for one in numbers],
            "region": [("eu", "us", None)[one % 3] for one in numbers],
            "date": [date(2024, 1, 1 + one % 2) for one in numbers],
        }
    )


def evolve_orders(table: Table) -> Table:
    """Rows deleted twice from the same files, columns renamed, added with a default and widened, and another spec."""
    table.delete("id IN (0, 5, 10, 15, 20, 25)")
    table.delete("id IN (6, 25, 30)")
    with table.evolve() as change:
        change.rename_column("name", "label")
        change.add_column("name", "string")  # a name that files know for another column
        change.add_column("score", "long", default=7)
        change.widen_column("id", "long")
    table.append(later_rows(100))
    with table.evolve() as change:
        change.partition_by(["bucket(4, id)", "month(date)"])
    table.append(later_rows(200))
    table.update({"label": "'changed'"}, "id = 200")
    return table


def later_rows(first: int) -> pyarrow.Table:
    return pyarrow.table(
        {
            "id": [first, first + 1],
            "label": ["old", None],
            "name": [None, "new"],
            "region": ["eu", "asia"],
            "date": [date(2024, 2, 1), None],
            "score": [1, None],
        }
    )
