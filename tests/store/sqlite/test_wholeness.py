"""A database that is not what was committed: missing, replaced, gone back, or a torn copy."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lakebed.errors import Corrupt, NotFound
from lakebed.store import ReadOnlySQLiteStore, SQLiteStore
from lakebed.store.sqlite.note import read_note
from lakebed.testing.store.steps import put, state

Start = Callable[..., "subprocess.Popen[str]"]
STORES = pytest.mark.parametrize("open_store", [SQLiteStore, ReadOnlySQLiteStore])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with three commits."""
    path = tmp_path / "own" / "lake.db"
    with SQLiteStore(path) as store:
        for number in range(3):
            put(store, a=b"%d" % number)
    return path


def left_by_a_kill(path: Path, commits: int) -> None:
    """The files of a process that was killed after these commits: all of them are in the WAL."""
    child = os.fork()
    if not child:
        store = SQLiteStore(path)
        for number in range(commits):
            put(store, **{f"k{number}": bytes(100)})
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def beside(path: Path, suffix: str) -> Path:
    return Path(f"{path}-{suffix}")


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@STORES
@pytest.mark.parametrize("how", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_database_that_was_deleted_or_emptied_is_not_begun_again(
    path: Path, open_store: type[SQLiteStore], how: Callable[[Path], object]
) -> None:
    """What it did: an empty one was created without a word."""
    how(path)
    before = files(path)
    with pytest.raises(Corrupt, match=r"missing or empty.*lake.db-newest.*lake.backup"):
        open_store(path)
    assert files(path) == before


@STORES
def test_a_log_without_its_database_is_not_thrown_away(path: Path, open_store: type[SQLiteStore]) -> None:
    """What it did: SQLite deleted the log, with all commits in it."""
    left_by_a_kill(path, 5)
    path.write_bytes(b"")
    beside(path, "newest").unlink()
    before = files(path)
    with pytest.raises(Corrupt, match="db-wal"):
        open_store(path)
    assert files(path) == before


def test_a_database_whose_files_were_all_deleted_is_begun(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(NotFound):
        ReadOnlySQLiteStore(path)
    with SQLiteStore(path) as store:
        assert state(store) == {}


@STORES
def test_the_database_of_another_store_in_its_place_is_refused(
    path: Path, tmp_path: Path, open_store: type[SQLiteStore]
) -> None:
    """What it did: it was opened, and its data was missing."""
    with SQLiteStore(tmp_path / "other.db") as other:
        for _ in range(9):
            put(other, b=b"2")
    os.replace(tmp_path / "other.db", path)
    with pytest.raises(Corrupt, match=r"it was replaced.*delete .*lake\.db-newest"):
        open_store(path)
    beside(path, "newest").unlink()
    with open_store(path) as store:
        assert state(store) == {b"b": b"2"}


@STORES
def test_a_flipped_bit_in_the_log_of_a_killed_process_is_reported(path: Path, open_store: type[SQLiteStore]) -> None:
    """What it did: the commits after it were gone without a word, and their versions were given out again."""
    left_by_a_kill(path, 20)
    log = bytearray(beside(path, "wal").read_bytes())
    log[len(log) // 2] ^= 4
    beside(path, "wal").write_bytes(log)
    with pytest.raises(Corrupt, match=r"has lost versions \d+ to 23, which were committed .expected version 23, found"):
        open_store(path)


def test_a_loss_is_accepted_by_deleting_the_note(path: Path) -> None:
    left_by_a_kill(path, 20)
    beside(path, "wal").write_bytes(beside(path, "wal").read_bytes()[:9000])
    with pytest.raises(Corrupt, match=r"To go on without these versions, delete .*lake\.db-newest"):
        SQLiteStore(path)
    beside(path, "newest").unlink()
    with SQLiteStore(path) as store:
        left = int.from_bytes(store.read(lambda transaction: transaction.read_stamp))
        assert 3 <= left < 23 and len(state(store)) == left - 3 + 1
        assert store.check() == []
        assert int.from_bytes(put(store, b=b"1").stamp) == left + 1
    SQLiteStore(path).close()


def test_a_store_that_went_back_under_an_open_handle_commits_nothing(path: Path) -> None:
    """The note knows a version that the database does not: somebody put an old copy in its place, in the same file."""
    with SQLiteStore(path) as store:
        for _ in range(4):
            put(store, a=b"newer")
        newer = beside(path, "newest").read_bytes()
    shutil.copyfile(path, path.with_name("newer.db"))
    with SQLiteStore(path) as store:
        put(store, a=b"newest")
        noted = beside(path, "newest").read_bytes()
    assert newer != noted
    path.write_bytes(path.with_name("newer.db").read_bytes())  # in the same file
    beside(path, "newest").write_bytes(newer)
    with SQLiteStore(path) as store:
        beside(path, "newest").write_bytes(noted)
        with pytest.raises(Corrupt, match="has lost version 8, which was"):
            put(store, a=b"again")
        assert any("has lost version 8" in text for text in store.check())


def test_a_snapshot_never_shows_less_than_the_process_has_seen(path: Path) -> None:
    with SQLiteStore(path) as store:
        state(store)
        store._file.seen += 1
        with pytest.raises(Corrupt, match="has lost version 4,"):
            state(store)


# Copies


def test_a_copy_of_a_closed_store_is_used_and_gets_a_note_of_its_own(path: Path, tmp_path: Path) -> None:
    shutil.copytree(path.parent, tmp_path / "copy")
    for _ in range(2):
        with SQLiteStore(tmp_path / "copy" / "lake.db") as copy:
            assert state(copy) == {b"a": b"2"}
    own, theirs = read_note(beside(path, "newest")), read_note(tmp_path / "copy" / "lake.db-newest")
    assert own is not None and theirs is not None and own.id == theirs.id and own.inode != theirs.inode
    with ReadOnlySQLiteStore(tmp_path / "copy" / "lake.db") as copy:
        assert state(copy) == {b"a": b"2"}


def test_a_moved_store_needs_no_scan(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.rename(path.parent, tmp_path / "moved")
    monkeypatch.setattr("lakebed.store.sqlite.wholeness.full_sum", None)
    SQLiteStore(tmp_path / "moved" / "lake.db").close()
    ReadOnlySQLiteStore(tmp_path / "moved" / "lake.db").close()


def test_an_older_copy_of_the_database_alone_is_refused_beside_the_newer_note(path: Path) -> None:
    shutil.copyfile(path, path.with_name("older.db"))
    with SQLiteStore(path) as store:
        put(store, a=b"newer")
    os.replace(path.with_name("older.db"), path)
    with pytest.raises(Corrupt, match="has lost version 4,"):
        SQLiteStore(path)
    beside(path, "newest").unlink()
    SQLiteStore(path).close()


@STORES
def test_a_copy_of_the_log_beside_an_older_copy_of_the_database_is_refused(
    tmp_path: Path, open_store: type[SQLiteStore]
) -> None:
    """What it did: the newest commits were there, and others, which had left the log meanwhile, were not."""
    path, copy = tmp_path / "lake.db", tmp_path / "copy.db"
    with SQLiteStore(path) as store:
        for number in range(3):
            put(store, **{f"first{number}": bytes(3000)})
        copied_into_the_database(store)
        for suffix in ("", "-newest"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        for number in range(3):
            put(store, **{f"first{number}": bytes([number + 1]) * 3000})
        copied_into_the_database(store)
        put(store, last=b"7")
        for suffix in ("-wal", "-shm"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    with pytest.raises(Corrupt, match=r"not those of its newest version, 7.*To copy a lake that is in use, call"):
        open_store(copy)


def copied_into_the_database(store: SQLiteStore) -> None:
    """Empty the log, as SQLite does from time to time."""
    with store._file.borrowed_connection() as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


@pytest.mark.parametrize("copies", [15, pytest.param(200, marks=pytest.mark.long)])
def test_a_copy_made_while_others_write_is_one_version_or_refused(
    path: Path, tmp_path: Path, start: Start, copies: int
) -> None:
    """What it did: 4 of 180 such copies opened as an empty lake, and others mixed pages of different moments."""
    process = start("write_for_ever", path)
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    choose, opened = random.Random(16), 0
    for number in range(copies):
        copy = tmp_path / f"copy{number}"
        noted = torn_copy(path.parent, copy, choose)
        try:
            with SQLiteStore(copy / "lake.db") as store:
                found = state(store)
                stamp = int.from_bytes(store.read(lambda transaction: transaction.read_stamp))
        except Corrupt:
            pass
        else:
            opened += 1
            assert stamp >= noted > 3
            # Each commit writes its own number to all of these, and to a key of its own.
            assert len({found[b"x%d" % key] for key in range(20)}) == 1, (number, found)
            assert len(found) == int(found[b"x0"]) + 21
        shutil.rmtree(copy)
    process.kill()
    assert opened


def torn_copy(folder: Path, copy: Path, choose: random.Random) -> int:
    """Copy file by file, in any order and at any speed; the version that the copied note has."""
    copy.mkdir()
    names = ["lake.db", "lake.db-wal", "lake.db-shm", "lake.db-newest"]
    choose.shuffle(names)
    left_out = choose.choice([None, None, "lake.db-wal", "lake.db-shm"])
    for name in names:
        if name != left_out and (folder / name).exists():
            copy_slowly(folder / name, copy / name, choose)
    noted = read_note(copy / "lake.db-newest")
    return 0 if noted is None else noted.version


def copy_slowly(source: Path, target: Path, choose: random.Random) -> None:
    pause = choose.choice([0.0, 0.0, 0.0005])
    with open(source, "rb") as read, open(target, "wb") as written:
        while part := read.read(40_000):
            written.write(part)
            time.sleep(pause)
