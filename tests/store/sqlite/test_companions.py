"""The `-wal` and `-shm` files, when somebody deletes them while processes have them open."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lakebed.errors import OutcomeUnknown, Unavailable
from lakebed.store import SQLiteStore
from lakebed.store.sqlite import store as sqlite
from lakebed.testing.store.steps import put, state

Start = Callable[..., "subprocess.Popen[str]"]
WHICH = pytest.mark.parametrize("suffix", ["-wal", "-shm"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


class Other:
    """Another process with the store open, which does what it is asked, and says how that ended."""

    def __init__(self, start: Start, path: Path) -> None:
        self.process = start("obey", path)
        assert self.ask("count") == "0"

    def ask(self, what: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@WHICH
def test_a_file_deleted_while_open_loses_nothing_that_was_acknowledged(start: Start, path: Path, suffix: str) -> None:
    """What it did: a process that came later made another file, and the commits of the others were lost."""
    SQLiteStore(path).close()
    first, second = Other(start, path), Other(start, path)
    said = [other.ask(f"put {key}") for other, key in ((first, "a"), (second, "b"), (first, "c"))]
    assert said == ["done"] * 3
    Path(f"{path}{suffix}").unlink()
    late = subprocess.run(
        [*first.process.args[:3], first.process.args[3], "obey", str(path)],  # type: ignore[index]
        input="put d\n",
        capture_output=True,
        text=True,
    ).stdout.strip()
    refused = [other.ask(f"put {key}") for other, key in ((first, "e"), (second, "f"))]
    assert refused == ["unavailable"] * 2
    assert [other.ask("count") for other in (first, second)] == ["unavailable"] * 2
    assert [other.ask("close") for other in (first, second)] == ["done"] * 2
    expected = {b"a", b"b", b"c"} | ({b"d"} if late == "done" else set())
    with SQLiteStore(path) as store:
        assert set(state(store)) == expected
        assert store.check() == []
    assert late == ("done" if suffix == "-shm" else "unavailable")


@WHICH
def test_a_transaction_in_progress_reads_nothing_more(path: Path, suffix: str) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        reader = store.begin()
        assert reader.get(b"a") == b"1"
        Path(f"{path}{suffix}").unlink()
        time.sleep(0.002)
        with pytest.raises(Unavailable, match="-wal or -shm file"):
            reader.get(b"b")
        with pytest.raises(Unavailable, match="then connect again"):
            put(store, a=b"2")
        with pytest.raises(Unavailable), SQLiteStore(path):
            pass
    with SQLiteStore(path) as store:
        assert state(store) == {b"a": b"1"}


@WHICH
def test_a_commit_during_which_a_file_is_deleted_has_an_unknown_outcome(
    path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did: it was acknowledged, and nobody else ever saw it."""
    real = sqlite._end

    def delete(*arguments: object) -> None:
        Path(f"{path}{suffix}").unlink()
        real(*arguments)  # type: ignore[arg-type]

    with SQLiteStore(path) as store:
        put(store, a=b"1")
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "_end", delete)
            with pytest.raises(OutcomeUnknown, match="during a commit"):
                put(store, a=b"2")
    with SQLiteStore(path) as store:
        assert state(store)[b"a"] in (b"1", b"2")


@WHICH
def test_a_file_that_was_put_back_by_a_copy_is_another_one(path: Path, suffix: str) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        file = Path(f"{path}{suffix}")
        file.with_name("copy").write_bytes(file.read_bytes())
        os.replace(file.with_name("copy"), file)
        with pytest.raises(Unavailable):
            put(store, a=b"2")


def test_a_shm_that_a_crash_left_without_its_wal_is_no_obstacle(start: Start, path: Path) -> None:
    SQLiteStore(path).close()
    other = Other(start, path)
    other.process.kill()
    other.process.wait()
    Path(f"{path}-wal").unlink()
    with SQLiteStore(path) as store:
        put(store, a=b"1")


def test_stores_of_one_process_that_open_and_close_do_not_disturb_each_other(path: Path) -> None:
    for _ in range(3):
        with SQLiteStore(path) as first:
            put(first, a=b"1")
            with SQLiteStore(path) as second:
                put(second, a=b"2")
                first.close()
                put(second, a=b"3")
        assert not Path(f"{path}-wal").exists()
