"""What a local folder adds to the suite: races, links, the order of fsyncs, refusals of the system."""

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import AlreadyExists, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown, Unavailable
from lakebed.files import LocalFiles
from lakebed.testing.files import CALLS, FilesSuite, Outside, paths_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def files(root: Path) -> LocalFiles:
    return LocalFiles(root)


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    def put(name: str, data: bytes) -> str:
        path = tmp_path / "outside" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    return put


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


# The order of steps


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


def test_a_folder_that_may_not_be_listed_does_not_keep_a_file_below_it_from_being_synced(
    files: LocalFiles, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.path_of(outside("locked/a", b"x"))
    failing(monkeypatch, "open", errno.EACCES, lambda full, *_: os.path.basename(full) == "locked")
    files.sync([path])
    failing(monkeypatch, "open", errno.EIO, lambda full, *_: os.path.basename(full) == "outside")
    with pytest.raises(Unavailable):
        files.sync([path])


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


# Refusals of the system


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


# Sweeping


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

    def mkdir(folder: str) -> None:
        real(folder)
        if len(swept) < 3:
            os.rmdir(folder)
            swept.append(folder)

    monkeypatch.setattr(os, "mkdir", mkdir)
    files.put_if_absent("a/b/c", b"x")
    assert files.read("a/b/c") == b"x"
    assert len(swept) == 3


def test_a_put_whose_folder_keeps_vanishing_gives_up(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "mkdir", lambda folder: None)
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
