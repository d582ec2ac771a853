"""A lake whose `catalog.db` is lost, damaged, replaced or copied: never begun again, never less."""

import os
import random
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import Corrupt, Invalid, Unavailable

ROWS = pa.table({"id": [1, 2]})
OLD = Path(__file__).parents[2] / "golden" / "lake_format_1.zip"
WAYS = pytest.mark.parametrize("flags", [{}, {"create": True}, {"create": False}, {"read_only": True}])


APPENDS_AND_DIES = """
import os, signal, sys, lakebed
table = lakebed.connect(sys.argv[1]).catalog().table("t")
for number in range(400):
    table.append([{"id": number, "s": "z" * 500}])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed lake with a table of two rows in a file."""
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_table("t", ROWS, properties={"write.inline-bytes": "0"})
    return tmp_path / "lake"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def only_data(folder: Path) -> None:
    for file in folder.glob("catalog.db*"):
        file.unlink()


def emptied(folder: Path) -> None:
    only_data(folder)
    (folder / "catalog.db").touch()


def schema_only(folder: Path) -> None:
    """As in a copy that was made while the first commits were in the log alone."""
    only_data(folder)
    lakebed.store.SQLiteStore(folder / "catalog.db").close()


@WAYS
@pytest.mark.parametrize("lose", [only_data, emptied, schema_only])
def test_no_lake_is_begun_where_data_lies(folder: Path, lose: Callable[[Path], None], flags: dict[str, bool]) -> None:
    """What it did: `connect` began a new lake without a word, beside all the files of the old one."""
    lose(folder)
    before = everything(folder)
    with pytest.raises(Corrupt, match=r"its catalog is lost.*lake\.backup.*move tables/ and ") as caught:
        lakebed.connect(folder, **flags)  # type: ignore[arg-type]
    assert str(folder) in str(caught.value)
    assert {name: data for name, data in everything(folder).items() if "catalog.db-" not in name} == {
        name: data for name, data in before.items() if "catalog.db-" not in name
    }


@WAYS
def test_a_catalog_that_was_deleted_beside_its_note_is_missed(folder: Path, flags: dict[str, bool]) -> None:
    (folder / "catalog.db").unlink()
    shutil.rmtree(folder / "tables")
    with pytest.raises(
        Corrupt, match=r"its catalog is lost.*move catalog\.db-\* away"
    ):  # and no folder that is not there
        lakebed.connect(folder, **flags)  # type: ignore[arg-type]


@WAYS
@pytest.mark.parametrize("lose", [only_data, emptied, schema_only])
def test_no_lake_is_begun_where_tables_with_locations_of_their_own_lie(
    tmp_path: Path, lose: Callable[[Path], None], flags: dict[str, bool]
) -> None:
    """What it did: a lake whose tables all had a `location=` was begun again without a word."""
    own = {"write.inline-bytes": "0"}
    with lakebed.connect(tmp_path) as lake:
        lake.catalog().create_table("t", ROWS.schema, location="mine/here", properties=own).append(ROWS)
    lose(tmp_path)
    with pytest.raises(Corrupt, match=r"its catalog is lost.*move mine/here/ and "):
        lakebed.connect(tmp_path, **flags)  # type: ignore[arg-type]


def test_a_lake_is_begun_among_many_folders_of_others(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"project {number}" / "data" / str(uuid4())).mkdir(parents=True)
        (tmp_path / f"project {number}" / "data" / f"{uuid4()}.parquet").touch()
        (tmp_path / str(uuid4()) / "data" / "mine.parquet").parent.mkdir(parents=True)
    lakebed.connect(tmp_path).close()


def test_a_lake_is_begun_in_a_folder_above_another_lake(tmp_path: Path) -> None:
    """What it did: the files of the lake below were taken for those of a lost one here."""
    with lakebed.connect(tmp_path / "shop") as below:
        below.catalog().create_table("t", ROWS.schema, properties={"write.inline-bytes": "0"}).append(ROWS)
    with lakebed.connect(tmp_path) as lake:
        assert lake.catalog().tables() == []
    (tmp_path / "shop" / "catalog.db").unlink()
    for own in tmp_path.glob("catalog.db*"):  # its note alone would say that a lake was here
        own.unlink()
    with pytest.raises(Corrupt, match=r"move shop/tables/ and "):
        lakebed.connect(tmp_path)


def test_folders_of_others_called_tables_are_no_data(tmp_path: Path) -> None:
    (tmp_path / "tables" / "mine").mkdir(parents=True)
    (tmp_path / "tables" / "mine" / "a.parquet").write_bytes(b"mine")
    (tmp_path / "tables" / "notes.txt").write_text("mine")
    lakebed.connect(tmp_path).close()


def test_a_lost_catalog_is_restored_from_a_backup(folder: Path, tmp_path: Path) -> None:
    with lakebed.connect(folder) as lake:
        lake.backup(tmp_path / "backup")
        lake.catalog().table("t").append(ROWS)
    (folder / "catalog.db").unlink()
    with pytest.raises(Corrupt):
        lakebed.connect(folder)
    for name in ("catalog.db", "catalog.db-newest"):  # the backup brings its own note
        shutil.copy(tmp_path / "backup" / name, folder / name)
    with lakebed.connect(folder) as lake:
        assert lake.catalog().table("t").scan().count() == 2
        assert lake.check() == []


def test_a_backup_is_opened_without_a_scan(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lakebed.connect(folder) as lake:
        lake.backup(tmp_path / "backup")
        lake.catalog().table("t").append(ROWS)
        lake.backup(tmp_path / "backup")
    monkeypatch.setattr("lakebed.store.sqlite.wholeness.full_sum", None)
    with lakebed.connect(tmp_path / "backup", read_only=True) as copy:
        assert copy.catalog().table("t").scan().count() == 4


def test_the_catalog_of_another_lake_is_refused(folder: Path, tmp_path: Path) -> None:
    """What it did: it opened, and every read failed at a file that was not there."""
    with lakebed.connect(tmp_path / "other") as other:
        for number in range(5):
            other.catalog().create_namespace(f"n{number}")
    shutil.copy(tmp_path / "other" / "catalog.db", folder / "catalog.db")
    with pytest.raises(Corrupt, match="it was replaced"):
        lakebed.connect(folder)


def test_an_older_catalog_says_which_versions_are_lost(folder: Path) -> None:
    """What it did: the lake went back in time, and gave out the same versions again."""
    shutil.copy(folder / "catalog.db", folder / "catalog.db.older")
    with lakebed.connect(folder) as lake:
        newest = lake.catalog().table("t").append(ROWS).version
    os.replace(folder / "catalog.db.older", folder / "catalog.db")
    for flags in ({}, {"read_only": True}):
        with pytest.raises(Corrupt, match=f"lost version {newest}, .*delete .*catalog.db-newest"):
            lakebed.connect(folder, **flags)  # type: ignore[arg-type]
    (folder / "catalog.db-newest").unlink()
    with lakebed.connect(folder) as lake:
        assert lake.catalog().table("t").scan().count() == 2
        assert lake.check() == []


def test_no_lake_is_begun_inside_another_by_an_older_catalog_beside_a_newer_log(tmp_path: Path) -> None:
    """What it did: after `cp old.db lake/catalog.db` beside the `-wal` of a killed process it began an empty lake."""
    folder, old = tmp_path / "lake", tmp_path / "old.db"
    with lakebed.connect(folder) as lake:
        lake.catalog().create_table("t", {"id": "long", "s": "string"})
    shutil.copyfile(folder / "catalog.db", old)
    killed = subprocess.run([sys.executable, "-c", APPENDS_AND_DIES, str(folder)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    shutil.copyfile(old, folder / "catalog.db")
    with pytest.raises(Corrupt):
        lakebed.connect(folder)


def test_a_pipe_for_the_note_of_the_newest_version_is_refused(folder: Path) -> None:
    """What it did: `connect` waited for ever."""
    (folder / "catalog.db-newest").unlink()
    os.mkfifo(folder / "catalog.db-newest")
    for read_only in (True, False):
        with pytest.raises(Corrupt, match="note of the newest version is not a file"):
            lakebed.connect(folder, read_only=read_only)


def test_the_catalogs_own_files_are_not_opened_to_be_added(folder: Path) -> None:
    """What it did: to close them dropped the locks of SQLite, and another process could end this one."""
    with lakebed.connect(folder) as lake:
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            with pytest.raises(Invalid, match="part of a lake's catalog"):
                lake.catalog().table("t").add_files([folder / name])


def test_rot_in_the_catalog_is_listed_by_check(folder: Path) -> None:
    with lakebed.connect(folder) as lake:
        for _ in range(30):
            lake.catalog().table("t").append(ROWS)
        lake._context.metastore._store.settle()  # type: ignore[attr-defined]
    data = bytearray((folder / "catalog.db").read_bytes())
    for page in range(8, len(data) // 4096):
        data[page * 4096 + 3000] ^= 1
    with open(folder / "catalog.db", "r+b") as file:
        file.write(data)
    try:
        with lakebed.connect(folder, read_only=True) as lake:
            assert any("catalog.db" in problem and "checksum" in problem for problem in lake.check())
    except Corrupt as error:
        assert "catalog.db" in str(error) and "Restore a backup" in str(error)


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_file_of_the_catalog_deleted_while_open_is_noticed(folder: Path, suffix: str) -> None:
    """What it did: commits went on, and those of other processes were lost."""
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("t")
        table.append(ROWS)
        (folder / f"catalog.db{suffix}").unlink()
        with pytest.raises(Unavailable, match="connect again"):
            table.append(ROWS)
        with pytest.raises(Unavailable):
            table.scan().count()
    with lakebed.connect(folder) as lake:
        assert lake.catalog().table("t").scan().count() == 4
        assert lake.check() == []


# Old lakes


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A lake that Lakebed made before the catalog had checksums (format 1)."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "old")
    return tmp_path / "old"


@pytest.mark.parametrize("flags", [{"read_only": True}, {}])
def test_an_old_lake_is_opened(old: Path, flags: dict[str, bool]) -> None:
    before = everything(old)
    with lakebed.connect(old, **flags) as lake:  # type: ignore[arg-type]
        orders = lake.catalog().table("sales.orders")
        assert orders.scan().to_arrow().to_pylist() == [{"id": 1, "note": "tea"}]
        assert sorted(lake.catalog("default@dev").table("sales.orders").scan().to_arrow()["id"].to_pylist()) == [
            1,
            2,
            9,
        ]
        assert orders.at(5).scan().count() == 2
        assert lake.catalog().table("sales.inline").scan().to_arrow()["id"].to_pylist() == [5]
        assert lake.check(deep=True) == []
        if not flags:
            orders.append(pa.table({"id": [3], "note": ["rye"]}))
            assert lake.check() == []
    assert not flags or everything(old) == before


# Copies of a lake in use

WRITER = """
import sys, lakebed, pyarrow as pa
lake = lakebed.connect(sys.argv[1])
table = lake.catalog().create_table("n", {"id": "long"})
for number in range(10**6):
    table.append(pa.table({"id": [number]}))
    if number == 20:
        print("writing", flush=True)
"""


@pytest.fixture
def writer(folder: Path) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    yield
    process.kill()
    process.communicate()


@pytest.mark.parametrize("copies", [6, pytest.param(100, marks=pytest.mark.long)])
def test_a_copy_of_a_lake_in_use_is_one_version_or_refused(
    folder: Path, tmp_path: Path, writer: None, copies: int
) -> None:
    """What it did: 4 of 180 opened as an empty lake."""
    choose = random.Random(9)
    for number in range(copies):
        copy = tmp_path / f"copy{number}"
        names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
        choose.shuffle(names)
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a writer's temporary file, of which `cp` says that it vanished
                shutil.copyfile(folder / name, copy / name)
        try:
            with lakebed.connect(copy, create=choose.choice([None, True, False])) as lake:
                found = lake.catalog().table("n").scan().to_arrow()["id"].to_pylist()
                assert lake.check() == []
        except Corrupt:  # of a file too, if it was written between the listing and the copy of the catalog
            continue
        assert len(found) >= 20 and sorted(found) == list(range(len(found)))
