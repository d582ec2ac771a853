"""Two drivers, processes with Spark sessions of their own, load one table at once: every row is there, and once."""

import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

import lakebed
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore

DRIVER = Path(__file__).parent / "loading_driver.py"
DRIVERS = (0, 1)
ROUNDS = 4
SHARED = range(8)
PATIENCE = 500  # seconds after which drivers that do not end are a failure


def appended(driver: int, turn: int) -> range:
    """The ids of rows that nobody else has."""
    first = 1000 * (driver + 1) + 10 * turn
    return range(first, first + 10)


def upserted(driver: int) -> range:
    """The ids that a driver puts in every turn: the shared ones, and some of its own."""
    return range(12) if driver == 0 else range(-4, 8)


def value(driver: int, turn: int) -> int:
    return 100 * (driver + 1) + turn


@pytest.mark.long
def test_two_drivers_load_a_table_at_once_and_every_row_is_there_once(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        properties = {"write.inline-bytes": "0"}
        table = lake.catalog().create_table(
            "t", {"id": "long", "value": "long"}, primary_key=["id"], properties=properties
        )
        table.append(pyarrow.table({"id": list(SHARED), "value": [0] * len(SHARED)}))
        before = len(table.history())
        run_all(folder)
        found = table.scan().to_arrow().to_pylist()
        made = [one.author for one in table.history()]
    rows = {one["id"]: one["value"] for one in found}
    assert len(rows) == len(found)
    own = {id: value(one, turn) for one in DRIVERS for turn in range(ROUNDS) for id in appended(one, turn)}
    own |= {id: value(one, ROUNDS - 1) for one in DRIVERS for id in set(upserted(one)) - set(SHARED)}
    assert {id: one for id, one in rows.items() if id not in SHARED} == own
    [last] = {rows[id] for id in SHARED}  # all of one upsert, the last one
    assert last in {value(one, ROUNDS - 1) for one in DRIVERS}
    assert [made.count(f"driver {one}") for one in DRIVERS] == [2 * ROUNDS] * 2
    assert len(made) == before + 4 * ROUNDS
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []


def run_all(folder: Path) -> None:
    """The drivers, side by side; what one of them says, if it fails."""
    started = [
        subprocess.Popen(
            [sys.executable, str(DRIVER), str(folder), str(one)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for one in DRIVERS
    ]
    try:
        for one in started:
            said, _ = one.communicate(timeout=PATIENCE)
            assert one.returncode == 0, said
    finally:
        for one in started:
            one.kill()
            one.wait()
