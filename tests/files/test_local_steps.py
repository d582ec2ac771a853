"""The order in which a local folder writes, links and syncs, so that a power cut loses nothing that was promised."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import NotFound
from lakebed.files import LocalFiles
from lakebed.testing.files import Outside


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The calls of the system that matter for a power cut, in order, each with the name that it worked on."""
    recorded: list[tuple[str, str]] = []

    def record(name: str, subject: Callable[..., str]) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            shown = subject(*arguments)
            answer = real(*arguments, **options)
            recorded.append((name, shown))
            return answer

        monkeypatch.setattr(os, name, call)

    def short(path: str) -> str:
        base = os.path.basename(path)
        return "temporary" if base.startswith(".tmp-") else base

    record("fsync", lambda descriptor: short(os.readlink(f"/proc/self/fd/{descriptor}")))
    record("write", lambda descriptor, _: short(os.readlink(f"/proc/self/fd/{descriptor}")))
    record("link", lambda source, target: f"{short(source)} → {short(target)}")
    record("replace", lambda source, target: f"{short(source)} → {short(target)}")
    record("unlink", short)
    record("mkdir", lambda folder, *_: short(folder))
    return recorded


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="names of descriptors come from /proc: run this on Linux"
)


@needs_proc
def test_put_if_absent_syncs_the_data_then_links_then_syncs_the_folder(
    files: LocalFiles, root: Path, steps: list[tuple[str, str]]
) -> None:
    (root / "b").mkdir()
    steps.clear()
    files.put_if_absent("b/c", b"x")
    assert steps == [
        ("write", "temporary"),
        ("fsync", "temporary"),
        ("link", "temporary → c"),
        ("unlink", "temporary"),
        ("fsync", "b"),
    ]


@needs_proc
def test_put_syncs_the_data_then_renames_then_syncs_the_folder(
    files: LocalFiles, root: Path, steps: list[tuple[str, str]]
) -> None:
    (root / "b").mkdir()
    steps.clear()
    files.put("b/c", b"x")
    assert steps == [("write", "temporary"), ("fsync", "temporary"), ("replace", "temporary → c"), ("fsync", "b")]


@needs_proc
def test_new_folders_are_synced_in_their_parents_before_anything_is_in_them(
    files: LocalFiles, steps: list[tuple[str, str]]
) -> None:
    files.put_if_absent("a/b/c", b"x")
    assert steps[:4] == [("mkdir", "a"), ("fsync", "lake"), ("mkdir", "b"), ("fsync", "a")]
    assert steps[-1] == ("fsync", "b")


@needs_proc
def test_opening_syncs_the_new_root_in_its_parent(tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    LocalFiles(tmp_path / "a" / "lake")
    assert steps == [("mkdir", "a"), ("fsync", tmp_path.name), ("mkdir", "lake"), ("fsync", "a")]


@needs_proc
def test_a_created_file_and_its_folder_are_synced(files: LocalFiles, root: Path, steps: list[tuple[str, str]]) -> None:
    (root / "b").mkdir()
    steps.clear()
    with files.create("b/c") as file:
        file.write(b"x")
    assert steps == [("fsync", "c"), ("fsync", "b")]


@needs_proc
def test_sync_takes_files_first_and_each_folder_once_up_to_the_root(
    files: LocalFiles, root: Path, steps: list[tuple[str, str]]
) -> None:
    (root / "a" / "bb").mkdir(parents=True)
    for path in ("a/bb/1", "a/bb/2", "a/3"):
        (root / path).write_bytes(b"x")
    steps.clear()
    files.sync(["a/bb/1", "a/bb/2", "a/3"])
    assert steps == [("fsync", name) for name in ("1", "2", "3", "bb", "a", "lake")]


@needs_proc
def test_files_outside_are_synced_with_all_folders_above_them(
    files: LocalFiles, outside: Outside, steps: list[tuple[str, str]]
) -> None:
    paths = [files.path_of(outside(name, b"x")) for name in ("a/bb/1", "a/2")]
    steps.clear()
    files.sync(paths)
    assert [name for _, name in steps][:5] == ["1", "2", "bb", "a", "outside"]
    assert steps[-1] == ("fsync", "")


@needs_proc
def test_sync_does_nothing_when_a_file_is_missing(files: LocalFiles, steps: list[tuple[str, str]]) -> None:
    files.put("a", b"x")
    steps.clear()
    with pytest.raises(NotFound) as caught:
        files.sync(["a", "b"])
    assert caught.value.subject == "b"
    assert steps == []


@needs_proc
def test_deleting_many_syncs_each_folder_once(files: LocalFiles, steps: list[tuple[str, str]]) -> None:
    for path in ("a/1", "a/2", "b/3"):
        files.put(path, b"x")
    steps.clear()
    files.delete_many(["a/1", "b/3", "a/2"])
    assert steps == [("unlink", "1"), ("unlink", "3"), ("unlink", "2"), ("fsync", "a"), ("fsync", "b")]


@needs_proc
def test_deleting_again_makes_an_earlier_delete_durable(files: LocalFiles, steps: list[tuple[str, str]]) -> None:
    files.put("a/1", b"x")
    os.unlink(files.location("a/1"))
    steps.clear()
    files.delete("a/1")
    assert steps == [("fsync", "a")]
