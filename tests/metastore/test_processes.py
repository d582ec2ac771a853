"""Many processes on one SQLite lake: a name has one winner, and what was acknowledged survives kills."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from lakebed.errors import LakebedError
from lakebed.metastore import Line, RecordsMetastore, new_id
from lakebed.records.check.check import check
from lakebed.records.layout import Attribute
from lakebed.store import SQLiteStore
from lakebed.testing.metastore.writer import Writer, all_pages, root_partition, trunk

CONTEXT = multiprocessing.get_context("spawn")

# Appends to a table, renames it, and makes and drops a table of its own, telling each event id before and after.
COMMITTER = """
import sys
from lakebed.metastore import Line, Operation, RecordsMetastore, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.store import SQLiteStore
from lakebed.testing.metastore.writer import Writer, appending

path, catalog, table, name = sys.argv[1:]
writer = Writer(RecordsMetastore(SQLiteStore(path)), Line(catalog, catalog), name)

def commit(**parts):
    event = new_id()
    print("try", event, flush=True)
    writer.commit(event_id=event, **parts)
    print("ack", event, flush=True)

for number in range(100_000):
    own = new_id()
    commit(lives={own: life(pb.TABLE, writer.line.top, f"{name} {number}")}, data=(appending(table), appending(own, 2)))
    commit(lives={own: writer.life(own, dropped=True)}, data=(appending(table),))
"""


def create(path, catalog, number, barrier, answers):
    writer = Writer(RecordsMetastore(SQLiteStore(path)), Line(catalog, catalog), f"process {number}")
    barrier.wait()
    try:
        answers.put(writer.table("Aa"[number % 2]))
    except LakebedError as error:
        answers.put(error.kind)


def test_of_eight_processes_that_create_one_name_one_succeeds(tmp_path):
    """P2."""
    path = tmp_path / "lake.db"
    writer = Writer(RecordsMetastore(SQLiteStore(path)), trunk())
    barrier, answers = CONTEXT.Barrier(8), CONTEXT.Queue()
    arguments = [(str(path), writer.line.id, number, barrier, answers) for number in range(8)]
    processes = [CONTEXT.Process(target=create, args=each) for each in arguments]
    for process in processes:
        process.start()
    outcomes = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert outcomes.count("already_exists") == 7
    [winner] = [outcome for outcome in outcomes if outcome != "already_exists"]
    assert list(writer.names().values()) == [winner]
    assert len(all_pages(writer.reader().log)) == 1
    writer.metastore.close()


@pytest.mark.long
@pytest.mark.parametrize("turns", [3, pytest.param(6, marks=pytest.mark.long)])
def test_nothing_acknowledged_is_lost_and_nothing_is_half_there_after_kills(tmp_path, turns):
    """Law 1: processes are killed (SIGKILL) while they commit; what they said took effect did, wholly."""
    path = tmp_path / "lake.db"
    store = SQLiteStore(path)
    writer = Writer(RecordsMetastore(store), trunk())
    table = writer.table("shared")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    tried, acknowledged = set(), set()
    errors = tmp_path / "errors"
    for turn in range(turns):
        command = [sys.executable, "-c", COMMITTER, str(path), writer.line.id, table]
        outputs = [tmp_path / f"{turn}-{number}" for number in range(3)]
        processes = []
        for output in outputs:
            with output.open("w") as file, errors.open("a") as complaints:
                started = subprocess.Popen([*command, output.name], stdout=file, stderr=complaints, env=environment)
                processes.append(started)
        while not all("ack" in output.read_text() for output in outputs):
            assert all(process.poll() is None for process in processes), errors.read_text()
            time.sleep(0.01)
        for process in processes:
            time.sleep(random.uniform(0, 0.15))
            assert process.poll() is None, errors.read_text()
            process.send_signal(signal.SIGKILL)
        for process in processes:
            process.wait(30)
        for output in outputs:
            # A kill may cut the last line off (print writes it in parts), so it counts only if it is whole.
            for line in output.read_text().split("\n")[:-1]:
                word, _, event = line.partition(" ")
                (tried if word == "try" else acknowledged).add(event)
        assert check(store) == []
    committed = {commit.id: commit for commit in all_pages(writer.reader().log) if commit.author != "ada"}
    assert acknowledged - set(committed) == set(), "acknowledged, and lost"
    assert set(committed) - tried == set(), "there, and never tried"
    assert len(acknowledged) >= 3 * turns
    versions = {commit.version for commit in committed.values()}
    deltas = all_pages(writer.reader().history, root_partition(table), Attribute.DATA)
    assert {state.version for state in deltas} == versions, "each commit appended once, and nothing else did"
    assert writer.rows(table) == len(versions)
    dropped = all_pages(writer.reader().dropped, writer.line.top)
    children = all_pages(writer.reader().children, writer.line.top)
    made = {row.created for row in dropped} | {row.dropped for row in dropped}
    for child in children:
        if child.id != table:
            [state] = writer.reader().attributes([(child.id, Attribute.LIFE)])
            made.add(state.version)
    assert made == versions, "a table is there, or dropped, for each commit that says so"
    writer.table(new_id())
    writer.metastore.close()
