"""Which processes hold a lock on a file."""

import fcntl
import os
from pathlib import Path

import pytest

from lakebed.store.sqlite import holders as module
from lakebed.store.sqlite.holders import READERS, Holder, holders, named


def test_a_process_that_holds_a_lock_is_found(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    assert holders(path) == []
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert holders(path) == [Holder(os.getpid(), "")]
    os.close(descriptor)
    assert holders(path) == [] == holders(tmp_path / "missing")


def test_only_locks_on_the_asked_bytes_count(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, 128)  # as every connection holds it
    assert holders(path) == [Holder(os.getpid(), "")]
    assert holders(path, READERS) == []
    fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, 124)
    assert holders(path, READERS) == [Holder(os.getpid(), "")]
    os.close(descriptor)


def test_a_file_of_another_disk_with_the_same_number_is_not_mistaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, listed = tmp_path / "lock", tmp_path / "locks"
    path.touch()
    listed.write_text(f"1: FLOCK  ADVISORY  WRITE {os.getpid()} fe:00:{path.stat().st_ino} 0 EOF\n")
    monkeypatch.setattr(module, "_LOCKS", listed)
    assert holders(path) == []  # this process does not have it open
    with path.open():
        assert holders(path) == [Holder(os.getpid(), "")]
    monkeypatch.setattr(module, "_LOCKS", tmp_path / "missing")
    assert holders(path) == []


def test_a_message_names_all_or_says_it_in_general() -> None:
    assert named([Holder(7, "stopped"), Holder(8, "")], "a process") == "process 7 (stopped), process 8"
    assert named([], "a process") == "a process"
