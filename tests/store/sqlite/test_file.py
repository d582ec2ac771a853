"""What is opened as a database, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from lakebed.errors import Corrupt, Forbidden, Invalid, LakebedError, Unavailable
from lakebed.store import SQLiteStore
from lakebed.store.sqlite import mounts
from lakebed.store.sqlite.checksums import checksummed_vfs
from lakebed.store.sqlite.file import refuse_old_library
from lakebed.store.sqlite.format import APPLICATION_ID
from lakebed.testing.store.steps import put, state
from torture.shim import built, compiler


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake.db"


def make(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path), vfs=checksummed_vfs())
    connection.execute(sql).fetchall()
    connection.close()


def refuses(path: Path, kind: type[LakebedError], match: str) -> None:
    """The error is of that kind and names the file, and the folder is as before."""
    before = {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(kind, match=match) as caught:
        SQLiteStore(path)
    assert str(path) in str(caught.value)
    after = {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    assert after == before


def test_a_database_of_something_else_is_refused(path: Path) -> None:
    make(path, "CREATE TABLE t (x)")
    refuses(path, Invalid, "not made by Lakebed")


def test_a_database_with_another_application_id_is_refused(path: Path) -> None:
    make(path, "PRAGMA application_id = 252006674; CREATE TABLE t (x)")
    refuses(path, Invalid, "252006674")


def test_a_newer_format_is_refused(path: Path) -> None:
    SQLiteStore(path).close()
    make(path, "PRAGMA user_version = 3")
    refuses(path, Invalid, "expected format 2, found format 3")


def test_a_file_that_is_no_database_is_corrupt(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    refuses(path, Corrupt, "can't be read")


def test_a_file_whose_head_is_overwritten_is_corrupt(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
    data = path.read_bytes()
    path.write_bytes(b"\x00" * 100 + data[100:])
    refuses(path, Corrupt, "can't be read")


def test_a_database_without_its_tables_is_corrupt(path: Path) -> None:
    make(path, f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; CREATE TABLE kv (k, v)")
    refuses(path, Corrupt, "a table of the database is missing")


def test_damage_inside_a_database_is_corrupt_when_it_is_met(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.run(lambda transaction: [transaction.set(b"%05d" % n, bytes(50)) for n in range(5000)])
    data = bytearray(path.read_bytes())
    data[3 * 4096 :] = b"\xa5" * (len(data) - 3 * 4096)
    path.write_bytes(data)
    with pytest.raises(Corrupt, match="its checksum differs"), SQLiteStore(path) as store:
        state(store)


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    with SQLiteStore(path) as store:
        put(store, a=b"1")


def test_a_copy_made_by_sqlite_itself_is_used_as_the_original(path: Path, tmp_path: Path) -> None:
    # What it did: such a copy is not in WAL mode, and its readers kept all writers out.
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        make(path, f"VACUUM INTO '{tmp_path}/copy.db'")
    with SQLiteStore(tmp_path / "copy.db", lock_seconds=0.5) as copy, copy.begin() as reader:
        assert reader.get(b"a") == b"1"
        put(copy, a=b"2")
        assert reader.get(b"a") == b"1"


def test_a_folder_at_the_path_is_refused(path: Path) -> None:
    path.mkdir()
    refuses(path, Invalid, "found a folder")


def test_something_that_is_no_file_at_the_path_is_refused(path: Path) -> None:
    os.mkfifo(path)
    refuses(path, Invalid, "something else")


def test_a_file_where_a_folder_belongs_is_refused(path: Path) -> None:
    path.write_text("a file")
    with pytest.raises(Invalid, match="a part of the path is a file"):
        SQLiteStore(path / "lake.db")


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "one" / "two" / "lake.db") as store:
        put(store, a=b"1")
    assert (tmp_path / "one" / "two" / "lake.db").is_file()


@pytest.mark.parametrize("name", ["nul\x00byte", "lone\udcffsurrogate", "x" * 300])
def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid):
        SQLiteStore(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_links_to_one_database_share_its_lock(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path) as store:
        (tmp_path / "link.db").symlink_to(path)
        with SQLiteStore(tmp_path / "link.db") as link:
            assert link._file.write_lock.path == store._file.write_lock.path
            put(link, a=b"1")
            assert state(store) == {b"a": b"1"}


def test_a_network_folder_is_refused_before_anything_is_made_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = mounts.file_system(tmp_path, Path("/proc/self/mountinfo"))
    if here is None:
        pytest.skip("this system does not tell its file systems: run on Linux")
    monkeypatch.setattr(mounts, "NETWORK", {here})
    with pytest.raises(Invalid, match="network file system"):
        SQLiteStore(tmp_path / "lake" / "lake.db")
    assert list(tmp_path.iterdir()) == []


def test_a_sqlite_library_that_loses_pages_is_refused() -> None:
    for old in ("3.40.1", "3.51.2", "3.7"):
        with pytest.raises(Unavailable, match=old):
            refuse_old_library(old)
    for new in ("3.51.3", "3.52.0", "3.54.1.0", "4.0"):
        refuse_old_library(new)


def test_a_process_is_not_forbidden_to_write_because_the_database_was_once_opened_for_reading_only(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        with store._file.borrowed_connection() as connection:
            connection.execute("PRAGMA query_only = 1")  # as SQLite goes on if opening the file for writing fails
        with pytest.raises(Unavailable, match="for reading only, though it may be written"):
            put(store, b=b"2")
        put(store, b=b"3")
        assert state(store) == {b"a": b"1", b"b": b"3"}


def test_a_database_that_may_only_be_read_is_still_forbidden_to_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteStore(path) as store:
        put(store, a=b"1")
        with store._file.borrowed_connection() as connection:
            connection.execute("PRAGMA query_only = 1")
        monkeypatch.setattr(os, "access", lambda file, mode: False)  # the tests may run as root, who may write all
        with pytest.raises(Forbidden, match="read_only=True"):
            put(store, b=b"2")


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler (cc, gcc or clang) to build the shim with")
def test_an_open_that_fails_once_is_not_an_answer_that_writing_is_forbidden(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _FAILING_OPENS, str(tmp_path.resolve())]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LD_PRELOAD": str(built(tmp_path))}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert set(ran.stdout.split()) == {"Unavailable", "done"}, ran.stdout + ran.stderr


ROOT = Path(__file__).parents[3]
_FAILING_OPENS = """
import errno, sys
from pathlib import Path
from lakebed.errors import LakebedError
from lakebed.store import SQLiteStore
from lakebed.testing.store.steps import put
from torture.shim import Call, Fault, failing

folder = Path(sys.argv[1]) / "lake"
SQLiteStore(folder / "lake.db").close()
for nth in range(6):
    store = None
    try:
        with failing(folder, Fault(Call.OPEN, nth, 1, errno.EIO)):
            store = SQLiteStore(folder / "lake.db")
            put(store, a=b"1")
    except LakebedError as error:
        print(type(error).__name__)
    store = store or SQLiteStore(folder / "lake.db")
    put(store, b=b"2")
    print("done")
    store.close()
"""
