"""Many who raise one counter: every success counts once, and every failure says that it is one; D18."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import lakebed
from lakebed import Conflict
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore

# Tells how many of its attempts succeeded and how many were refused; anything else is an error and ends it.
RAISER = """
import sys
import lakebed

folder, author, attempts = sys.argv[1], sys.argv[2], int(sys.argv[3])
succeeded = refused = 0
with lakebed.connect(folder, author=author) as lake:
    main = lake.catalog()
    for _ in range(attempts):
        try:
            with main.transaction("raise") as tx:
                counter = tx.table("counter")
                counter.set_properties({"count": str(int(counter.properties["count"]) + 1)})
            succeeded += 1
        except lakebed.Conflict:
            refused += 1
print(succeeded, refused)
"""


def raised(line):
    """Raise the counter once; whether that succeeded."""
    try:
        with line.transaction("raise") as tx:
            counter = tx.table("counter")
            counter.set_properties({"count": str(int(counter.properties["count"]) + 1)})
    except Conflict:
        return False
    return True


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "lake"
    with lakebed.connect(folder, author="ada") as lake:
        lake.catalog().create_table("counter", {"id": "long"}, properties={"count": "0"})
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("processes", "attempts"), [(4, 15), pytest.param(16, 100, marks=pytest.mark.long, id="16 processes, 100 each")]
)
def test_processes_that_raise_one_counter_count_every_success_once(folder, processes, attempts):
    root = str(Path(lakebed.__file__).parent.parent)
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", RAISER, str(folder), f"process {number}", str(attempts)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": root},
        )
        for number in range(processes)
    ]
    try:
        told = [process.communicate(timeout=500) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert [(process.returncode, err) for process, (_, err) in zip(started, told, strict=True)] == [(0, "")] * processes
    results = {f"process {number}": [int(one) for one in out.split()] for number, (out, _) in enumerate(told)}
    assert [sum(one) for one in results.values()] == [attempts] * processes
    assert_counted(folder, {author: succeeded for author, (succeeded, _) in results.items()})


def test_threads_that_raise_one_counter_count_every_success_once(folder):
    barrier, results = threading.Barrier(4), {}

    def run(author):
        with lakebed.connect(folder, author=author) as lake:
            barrier.wait()
            results[author] = sum(raised(lake.catalog()) for _ in range(15))

    threads = [threading.Thread(target=run, args=(f"thread {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert_counted(folder, results)


def assert_counted(folder, successes):
    """The counter, the commits and what each version shows agree with what those who raised it were told."""
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        total = sum(successes.values())
        assert total > 0
        assert main.table("counter").properties == {"count": str(total)}
        history = main.table("counter").history()
        assert [main.at(one.version).table("counter").properties["count"] for one in history] == [
            str(number) for number in range(total, -1, -1)
        ]
        signed = [one.author for one in history[:-1]]
        assert {author: signed.count(author) for author in successes} == successes
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []


@pytest.mark.parametrize("first", ["one", "other"])
@pytest.mark.parametrize("reads", ["before the other", "after the other", "after the other's commit"])
def test_of_two_that_overlap_one_commits_whatever_the_order(main, first, reads):
    """D18: every interleaving of two transactions that read a counter and raise it."""
    main.create_table("counter", {"id": "long"}, properties={"count": "0"})
    one, other = (main.transaction(name).__enter__() for name in ("one", "other"))
    winner, loser = (one, other) if first == "one" else (other, one)
    seen = [read(loser)] if reads == "before the other" else []
    seen.append(read(winner))
    if reads == "after the other":
        seen.append(read(loser))
    raise_to(winner, 1)
    winner.__exit__(None, None, None)
    if reads == "after the other's commit":
        seen.append(read(loser))
    assert seen == [0, 0]
    raise_to(loser, 1)
    with pytest.raises(Conflict):
        loser.__exit__(None, None, None)
    assert (winner.committed is not None, loser.committed) == (True, None)
    assert main.table("counter").properties == {"count": "1"}
    assert len(main.table("counter").history()) == 2


def read(tx):
    return int(tx.table("counter").properties["count"])


def raise_to(tx, number):
    tx.table("counter").set_properties({"count": str(number)})
