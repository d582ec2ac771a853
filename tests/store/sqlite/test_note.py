"""The note of the newest version beside a database."""

import json
import os
from pathlib import Path

import pytest

from lakebed.store import SQLiteStore
from lakebed.store.sqlite.note import Newest, Note, home_of, read_note
from lakebed.testing.store.steps import put

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "note.json").read_text())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


@pytest.fixture
def note(path: Path) -> Path:
    return Path(f"{path}-newest")


def version(note: Path) -> int:
    found = read_note(note)
    assert found is not None
    return found.version


def test_the_golden_bytes_of_a_note(path: Path, note: Path) -> None:
    path.touch()
    written, (first, second) = Note(note, path), [Newest(bytes.fromhex(GOLDEN["id"]), *one) for one in GOLDEN["notes"]]
    written.replace(first)
    written.write(second)
    assert note.read_bytes().hex() == GOLDEN["bytes"]
    assert read_note(note) == written.read() == second


def test_each_commit_is_noted_before_it_is_acknowledged(path: Path, note: Path) -> None:
    with SQLiteStore(path) as store, SQLiteStore(path) as other:
        assert version(note) == 0
        for number in range(1, 6):
            put(other if number % 2 else store, a=b"%d" % number)
            assert version(note) == number
        found = read_note(note)
    assert found is not None and (found.filesystem, found.inode) == home_of(path)


def test_a_note_that_is_damaged_in_one_half_is_read_from_the_other(path: Path, note: Path) -> None:
    with SQLiteStore(path) as store:
        for number in range(3):
            put(store, a=b"%d" % number)
    whole = note.read_bytes()
    for at in range(0, len(whole) * 8, 61):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        note.write_bytes(damaged)
        assert version(note) in (2, 3)
        SQLiteStore(path).close()
    note.write_bytes(b"")
    assert read_note(note) is None


def test_a_note_that_was_deleted_while_the_store_is_open_is_written_again(path: Path, note: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        note.unlink()
        put(store, a=b"2")
        assert version(note) == 2


def test_a_note_has_the_rights_of_its_database(path: Path, note: Path) -> None:
    SQLiteStore(path).close()
    note.unlink()
    os.chmod(path, 0o640)
    SQLiteStore(path).close()
    assert note.stat().st_mode & 0o777 == 0o640


def test_a_note_that_can_not_be_written_fails_no_commit(
    path: Path, note: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    with SQLiteStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", fail)
            put(store, a=b"1")
        assert "can't be noted" in caplog.text
        put(store, a=b"2")
    assert version(note) == 2
