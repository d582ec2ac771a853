"""Many processes on one lake: no append is lost or made twice, and what was acknowledged survives kills. Law 1."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lakebed
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_sources import check_whole
from lakebed.catalog.tables.tables import table_state
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore
from tests.support.examples import examples

# Appends one row at a time, and tells each number once it is committed. A whole line in one write: a kill between two
# writes of `print` would leave half a number that reads like another one.
APPENDER = """
import os, sys
import pyarrow
import lakebed

folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with lakebed.connect(folder, author=f"process {first}") as lake:
    table = lake.catalog().table("t")
    for number in range(first, first + count):
        table.append(pyarrow.table({"id": [number]}))
        os.write(1, b"%d\\n" % number)
"""

# The same with two tables at a time, in transactions, so that a half of one would be seen.
LOADER = """
import os, sys
import pyarrow
import lakebed

folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with lakebed.connect(folder, author=f"process {first}") as lake:
    main = lake.catalog()
    for number in range(first, first + count):
        with main.transaction(f"load {number}") as tx:
            tx.table("t").append(pyarrow.table({"id": [number]}))
            tx.create_table(f"made {number}", {"id": "long"}).append(pyarrow.table({"id": [number]}))
        os.write(1, b"%d\\n" % number)
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        # Its rows are in files, so that a kill may leave some; those of the tables that a loader makes are inline.
        lake.catalog().create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    return folder


@pytest.fixture
def start(folder, tmp_path):
    """Start a process that appends numbers from `first` on; whatever still runs at the end is killed."""
    started = []

    def start(script, first, count):
        root = str(Path(lakebed.__file__).parent.parent)
        with (tmp_path / f"out {first}").open("w") as out, (tmp_path / f"err {first}").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", script, str(folder), str(first), str(count)],
                stdout=out,
                stderr=err,
                env=os.environ | {"PYTHONPATH": root},
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(60)


def told(tmp_path, first):
    """What a process said it had committed: only lines that are whole."""
    return [int(line) for line in (tmp_path / f"out {first}").read_text().split("\n")[:-1]]


def complaints(tmp_path, first):
    return (tmp_path / f"err {first}").read_text()


def rows(table):
    return table.scan().to_arrow()["id"].to_pylist()


def assert_sound(folder, table):
    """The chain of snapshots has no gap, totals are right, every file is whole, and all records agree."""
    chain = table.snapshots()
    assert [one.previous_id for one in chain] == [*(one.id for one in chain[1:]), None]
    assert [one.sequence_number for one in chain] == list(range(len(chain), 0, -1))
    work = table._scope.read()
    files = [one.file for one in plan(work, table_state(work, table.id)).files]
    check_whole(work.context.files, files)
    assert chain[0].totals["files"] == len(files)
    assert chain[0].totals["rows"] == len(rows(table)) == sum(one.num_rows for one in files)
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []


def test_four_processes_that_append_to_one_table_lose_nothing(folder, start, tmp_path):
    """KV-9, P6."""
    processes = {first: start(APPENDER, first, 25) for first in (0, 100, 200, 300)}
    for first, process in processes.items():
        assert process.wait(120) == 0, complaints(tmp_path, first)
    expected = [first + number for first in processes for number in range(25)]
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("t")
        assert sorted(rows(table)) == expected
        for first in processes:
            own = [number for number in rows(table) if first <= number < first + 100]
            assert own == told(tmp_path, first) == sorted(own), "each in its own order"
        assert len(table.snapshots()) == len(table.history()) == 101
        assert_sound(folder, table)


@pytest.mark.parametrize(
    "script",  # a loader appends as well
    [pytest.param(APPENDER, marks=pytest.mark.long, id="appends"), pytest.param(LOADER, id="transactions")],
)
def test_nothing_acknowledged_is_lost_and_nothing_is_half_there_after_kills(folder, start, tmp_path, script):
    """Law 1: three processes are killed (SIGKILL) while they commit, more than once."""
    chance = random.Random(17)
    acknowledged = []
    for turn in range(examples(1, 3)):
        firsts = [1_000_000 * (3 * turn + number) for number in range(3)]
        processes = {first: start(script, first, 1_000_000) for first in firsts}
        while not all(told(tmp_path, first) for first in firsts):
            for first, process in processes.items():
                assert process.poll() is None, complaints(tmp_path, first)
            time.sleep(0.01)
        for first, process in processes.items():
            time.sleep(chance.uniform(0, 0.2))
            assert process.poll() is None, complaints(tmp_path, first)
            process.send_signal(signal.SIGKILL)
        for process in processes.values():
            process.wait(60)
        acknowledged += [number for first in firsts for number in told(tmp_path, first)]
        with lakebed.connect(folder) as lake:
            assert_sound(folder, lake.catalog().table("t"))
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        found = rows(main.table("t"))
        assert len(set(found)) == len(found), "twice"
        assert set(acknowledged) <= set(found), "acknowledged, and lost"
        # Each process had at most one append on its way when it was killed.
        assert len(found) - len(acknowledged) <= 9
        made = {table.name: rows(table) for table in main.tables(prefix="made")}
        assert made == ({f"made {number}": [number] for number in found} if script is LOADER else {})
        main.table("t").append(main.table("t").scan(limit=1).to_arrow())
