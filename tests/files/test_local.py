"""What a local folder adds to the suite: races, links, files outside it, sweeping."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import AlreadyExists, Invalid, NotFound, Unavailable
from lakebed.files import LocalFiles
from lakebed.testing.files import CALLS, FilesSuite, Outside, paths_of


class TestLocalFiles(FilesSuite):
    pass


def everything(root: Path) -> list[str]:
    """Each file and folder below the root, temporaries too."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


# Opening


def test_opening_makes_the_folder(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "a" / "b c")
    assert (tmp_path / "a" / "b c").is_dir()
    assert files.url == f"file://{tmp_path}/a/b%20c"
    assert files.location("d/e") == f"{tmp_path}/a/b c/d/e"


@pytest.mark.parametrize("root", ["file", "file/below"])
def test_a_root_that_is_a_file_is_refused(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(Invalid) as caught:
        LocalFiles(tmp_path / root)
    assert caught.value.subject == f"{tmp_path}/{root}"
    assert (tmp_path / "file").read_bytes() == b"x"


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    LocalFiles(tmp_path / "link").put("a", b"x")
    assert (tmp_path / "real" / "a").read_bytes() == b"x"


@pytest.mark.parametrize("call", [name for name in CALLS if name != "location"])
def test_a_root_that_is_gone_is_not_an_empty_lake(files: LocalFiles, root: Path, call: str) -> None:
    root.rmdir()
    with pytest.raises(Unavailable, match="mounted"):
        CALLS[call](files, "a/b")
    assert not root.exists()


def test_a_root_that_is_gone_is_not_listed_or_swept_as_empty(files: LocalFiles, root: Path) -> None:
    root.rmdir()
    for work in (lambda: list(files.list()), lambda: list(files.list("a/")), lambda: files.sweep_temporaries(0)):
        with pytest.raises(Unavailable, match="mounted"):
            work()


# Races


@pytest.mark.parametrize("rounds", [30])
def test_of_16_threads_that_put_one_path_exactly_one_wins(files: LocalFiles, rounds: int) -> None:
    barrier = threading.Barrier(16)

    def put(me: int) -> list[int]:
        won = []
        for turn in range(rounds):
            barrier.wait()
            try:
                files.put_if_absent(f"race/{turn}/slot", (bytes([me]) * 5000 for _ in range(4)))
            except AlreadyExists:
                continue
            won.append(turn)
        return won

    with ThreadPoolExecutor(16) as pool:
        winners = {me: set(won) for me, won in enumerate(pool.map(put, range(16)))}
    for turn in range(rounds):
        (winner,) = [me for me, won in winners.items() if turn in won]
        assert files.read(f"race/{turn}/slot") == bytes([winner]) * 20_000
    assert not [path for path in everything(Path(files.root)) if ".tmp-" in path]


def test_readers_see_the_old_or_the_new_file_while_it_is_replaced(files: LocalFiles) -> None:
    files.put("head", b"0" * 100_000)
    done = threading.Event()

    def replace() -> None:
        for turn in range(1, 60):
            files.put("head", [b"%d" % (turn % 10) * 50_000] * 2)
        done.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(replace)
        while not done.is_set() and not writing.done():
            content = files.read("head")
            assert len(content) == 100_000
            assert len(set(content)) == 1
        writing.result()


def test_a_loser_that_saw_a_free_path_leaves_the_winner_alone(files: LocalFiles, root: Path) -> None:
    def overtaken() -> Iterator[bytes]:
        yield b"loser"
        files.put_if_absent("a", b"winner")

    with pytest.raises(AlreadyExists):
        files.put_if_absent("a", overtaken())
    assert files.read("a") == b"winner"
    assert everything(root) == ["a"]


# Links and other things that are not plain files


@pytest.mark.parametrize("call", [name for name in CALLS if name != "location"])
@pytest.mark.parametrize("path", ["out/secret", "in/file", "file", "nowhere", "chain/secret"])
def test_a_link_below_the_root_is_refused_by_every_call(
    files: LocalFiles, root: Path, tmp_path: Path, call: str, path: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    files.put("plain/file", b"x")
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to("plain")
    (root / "file").symlink_to(outside / "secret")
    (root / "nowhere").symlink_to(outside / "absent")
    (root / "chain").symlink_to("out")
    with pytest.raises(Invalid) as caught:
        CALLS[call](files, path)
    assert (caught.value.subject, caught.value.found) == (path, f"a link at {root}/{path.split('/')[0]}")
    assert everything(outside) == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"
    assert files.read("plain/file") == b"x"


def test_links_are_neither_listed_nor_entered_nor_swept(files: LocalFiles, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / ".tmp-1").write_bytes(b"x")
    files.put("a/file", b"x")
    (root / "a" / "out").symlink_to(tmp_path / "outside")
    (root / "a" / "round").symlink_to(root)
    (root / ".tmp-link").symlink_to(tmp_path / "outside" / ".tmp-1")
    assert paths_of(files.list()) == ["a/file"]
    with pytest.raises(Invalid):
        files.list("a/out/")
    assert files.sweep_temporaries(0) == 0
    assert (tmp_path / "outside" / ".tmp-1").exists()


def test_what_no_call_accepts_is_not_listed(files: LocalFiles, root: Path) -> None:
    files.put("good", b"x")
    os.mkfifo(root / "pipe")
    for name in (b"back\\slash", b"new\nline", b"latin-\xe9", b".tmp-1"):
        (root / os.fsdecode(name)).write_bytes(b"x")
    (root / ".tmp-folder").mkdir()
    (root / ".tmp-folder" / "a").write_bytes(b"x")
    assert paths_of(files.list()) == ["good"]
    with pytest.raises(NotFound):
        files.read("pipe")  # and does not wait for a writer
    with pytest.raises(Invalid):
        files.put("pipe", b"x")


@pytest.mark.parametrize("call", ["put", "put_if_absent", "create"])
@pytest.mark.parametrize("path", ["folder", "folder/file/below", "folder/file/far/below"])
def test_a_path_is_a_file_or_a_folder(files: LocalFiles, root: Path, call: str, path: str) -> None:
    files.put("folder/file", b"x")
    with pytest.raises(Invalid) as caught:
        CALLS[call](files, path)
    assert caught.value.subject == path
    assert everything(root) == ["folder", "folder/file"]


# Files outside the root


def test_a_file_is_one_file_on_whatever_way_it_is_named(
    files: LocalFiles, root: Path, outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = outside("folder/a b", b"x")
    (tmp_path / "link").symlink_to("outside/folder")
    (tmp_path / "file link").symlink_to("link/a b")
    monkeypatch.chdir(tmp_path / "outside")
    names = ["folder/a b", "./folder/../folder/a b", "../link/a b", "../file link", full, f"//{full}"]
    urls = [f"file://{full}", f"file://{tmp_path}/link/a%20b", f"file://{tmp_path}/outside/folder/%61%20b"]
    assert {files.path_of(one) for one in [*names, *urls]} == {f"file://{tmp_path}/outside/folder/a%20b"}
    files.put("inside/c", b"x")
    (tmp_path / "outside" / "in").symlink_to(root)
    (root / "there").symlink_to("inside")
    names = ["../lake/inside/c", "in/inside/c", "in/there/c", f"file://{root}/inside/c", f"{root}/inside/c"]
    assert {files.path_of(one) for one in names} == {"inside/c"}
    (root / "out").symlink_to(tmp_path / "outside")
    assert files.path_of(f"{root}/out/folder/a b") == f"file://{tmp_path}/outside/folder/a%20b"


@pytest.mark.parametrize("name", ["", "a\0b", "/", "file:///", "s3://bucket/a", "file://host/a", "a\udc80", "a\\b"])
def test_what_names_no_file_has_no_path(files: LocalFiles, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        files.path_of(name)
    str(caught.value).encode()


def test_a_file_outside_may_have_moved_behind_a_link(files: LocalFiles, outside: Outside, tmp_path: Path) -> None:
    path = files.path_of(outside("folder/a", b"moved"))
    (tmp_path / "outside" / "folder").rename(tmp_path / "elsewhere")
    assert not files.exists(path)
    (tmp_path / "outside" / "folder").symlink_to(tmp_path / "elsewhere")
    assert files.read(path) == b"moved"
    files.sync([path])


def test_a_pipe_outside_is_no_file(files: LocalFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotFound):
        files.read(files.path_of(str(tmp_path / "pipe")))  # and does not wait for a writer


# Sweeping


def test_a_folder_is_deleted_with_the_empty_ones_in_it(files: LocalFiles, root: Path, tmp_path: Path) -> None:
    files.put("a/b/1", b"x")
    files.put("c", b"x")
    (root / "a" / "d" / "e").mkdir(parents=True)
    assert files.delete_folder("a") == []
    assert everything(root) == ["c"]


def test_what_is_linked_in_a_folder_outlives_it(files: LocalFiles, root: Path, tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "file").write_bytes(b"x")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "link").symlink_to(tmp_path / "others")
    (root / "link").symlink_to(tmp_path / "others")
    assert files.delete_folder("a") == []
    with pytest.raises(Invalid, match="link"):
        files.delete_folder("link")
    assert everything(root) == ["a", "a/link", "link"]
    assert (tmp_path / "others" / "file").read_bytes() == b"x"


def test_a_sweep_removes_old_temporaries_alone(files: LocalFiles, root: Path) -> None:
    files.put("a/file", b"x")
    (root / "a" / ".tmp-old").write_bytes(b"x")
    (root / "a" / ".tmp-new").write_bytes(b"x")
    os.utime(root / "a" / ".tmp-old", (0, 0))
    os.utime(root / "a" / "file", (0, 0))
    assert paths_of(files.list()) == ["a/file"]
    assert files.sweep_temporaries(3600) == 1
    assert everything(root) == ["a", "a/.tmp-new", "a/file"]


def test_a_sweep_removes_folders_that_stayed_empty(files: LocalFiles, root: Path) -> None:
    for path in ("old/1/a", "young/1/a", "used/1/a", "used/2/b"):
        files.put(path, b"x")
    files.delete_many(["old/1/a", "young/1/a", "used/1/a"])
    assert everything(root) == ["old", "old/1", "used", "used/1", "used/2", "used/2/b", "young", "young/1"]
    for path in ("old/1", "old", "used/1", "used/2", "used"):
        os.utime(root / path, (0, 0))
    assert files.sweep_temporaries(3600) == 0
    assert everything(root) == ["used", "used/2", "used/2/b", "young", "young/1"]
    assert root.is_dir()


def test_a_put_whose_temporary_is_swept_changes_nothing_and_says_so(files: LocalFiles, root: Path) -> None:
    def slow() -> Iterator[bytes]:
        yield b"x"
        assert files.sweep_temporaries(0) == 1

    for call in (files.put, files.put_if_absent):
        with pytest.raises(Unavailable, match="longer age"):
            call("a/b", slow())
        assert paths_of(files.list()) == []


def test_a_put_that_loses_its_new_folder_to_a_sweep_makes_it_again(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, swept = os.mkdir, []

    def mkdir(folder: str, mode: int) -> None:
        real(folder, mode)
        if len(swept) < 3:
            os.rmdir(folder)
            swept.append(folder)

    monkeypatch.setattr(os, "mkdir", mkdir)
    files.put_if_absent("a/b/c", b"x")
    assert files.read("a/b/c") == b"x"
    assert len(swept) == 3


def test_a_put_whose_folder_keeps_vanishing_gives_up(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "mkdir", lambda folder, mode: None)
    with pytest.raises(Unavailable):
        files.put("a/b", b"x")


def test_a_root_that_vanishes_while_a_put_begins_is_not_made_anew(
    files: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def unmounted(*arguments: Any) -> int:
        monkeypatch.setattr(os, "open", real)  # once: a root that came back would be seen
        root.rmdir()
        return real(*arguments)

    monkeypatch.setattr(os, "open", unmounted)
    with pytest.raises(Unavailable, match="mounted"):
        files.put("a/b", b"x")
    assert not root.exists()
