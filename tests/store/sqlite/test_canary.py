"""A program that copies its own open database: POSIX drops all locks of a process on a file that it closes."""

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lakebed.errors import OutcomeUnknown
from lakebed.store import SQLiteStore, Stale
from lakebed.store.sqlite import ofd
from lakebed.store.sqlite import store as sqlite
from lakebed.store.sqlite.canary import Canary
from lakebed.store.sqlite.read_only import ReadOnlySQLiteStore
from lakebed.testing.store.steps import put, state

Start = Callable[..., "subprocess.Popen[str]"]
pytestmark = pytest.mark.skipif(not ofd.AVAILABLE, reason="this system has no locks of open files (Linux has)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


class Other:
    """Another process with the store open, which does what it is asked, and says how that ended."""

    def __init__(self, start: Start, path: Path) -> None:
        self.process = start("obey", path)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        assert self.ask("count").isdecimal()

    def ask(self, what: str) -> str:
        self._stdin.write(f"{what}\n")
        self._stdin.flush()
        return self._stdout.readline().strip()


def copy(path: Path) -> None:
    for file in path.parent.iterdir():
        with suppress(FileNotFoundError):  # the last connection deletes the log
            file.read_bytes()


def test_a_process_that_copied_its_open_files_was_cut_off_by_the_next_one_to_connect(start: Start, path: Path) -> None:
    """What it did: the next process found no lock, cut `-shm` off (SIGBUS), and deleted the log when it left."""
    first = Other(start, path)
    assert first.ask("put a") == "done"
    for round in range(5):
        assert first.ask(f"copy {path}") == "done"
        with SQLiteStore(path) as second:
            put(second, **{f"b{round}": b"1"})
            assert first.ask("count") == str(2 + 2 * round)
            assert first.ask(f"put c{round}") == "done"
    with SQLiteStore(path) as store:
        assert len(state(store)) == 11
        assert store.check() == []


def test_the_last_other_process_to_close_deleted_the_log_of_one_that_had_copied_its_files(
    start: Start, path: Path
) -> None:
    """What it did: the other one believed itself alone, and the first was `Unavailable` until it connected again."""
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        other = Other(start, path)
        assert other.ask("put b") == "done"
        copy(path)
        assert other.ask("close") == "done"
        assert path.with_name("lake.db-wal").exists()
        put(store, c=b"1")
        assert set(state(store)) == {b"a", b"b", b"c"}
    assert not path.with_name("lake.db-wal").exists()
    with SQLiteStore(path) as store:
        assert set(state(store)) == {b"a", b"b", b"c"}


def test_a_transaction_whose_locks_are_lost_reads_nothing_more(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        transaction = store.begin()
        assert transaction.get(b"a") == b"1"
        copy(path)
        with pytest.raises(Stale):
            transaction.get(b"b")
        transaction.close()
        assert state(store) == {b"a": b"1"}


def test_all_stores_of_a_process_take_their_locks_again(path: Path) -> None:
    with SQLiteStore(path) as one, SQLiteStore(path) as two:
        put(one, a=b"1")
        assert state(one) == state(two)
        copy(path)
        for number, store in enumerate((one, two, one)):
            put(store, **{f"b{number}": b"1"})
            assert len(state(one)) == len(state(two)) == 2 + number
        assert all(store._file._companions.has_locks() for store in (one, two))


def test_a_reader_that_copied_the_files_was_ended_by_the_next_writer(start: Start, path: Path) -> None:
    other = Other(start, path)
    assert other.ask("put a") == "done"
    with ReadOnlySQLiteStore(path) as reader:
        assert state(reader) == {b"a": b"1"}
        copy(path)
        assert not reader._file._companions.has_locks()
        assert state(reader) == {b"a": b"1"}
        assert reader._file._companions.has_locks()


def test_a_commit_during_which_the_files_are_copied_has_an_unknown_outcome(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        end = sqlite._end

        def copied(connection: object) -> None:
            end(connection)  # type: ignore[arg-type]
            copy(path)

        monkeypatch.setattr(sqlite, "_end", copied)
        with pytest.raises(OutcomeUnknown):
            put(store, b=b"1")
        monkeypatch.undo()
        assert state(store) == {b"a": b"1", b"b": b"1"}


def test_threads_go_on_while_another_copies_the_files(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        over = threading.Event()

        def copies() -> None:
            while not over.is_set():
                copy(path)

        def counts() -> None:
            for number in range(50):
                seen.append(len(state(store)) >= 1 and number)

        seen: list[int] = []
        copier = threading.Thread(target=copies)
        readers = [threading.Thread(target=counts) for _ in range(3)]
        for thread in (copier, *readers):
            thread.start()
        for thread in readers:
            thread.join()
        over.set()
        copier.join()
        assert len(seen) == 150


def test_a_store_without_connections_has_no_locks_to_lose(path: Path) -> None:
    assert Canary(path.with_name("lake.db-shm")).is_alive()
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        store._file.at_fork()
        copy(path)
        assert store._file._companions.has_locks()


def test_a_forked_child_leaves_its_parents_presence_alone(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        if not (pid := os.fork()):
            store.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        put(store, b=b"1")
        with SQLiteStore(path) as other:
            assert other._file._companions.presence.others()
