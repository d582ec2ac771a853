"""Databases of format 1: upgraded by writers, read as they are by readers."""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lakebed.errors import Corrupt, Unavailable
from lakebed.store import ReadOnlySQLiteStore, SQLiteStore
from lakebed.store.sqlite import format
from lakebed.store.sqlite.checksums import checksummed_vfs
from lakebed.testing.store.steps import put, state

OLD = Path(__file__).parents[2] / "golden" / "lake_format_1.zip"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database of a lake that Lakebed made before format 2."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extract("catalog.db", tmp_path)
    return tmp_path / "catalog.db"


def header(path: Path) -> tuple[int, int]:
    """The format, and the bytes that each page reserves."""
    data = path.read_bytes()
    return int.from_bytes(data[60:64]), data[20]


def test_an_old_database_is_upgraded_when_it_is_opened_for_writing(path: Path) -> None:
    with ReadOnlySQLiteStore(path) as old:
        before, stamp = state(old), old.read(lambda transaction: transaction.read_stamp)
    os.chmod(path, 0o640)
    assert (header(path), len(before) > 20, any(stamp)) == ((1, 0), True, True)
    with SQLiteStore(path) as store:
        assert (state(store), store.read(lambda transaction: transaction.read_stamp)) == (before, stamp)
        assert store.check() == []
        put(store, a=b"1")
        assert store.check() == []
    assert (header(path), path.stat().st_mode & 0o777) == ((2, 8), 0o640)
    with SQLiteStore(path) as store, ReadOnlySQLiteStore(path) as reader:
        assert state(store) == state(reader) == before | {b"a": b"1"}
    assert sorted(file.name for file in path.parent.iterdir()) == ["catalog.db", "catalog.db-lock", "catalog.db-newest"]


def test_a_reader_reads_an_old_database_and_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with ReadOnlySQLiteStore(path) as store:
        assert len(state(store)) > 20
        assert store.check() == []
    assert (path.read_bytes(), os.listdir(path.parent)) == (before, ["catalog.db"])


def test_an_old_database_that_others_have_open_is_not_upgraded_under_them(path: Path) -> None:
    """An older Lakebed would write pages without checksums."""
    old = apsw.Connection(str(path))
    old.execute("BEGIN; SELECT count(*) FROM kv").fetchall()
    with pytest.raises(Unavailable, match="can't be upgraded while another process has it open"):
        SQLiteStore(path, lock_seconds=0.1)
    old.close()
    assert header(path) == (1, 0)
    SQLiteStore(path).close()
    assert header(path) == (2, 8)


@pytest.mark.parametrize("stride", [12, pytest.param(1, marks=pytest.mark.long)])
def test_an_upgrade_that_is_killed_at_any_step_is_completed_by_the_next_one(
    path: Path, start: Start, stride: int
) -> None:
    with ReadOnlySQLiteStore(path) as old:
        before = state(old)
    original = path.read_bytes()
    steps, ended = 0, 9
    while ended == 9:
        for file in path.parent.iterdir():
            file.unlink()
        path.write_bytes(original)
        process = start("crash_in_creation", path, steps)
        process.communicate()
        ended = process.returncode
        with SQLiteStore(path) as store:
            assert state(store) == before
            assert store.check() == []
        assert header(path) == (2, 8)
        assert not Path(f"{path}-upgrade").exists()
        steps += stride
    assert ended == 0 and steps > 3 * stride


def test_a_reader_says_that_an_upgrade_was_interrupted(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", format.BEING_UPGRADED)
    connection.close()
    with pytest.raises(Unavailable, match=r"interrupted.*once with the right to write"):
        ReadOnlySQLiteStore(path)
    SQLiteStore(path).close()
    ReadOnlySQLiteStore(path).close()


def test_a_full_disk_leaves_the_old_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(path: Path) -> None:
        raise apsw.FullError("FullError: database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(format, "_complete", full)
        with pytest.raises(Unavailable, match="the disk is full"):
            SQLiteStore(path)
    assert header(path) == (1, 0) and len(path.read_bytes()) == len(before)
    SQLiteStore(path).close()


def test_a_database_without_room_for_checksums_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "lake.db"
    SQLiteStore(path).close()
    connection = apsw.Connection(str(path), vfs=checksummed_vfs())
    connection.execute(f"PRAGMA journal_mode = delete; VACUUM INTO '{tmp_path}/plain.db'").fetchall()
    connection.close()
    plain = apsw.Connection(f"{tmp_path}/plain.db")
    plain.reserve_bytes(None, 0)
    plain.execute("VACUUM")
    plain.close()
    with pytest.raises(Corrupt):
        SQLiteStore(tmp_path / "plain.db")
