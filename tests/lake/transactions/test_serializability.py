"""Law 3: what several real processes did to one lake is as if they had worked one by one, whatever is killed meanwhile.

And the same work on a lake that does not look at what was read is found out: else the checks above would mean nothing.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import lakebed
from lakebed import Conflict, NotFound
from lakebed.metastore.change import AttributeRead, DataRead, ListingRead
from lakebed.metastore.records.validation import validate
from tests.support.histories.anomalies import Anomaly
from tests.support.histories.histories import Outcome, Write
from tests.support.histories.recorder import Recorder, read_history
from tests.support.histories.replay import replay
from tests.support.histories.serializability import check
from tests.support.histories.workloads import FULL, Worker, look, prepare


@pytest.fixture
def folder(tmp_path):
    """A lake with what the processes work on."""
    folder = tmp_path / "lake"
    with recording(folder, tmp_path / "0.history", "setup") as recorder:
        prepare(recorder)
    return folder


@contextmanager
def recording(folder, path, process):
    with lakebed.connect(folder, author=process) as lake, Recorder(lake.catalog(), path, process) as recorder:
        yield recorder


@pytest.fixture
def history(folder, tmp_path):
    """All that was recorded, with a last look at everything."""

    def history():
        with recording(folder, tmp_path / "last.history", "end") as recorder:
            with recorder.transaction() as transaction:
                look(transaction)
            return read_history(sorted(tmp_path.glob("*.history")), recorder.catalog)

    return history


@pytest.fixture
def start(folder, tmp_path):
    """Start a process that works on the lake; whatever still runs at the end is killed."""
    started = []

    def start(process, count):
        root = str(Path(lakebed.__file__).parent.parent)
        arguments = [str(folder), str(tmp_path / f"{process}.history"), process, str(count)]
        with (tmp_path / f"{process}.err").open("w") as errors:
            running = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.support.histories.workloads", *arguments],
                stderr=errors,
                env=os.environ | {"PYTHONPATH": root},
            )
        started.append(running)
        return running

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(60)


def run_all(start, tmp_path, names, count):
    running = {name: start(name, count) for name in names}
    for name, process in running.items():
        assert process.wait(300) == 0, (tmp_path / f"{name}.err").read_text()


def run_and_kill(start, tmp_path, names, chance):
    """Let processes work until each has made some transactions, and kill them one by one, at any moment."""
    running = {name: start(name, 1_000_000) for name in names}
    while not all(lines(tmp_path / f"{name}.history") > 8 for name in names):
        for name, process in running.items():
            assert process.poll() is None, (tmp_path / f"{name}.err").read_text()
        time.sleep(0.01)
    for name, process in running.items():
        time.sleep(chance.uniform(0, 0.3))
        assert process.poll() is None, (tmp_path / f"{name}.err").read_text()
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def commits(history):
    """The transactions that changed something."""
    return [
        one
        for one in history
        if one.outcome is Outcome.COMMITTED and any(isinstance(done, Write) for done in one.operations)
    ]


def assert_serializable(history):
    assert "\n".join(map(str, check(history))) == ""
    assert "\n".join(map(str, replay(history))) == ""


def test_the_history_of_four_processes_is_serializable(start, history, folder, tmp_path):
    run_all(start, tmp_path, ["p1", "p2", "p3", "p4"], 25)
    recorded = history()
    assert len([one for one in recorded if one.process.startswith("p")]) == 4 * 2 * 25
    assert {one.process for one in commits(recorded)} == {"setup", "p1", "p2", "p3", "p4"}
    assert_serializable(recorded)
    with lakebed.connect(folder) as lake:
        assert len(lake.catalog().tables("made")) <= FULL


@pytest.mark.long
def test_the_history_is_serializable_though_processes_are_killed(start, history, folder, tmp_path):
    chance = random.Random(29)
    for turn in range(2):
        run_and_kill(start, tmp_path, [f"p{turn}{number}" for number in range(3)], chance)
    run_all(start, tmp_path, ["after"], 5)
    recorded = history()
    assert_serializable(recorded)
    assert_all_told_is_there(folder, recorded)


@pytest.mark.long
def test_a_long_history_is_serializable(start, history, folder, tmp_path):
    chance = random.Random(31)
    for turn in range(4):
        run_and_kill(start, tmp_path, [f"k{turn}{number}" for number in range(4)], chance)
        run_all(start, tmp_path, [f"p{turn}{number}" for number in range(4)], 20)
    recorded = history()
    assert len(commits(recorded)) > 100
    assert_serializable(recorded)
    assert_all_told_is_there(folder, recorded)


def assert_all_told_is_there(folder, history):
    """What a process was told is in the log, at that version; what it was told failed is not."""
    with lakebed.connect(folder) as lake:
        log = {commit.message: int(commit.version) for commit in lake.catalog().log()}
    for one in history:
        if one.version is not None:
            assert log[one.name] == one.version
        elif len(one.operations) > 1:
            assert one.name not in log


# What two transactions do; the second commits while the first is open. And how it is called if both commit.
RACES = {
    "each reads a property and sets the other's": (
        Anomaly.G2,
        lambda one: (one.property("a", "colour"), one.set_property("b", "colour", "1")),
        lambda two: (two.property("b", "colour"), two.set_property("a", "colour", "2")),
    ),
    "both set a property that they read": (
        Anomaly.LOST_UPDATE,
        lambda one: (one.property("a", "colour"), one.set_property("a", "colour", "1")),
        lambda two: (two.property("a", "colour"), two.set_property("a", "colour", "2")),
    ),
    "both add a word": (
        Anomaly.LOST_UPDATE,
        lambda one: one.add_word("a", "words", "1"),
        lambda two: two.add_word("a", "words", "2"),
    ),
    "each reads a table and appends to the other": (
        Anomaly.G2,
        lambda one: (one.rows("a"), one.add_row("b", "1", "left")),
        lambda two: (two.rows("b"), two.add_row("a", "2", "left")),
    ),
    "each reads a part of a table and appends to the other": (
        Anomaly.G_SINGLE,  # the order of the two appends is known: one table has both
        lambda one: (one.rows("a", "left"), one.add_row("a", "1", "right")),
        lambda two: (two.rows("a", "right"), two.add_row("a", "2", "left")),
    ),
    "each reads a table's rows and a property that the other changes": (
        Anomaly.G2,
        lambda one: (one.rows("a"), one.set_property("b", "colour", "1")),
        lambda two: (two.property("b", "colour"), two.add_row("a", "2", "left")),
    ),
    "both create a table after they have counted": (
        Anomaly.G2,
        lambda one: (one.names("made"), one.create("made", "1")),
        lambda two: (two.names("made"), two.create("made", "2")),
    ),
    "each renames a table after it has read two names": (
        Anomaly.G2,
        lambda one: (one.names_by_id("named"), one.rename("named", "first", "1")),
        lambda two: (two.names_by_id("named"), two.rename("named", "second", "2")),
    ),
    "both rename the same table": (
        Anomaly.LOST_UPDATE,
        lambda one: (one.names_by_id("named"), one.rename("named", "first", "1")),
        lambda two: (two.names_by_id("named"), two.rename("named", "first", "2")),
    ),
}


def race(folder, tmp_path, first, second):
    """Run the second in the middle of the first, on a connection of its own."""
    with (
        recording(folder, tmp_path / "1.history", "one") as ones,
        recording(folder, tmp_path / "2.history", "two") as twos,
        ones.transaction() as one,
    ):
        first(one)
        with twos.transaction() as two:
            second(two)


@pytest.mark.parametrize("name", RACES)
def test_the_first_of_two_that_race_is_refused(folder, history, tmp_path, name):
    _, first, second = RACES[name]
    with pytest.raises(Conflict):
        race(folder, tmp_path, first, second)
    recorded = history()
    assert {one.name: one.outcome for one in recorded if one.process in ("one", "two")} == {
        "one.1": Outcome.ABORTED,
        "two.1": Outcome.COMMITTED,
    }
    assert_serializable(recorded)


@pytest.fixture
def broken(monkeypatch):
    """Commits that no longer look at whether what they read has changed."""
    monkeypatch.setattr("lakebed.metastore.records.commit.validate", lambda *_: None)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("name", RACES)
def test_a_lake_that_does_not_look_at_what_was_read_is_found_out(folder, history, tmp_path, name):
    anomaly, first, second = RACES[name]
    race(folder, tmp_path, first, second)
    recorded = history()
    found = [finding for finding in check(recorded) if finding.anomaly is anomaly]
    assert [sorted(finding.transactions) for finding in found] == [["one.1", "two.1"]]
    assert Anomaly.VERSIONS in {finding.anomaly for finding in check(recorded)}
    assert replay(recorded) != []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (AttributeRead, "each reads a property and sets the other's"),
        (DataRead, "each reads a part of a table and appends to the other"),
        (ListingRead, "both create a table after they have counted"),
    ],
)
def test_a_lake_that_forgets_one_kind_of_read_is_found_out(folder, history, tmp_path, monkeypatch, kind, name):
    def forgetful(transaction, heads, change):
        kept = tuple(one for one in change.reads if not isinstance(one, kind))
        validate(transaction, heads, replace(change, reads=kept))

    monkeypatch.setattr("lakebed.metastore.records.commit.validate", forgetful)
    anomaly, first, second = RACES[name]
    race(folder, tmp_path, first, second)
    assert anomaly in {finding.anomaly for finding in check(history())}


def work_in_step(folder, tmp_path, rounds):
    """Four workers on connections of their own: all begin a transaction before any commits, again and again."""
    barrier = threading.Barrier(4, timeout=60)
    failures = []

    def work(process):
        try:
            with recording(folder, tmp_path / f"{process}.history", process) as recorder:
                Worker(recorder, process, barrier.wait).run(rounds)
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert failures == []


def test_workers_that_all_overlap_are_serializable(folder, history, tmp_path):
    work_in_step(folder, tmp_path, 10)
    recorded = history()
    assert Outcome.ABORTED in {one.outcome for one in recorded}
    assert_serializable(recorded)


@pytest.mark.usefixtures("broken")
def test_the_same_workers_on_a_broken_lake_are_found_out(folder, history, tmp_path):
    work_in_step(folder, tmp_path, 10)
    recorded = history()
    assert {one.outcome for one in recorded} == {Outcome.COMMITTED}
    found = {finding.anomaly for finding in check(recorded)}
    assert Anomaly.LOST_UPDATE in found
    assert found & {Anomaly.G0, Anomaly.G1C, Anomaly.G_SINGLE, Anomaly.G2}, "a cycle, by its worst name"


def test_a_transaction_that_fails_is_recorded_as_aborted(folder, history, tmp_path):
    with (
        recording(folder, tmp_path / "1.history", "one") as recorder,
        pytest.raises(NotFound),
        recorder.transaction() as transaction,
    ):
        transaction.set_property("a", "colour", "red")
        transaction.rows("nothing of this name")
    [failed] = [one for one in history() if one.process == "one"]
    assert (failed.outcome, failed.version, len(failed.operations)) == (Outcome.ABORTED, None, 1)


def test_a_transaction_without_an_answer_is_looked_up_in_the_log(folder, history, tmp_path):
    path = tmp_path / "1.history"
    with recording(folder, path, "one") as recorder:
        for colour in ("red", "blue"):
            with recorder.transaction() as transaction:
                transaction.set_property("a", "colour", colour)
    red, answer, blue, _ = path.read_text().splitlines(keepends=True)
    lost = blue.replace('"event": "', '"event": "0')  # no commit has this id
    path.write_text(red + lost)
    first, second = [one for one in history() if one.process == "one"]
    assert (first.outcome, first.ended, f'"version": {first.version}' in answer) == (Outcome.COMMITTED, None, True)
    assert (second.outcome, second.ended, second.version) == (Outcome.ABORTED, None, None)
