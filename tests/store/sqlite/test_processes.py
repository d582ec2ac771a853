"""The embedded store under many processes, kills, forks and bad disks."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lakebed.errors import TimedOut
from lakebed.store import SQLiteStore, Store
from lakebed.store.sqlite import file
from lakebed.testing.store.steps import put, state
from tests.support.examples import examples

Process = subprocess.Popen[str]
Start = Callable[..., Process]
Finish = Callable[..., str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


def release_all(processes: list[Process]) -> None:
    """Let processes that said that they are ready go on at once, and wait until they are done."""
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err


def counters(store: Store) -> dict[bytes, int]:
    return {key: int(value) for key, value in state(store).items()}


# Many writers


@pytest.mark.long
def test_eight_processes_lose_no_increment(start: Start, path: Path) -> None:
    release_all([start("increment", path, 200) for _ in range(8)])
    with SQLiteStore(path) as store:
        found = counters(store)
        assert found.pop(b"total") == 1600
        assert sum(found.values()) == 1600


def test_eight_threads_lose_no_increment(path: Path) -> None:
    def work() -> None:
        for _ in range(50):
            store.run(lambda transaction: transaction.set(b"n", b"%d" % (int(transaction.get(b"n") or b"0") + 1)))

    with SQLiteStore(path) as store:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counters(store) == {b"n": 400}


def test_eight_processes_that_open_one_new_path_share_one_database(start: Start, tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}" / "deep" / "lake.db"
        release_all([start("create", path) for _ in range(8)])
        with SQLiteStore(path) as store:
            assert counters(store) == {b"total": 8}


# Kills


def test_nothing_acknowledged_is_lost_and_nothing_is_half_visible_after_kills(start: Start, path: Path) -> None:
    acknowledged = {"a": 0, "b": 0}
    for _ in range(examples(8, 50)):
        writers = {name: start("acknowledge", path, name) for name in acknowledged}
        pause = random.uniform(0, 0.06)
        for name, writer in random.sample(list(writers.items()), 2):
            if random.random() < 0.8:
                acknowledged[name] = int(writer.stdout.readline())
            time.sleep(pause)
            writer.send_signal(signal.SIGKILL)
        for name, writer in writers.items():
            said = writer.stdout.read()
            assert not writer.stderr.read()
            whole = [int(line) for line in said.splitlines(keepends=True) if line.endswith("\n")]
            acknowledged[name] = max([acknowledged[name], *whole])
        with SQLiteStore(path) as store:
            found = counters(store)
        for name, least in acknowledged.items():
            first, second = (found.get(f"{name}/{place}".encode(), 0) for place in ("first", "second"))
            assert first == second >= least
            # One more than was said may have been committed, in each round; said or not, it counts from now on.
            acknowledged[name] = first


@pytest.mark.long
def test_a_database_whose_creation_was_killed_is_new_again(start: Start, tmp_path: Path) -> None:
    for calls in range(100):
        path = tmp_path / f"{calls}.db"
        process = start("crash_in_creation", path, calls)
        out, err = process.communicate()
        with SQLiteStore(path) as store:
            put(store, a=b"1")
            assert state(store) == {b"a": b"1"}
        if process.returncode == 0:
            assert out == "made\n"
            break
        assert process.returncode == 9, err
    assert calls > 5


def test_a_stopped_writer_makes_others_time_out_and_a_killed_one_blocks_nobody(start: Start, path: Path) -> None:
    with SQLiteStore(path, lock_seconds=1.0) as store:
        put(store, a=b"1")
        writer = start("stop_in_commit", path)
        assert writer.stdout is not None and writer.stdout.readline() == "stopping\n"
        os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WNOWAIT)
        began = time.monotonic()
        with pytest.raises(TimedOut, match=rf"process {writer.pid} \(stopped\) held the store"):
            put(store, a=b"2")
        took = time.monotonic() - began
        # KV-13 wants the bound within 20 %; the rest is a busy machine's.
        assert 0.8 <= took <= 3.0
        # Readers do not wait, neither those who are there nor those who come.
        assert state(store) == {b"a": b"1"}
        with SQLiteStore(path, lock_seconds=1.0) as other:
            assert state(other) == {b"a": b"1"}
        writer.kill()
        writer.wait()
        put(store, a=b"3")
        assert state(store) == {b"a": b"3"}


# Forks


def test_parent_and_children_go_on_with_one_store_and_lose_nothing(finish: Finish, path: Path) -> None:
    # What it did: the children's commits, acknowledged, went into a WAL that the parent had deleted when it closed.
    finish("fork_and_go_on", path)
    with SQLiteStore(path) as store:
        assert counters(store) == {b"total": 1 + 3 * 40 + 20}


def test_a_transaction_carried_over_a_fork_is_refused_and_the_parent_s_runs_again(finish: Finish, path: Path) -> None:
    # What it did: parent and child both committed a transaction that had only written.
    finish("fork_with_a_snapshot", path)


def test_a_process_may_fork_while_its_threads_commit(finish: Finish, path: Path) -> None:
    finish("fork_beside_threads", path)


def test_a_child_forked_from_inside_sqlite_is_told_and_its_parent_goes_on(finish: Finish, path: Path) -> None:
    finish("fork_inside", path)


def test_a_fork_after_the_folder_went_does_no_harm(finish: Finish, tmp_path: Path) -> None:
    # What it did: the child locked whatever file got the number of the closed lock file next.
    (tmp_path / "lake").mkdir()
    finish("fork_after_the_folder_went", tmp_path / "lake" / "lake.db")


# Bad disks


@pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="needs the right to mount a small disk: run as root",
)
def test_a_full_disk_takes_nothing_and_is_usable_again_when_there_is_room(finish: Finish, path: Path) -> None:
    assert finish("fill", path, before=("unshare", "-m")) == "full, and usable again"


@pytest.mark.parametrize("operation", ["write", "sync"])
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("times", [1, 1000])
def test_a_disk_that_fails_in_a_commit_never_leaves_half_of_it(
    finish: Finish, path: Path, operation: str, after: int, times: int
) -> None:
    outcome, seen = finish("fail", path, operation, after, times).split()
    with SQLiteStore(path) as store:
        found = state(store)
    assert found[b"first"] == found[b"second"]
    if outcome == "committed":
        assert found[b"first"] == b"after"
    if outcome == "unavailable":
        # What it did: a commit whose sync had failed was not there, and was there after the next crash.
        assert seen == "before"
        assert found[b"first"] == b"before"


def test_a_disk_that_fails_once_leaves_no_doubt(finish: Finish, path: Path) -> None:
    assert finish("fail", path, "sync", 0, 1).split()[0] == "unavailable"


def test_a_disk_that_goes_on_failing_leaves_the_outcome_unknown(finish: Finish, path: Path) -> None:
    assert finish("fail", path, "sync", 0, 1000).split()[0] == "outcome_unknown"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_read_only_folder_is_forbidden(finish: Finish, open_folder: Path) -> None:
    os.chmod(open_folder, 0o555)
    assert finish("be_nobody", open_folder / "new.db") == "forbidden"
    assert finish("be_nobody", open_folder / "deep" / "new.db") == "forbidden"


def test_a_database_in_a_read_only_folder_is_forbidden(finish: Finish, open_folder: Path) -> None:
    with SQLiteStore(open_folder / "lake.db") as store:
        put(store, a=b"1")
    os.chmod(open_folder / "lake.db", 0o666)
    os.chmod(open_folder, 0o555)
    assert finish("be_nobody", open_folder / "lake.db") == "forbidden"


def test_a_read_only_database_is_forbidden(finish: Finish, open_folder: Path) -> None:
    with SQLiteStore(open_folder / "lake.db") as store:
        put(store, a=b"1")
    os.chmod(open_folder / "lake.db", 0o444)
    os.chmod(open_folder / "lake.db-lock", 0o666)
    os.chmod(open_folder, 0o777)
    assert finish("be_nobody", open_folder / "lake.db") == "forbidden"
    with SQLiteStore(open_folder / "lake.db") as store:
        assert state(store) == {b"a": b"1"}


# The WAL


@pytest.fixture
def small_wal(monkeypatch: pytest.MonkeyPatch) -> int:
    """The size at which the WAL is to begin anew, and how much it may exceed it."""
    monkeypatch.setattr(file, "_WAL_BYTES", 1_000_000)
    monkeypatch.setattr(file, "_WAL_STEP", 500_000)
    settings = file._SETTINGS.replace("autocheckpoint = 1000", "autocheckpoint = 50")
    monkeypatch.setattr(file, "_SETTINGS", settings.replace("16000000", "500000"))
    return 3_000_000


def test_a_reader_that_another_process_abandoned_does_not_let_the_wal_grow_for_ever(
    start: Start, path: Path, small_wal: int
) -> None:
    # What it did: the WAL grew as long as a process that had begun to read did nothing more.
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        reader = start("abandon_a_reader", path, 0.3)
        assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
        deadline = time.monotonic() + 1.0  # the reader has 0.6 s
        while time.monotonic() < deadline:
            put(store, a=os.urandom(50_000))
        for _ in range(100):
            put(store, a=os.urandom(50_000))
        assert os.stat(f"{path}-wal").st_size < small_wal
        out, err = reader.communicate("go\n")
        assert (out, err) == ("", "")


def test_a_reader_that_was_stopped_is_named_while_the_wal_grows_and_then_it_shrinks(
    start: Start, path: Path, small_wal: int, caplog: pytest.LogCaptureFixture
) -> None:
    # What it did: the WAL had 145 MB after 2,500 commits, and nothing said why.
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        reader = start("abandon_a_reader", path, 5)
        assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
        reader.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, reader.pid, os.WSTOPPED | os.WNOWAIT)
        for _ in range(60):
            put(store, a=os.urandom(50_000))
        assert os.stat(f"{path}-wal").st_size > small_wal
        [warning] = caplog.messages  # one until it has doubled
        assert f"process {reader.pid} (stopped) reads an old state" in warning
        reader.kill()
        reader.wait()
        for _ in range(20):
            put(store, a=os.urandom(50_000))
        assert os.stat(f"{path}-wal").st_size < small_wal


def test_readers_that_follow_on_each_other_do_not_let_the_wal_grow_for_ever(path: Path, small_wal: int) -> None:
    # What it did: with four processes at work there was always a reader, and the WAL grew by 8 MB a second.
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            with store.begin() as transaction:
                transaction.get(b"a")
                time.sleep(0.003)

    with SQLiteStore(path) as store:
        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for _ in range(600):
            put(store, a=os.urandom(20_000))
        size = os.stat(f"{path}-wal").st_size
        done.set()
        for reader in readers:
            reader.join()
    assert size < small_wal
