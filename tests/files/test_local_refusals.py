"""What the system refuses a local folder: one of our errors, and nothing changed, or an outcome that is unknown."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import Forbidden, Invalid, LakebedError, OutcomeUnknown, Unavailable
from lakebed.files import LocalFiles
from lakebed.testing.files import CALLS, Outside


def everything(root: Path) -> list[str]:
    """Each file and folder below the root, temporaries too."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def failing(monkeypatch: pytest.MonkeyPatch, name: str, code: int, when: Callable[..., bool] = lambda *_: True) -> None:
    """Let one call of the system fail as a broken disk would."""
    real = getattr(os, name)

    def call(*arguments: Any, **options: Any) -> Any:
        if when(*arguments):
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, call)


def is_folder(descriptor: int) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def is_file(descriptor: int) -> bool:
    return not is_folder(descriptor)


CODES = {
    errno.EACCES: Forbidden,
    errno.EPERM: Forbidden,
    errno.EROFS: Forbidden,
    errno.ENOSPC: Unavailable,
    errno.EDQUOT: Unavailable,
    errno.EIO: Unavailable,
    errno.EMFILE: Unavailable,
    errno.ENAMETOOLONG: Invalid,
}


@pytest.mark.parametrize("call", ["put", "put_if_absent", "create"])
@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_a_refusal_to_open_means_one_of_our_errors_and_changes_nothing(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    failing(monkeypatch, "open", code)
    with pytest.raises(LakebedError) as caught:
        CALLS[call](files, "a")
    error = caught.value
    assert type(error) is CODES[code]
    assert error.subject == "a"
    assert error.expected
    assert error.advice
    assert error.found == f"{errno.errorcode[code]}: {os.strerror(code)}"
    assert everything(root) == []


@pytest.mark.parametrize("call", ["put", "put_if_absent"])
@pytest.mark.parametrize(
    "name, when", [("write", lambda *_: True), ("fsync", is_file)], ids=["while writing", "while syncing the data"]
)
def test_a_disk_that_fails_before_the_file_is_shown_changes_nothing(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str, when: Callable[..., bool]
) -> None:
    failing(monkeypatch, name, errno.EIO, when)
    with pytest.raises(Unavailable):
        CALLS[call](files, "a")
    assert everything(root) == []


@pytest.mark.parametrize("call", ["put", "put_if_absent", "create", "delete"])
def test_a_disk_that_fails_after_the_change_leaves_its_outcome_unknown(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    if call == "delete":
        files.put("a", b"x")
    failing(monkeypatch, "fsync", errno.EIO, is_folder)
    with pytest.raises(OutcomeUnknown) as caught:
        if call == "create":
            with files.create("a") as file:
                file.write(b"x")
        else:
            CALLS[call](files, "a")
    assert caught.value.subject == "a"
    assert caught.value.advice
    assert everything(root) == ([] if call == "delete" else ["a"])


@pytest.mark.parametrize("name, call", [("link", "put_if_absent"), ("replace", "put"), ("unlink", "delete")])
def test_a_change_whose_own_answer_is_lost_is_unknown_and_one_that_is_refused_is_not(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str
) -> None:
    if call == "delete":
        files.put("a", b"x")
    before = everything(root)
    for code, kind in ((errno.EIO, OutcomeUnknown), (errno.ESTALE, OutcomeUnknown), (errno.EPERM, Forbidden)):
        with monkeypatch.context() as patch:
            failing(patch, name, code)
            with pytest.raises(LakebedError) as caught:
                CALLS[call](files, "a")
        assert type(caught.value) is kind
    assert everything(root) == before


def test_a_new_folder_that_could_not_be_synced_is_not_left_for_the_next_writer(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "fsync", errno.EIO, is_folder)
    with pytest.raises(Unavailable):
        files.put("a/b", b"x")
    assert everything(root) == []


def test_a_file_that_could_not_be_synced_is_to_be_written_again(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.put("a", b"x")
    failing(monkeypatch, "fsync", errno.EIO)
    with pytest.raises(Unavailable, match="under new names"):
        files.sync(["a"])


def test_a_created_file_that_could_not_be_synced_is_removed(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "fsync", errno.EIO, is_file)
    with pytest.raises(Unavailable), files.create("a") as file:
        file.write(b"x")
    assert everything(root) == []


def test_a_file_system_that_writes_in_bits_gets_all_of_it(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    files.put("a", [b"0123456789" * 10, b"", b"abc"])
    monkeypatch.undo()
    assert files.read("a") == b"0123456789" * 10 + b"abc"


def test_a_file_system_that_reads_in_bits_gives_all_of_it(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    files.put("a", b"0123456789" * 10)
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, length, start: real(descriptor, min(length, 7), start))
    assert files.read("a", 5, 90) == (b"0123456789" * 10)[5:95]


def test_a_folder_that_may_not_be_listed_does_not_keep_a_file_below_it_from_being_synced(
    files: LocalFiles, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.path_of(outside("locked/a", b"x"))
    failing(monkeypatch, "open", errno.EACCES, lambda full, *_: os.path.basename(full) == "locked")
    files.sync([path])
    failing(monkeypatch, "open", errno.EIO, lambda full, *_: os.path.basename(full) == "outside")
    with pytest.raises(Unavailable):
        files.sync([path])
