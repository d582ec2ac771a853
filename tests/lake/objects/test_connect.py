"""Opening lakes: what is created and what is not, reading without the right to write, and handles that travel."""

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import Forbidden, Invalid, LakebedError, NotFound, Unavailable

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed lake with a table of two rows in a file, and one of two inline rows."""
    with lakebed.connect(tmp_path / "lake", author="ada") as lake:
        main = lake.catalog()
        main.create_table("filed", ROWS, properties={"write.inline-bytes": "0"})
        main.create_table("inline", ROWS)
        main.create_branch("dev").table("inline").append(ROWS)
        main.create_tag("first")
    return tmp_path / "lake"


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


# What is created


def test_a_mistyped_path_does_not_make_a_lake(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no lake.*create=True"):
        lakebed.connect(tmp_path / "lkae", create=False)
    with pytest.raises(NotFound, match="no folder to create it in"):
        lakebed.connect(tmp_path / "lakes" / "prod")
    for flags in ({"read_only": True}, {"read_only": True, "create": True}):
        with pytest.raises(NotFound, match=r"there is no lake.*connect without read_only=True"):
            lakebed.connect(tmp_path / "lkae", **flags)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    assert lakebed.connect(folder, create=False).catalog().tables()


def test_a_folder_with_other_files_may_hold_a_lake(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(NotFound):
        lakebed.connect(tmp_path, create=False)
    lakebed.connect(tmp_path).close()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_file_is_not_a_folder_of_a_lake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a lake")
    for flags in ({}, {"create": False}, {"read_only": True}):
        for path in (tmp_path / "file", tmp_path / "file" / "lake"):
            with pytest.raises(LakebedError):
                lakebed.connect(path, **flags)  # type: ignore[arg-type]
    assert (tmp_path / "file").read_text() == "not a lake"


def test_a_creation_that_was_killed_is_no_lake_yet(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").touch()
    with pytest.raises(NotFound):
        lakebed.connect(tmp_path, create=False)
    assert lakebed.connect(tmp_path).catalog().tables() == []


def test_a_mistyped_project_is_not_created_either(folder: Path) -> None:
    for flags in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotFound, match="there is no project of this name"):
            lakebed.connect(folder, project="defualt", **flags)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("?metastore=files", "metastore: a lake's URL has no such option .expected one of create, project, read_only"),
        ("?read-only=true", "Did you mean read_only"),
        ("?read_only=yes", "neither true nor false"),
        ("#17", "nothing after #"),
    ],
)
def test_an_option_of_a_url_that_nobody_knows_is_refused(folder: Path, url: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        lakebed.connect(folder.as_uri() + url)


def test_options_of_a_url_are_obeyed(tmp_path: Path, folder: Path) -> None:
    with lakebed.connect(f"{folder.as_uri()}?read_only=true") as lake:
        assert lake.read_only
    with pytest.raises(NotFound):
        lakebed.connect(f"{(tmp_path / 'none').as_uri()}?create=false")
    with lakebed.connect(f"{folder.as_uri()}?project=other") as lake:
        assert lake.project == "other"


def test_an_argument_that_nobody_knows_is_refused_with_the_known_ones(folder: Path) -> None:
    call: Callable[..., Lake] = lakebed.connect
    with pytest.raises(
        Invalid,
        match=r"metastore: connect has no such argument .*create, read_only, private, trust_views, project, author",
    ):
        call(folder, metastore="files")
    with pytest.raises(Invalid, match="Did you mean read_only"):
        call(folder, readonly=True)
    with pytest.raises(Invalid, match="read_only is True or False"):
        call(folder, read_only="yes")
    with pytest.raises(Invalid, match="create is True or False"):
        call(folder, create="no")


# Reading only

CHANGES: dict[str, Callable[[Lake, Catalog], Any]] = {
    "append": lambda lake, main: main.table("filed").append(ROWS),
    "append nothing": lambda lake, main: main.table("filed").append(ROWS.slice(2)),
    "delete": lambda lake, main: main.table("filed").delete("id = 1"),
    "update": lambda lake, main: main.table("filed").update({"id": "id + 1"}),
    "upsert": lambda lake, main: main.table("filed").upsert(ROWS, on="id"),
    "compact": lambda lake, main: main.table("inline").compact(),
    "checkpoint": lambda lake, main: main.table("filed").checkpoint(),
    "export": lambda lake, main: main.table("filed").export_iceberg(),
    "restore": lambda lake, main: main.table("filed").restore(main.version),
    "create": lambda lake, main: main.create_table("new", {"id": "long"}),
    "create with rows": lambda lake, main: main.create_table("new", ROWS, if_not_exists=True),
    "drop": lambda lake, main: main.drop_table("filed", if_exists=True),
    "namespace": lambda lake, main: main.create_namespace("new"),
    "properties": lambda lake, main: main.set_properties({"a": "b"}),
    "branch": lambda lake, main: main.create_branch("new"),
    "merge": lambda lake, main: main.merge(main.branch("dev")),
    "catalog": lambda lake, main: lake.create_catalog("new"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_lake_that_is_read_only_refuses_every_change(folder: Path, change: Callable[[Lake, Catalog], Any]) -> None:
    before = everything(folder)
    with lakebed.connect(folder, read_only=True) as lake, pytest.raises(Forbidden, match="reading only"):
        change(lake, lake.catalog())
    assert everything(folder) == before


def test_a_lake_that_is_read_only_is_read_in_all_ways(folder: Path) -> None:
    before = everything(folder)
    with lakebed.connect(folder, read_only=True) as lake:
        main = lake.catalog()
        assert [table.scan().count() for table in main.tables()] == [2, 2]
        assert main.table("filed").scan(where="id = 2").to_arrow()["id"].to_pylist() == [2]
        assert lake.catalog("default@dev").table("inline").scan().count() == 4
        assert main.at("now").at(-1).log()
        assert main.inspect("__tables").num_rows == 2
        assert [str(one) for one in main.diff(main.branch("dev"))]
        assert lake.check() == []
        with pytest.raises(Forbidden, match="reading only"), main.transaction() as tx:
            assert tx.table("filed").scan().count() == 2
            tx.drop_table("filed")
        assert lakebed.connect(lake.url).read_only
    assert everything(folder) == before


def test_a_program_that_creates_what_is_there_runs_on_a_lake_that_is_read_only(folder: Path) -> None:
    with lakebed.connect(folder, read_only=True) as lake:
        main = lake.catalog()
        assert main.create_table("filed", ROWS, if_not_exists=True).scan().count() == 2
        assert main.create_branch("dev", if_not_exists=True) == main.branch("dev")


def test_a_reader_sees_what_writers_do_while_they_come_and_go(folder: Path) -> None:
    with lakebed.connect(folder, read_only=True) as reader:
        table = reader.catalog().table("inline")
        assert table.scan().count() == 2
        for number in range(3):
            with lakebed.connect(folder) as writer:
                writer.catalog().table("inline").append(ROWS)
                assert table.scan().count() == 4 + 2 * number
                assert reader.catalog().table("inline").version == writer.catalog().table("inline").version
            assert table.scan().count() == 4 + 2 * number


@pytest.mark.parametrize("has_writer", [False, True], ids=["alone", "beside a writer"])
def test_a_user_without_the_right_to_write_reads_a_lake(folder: Path, has_writer: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("to become another user needs the right to: run as root")
    above = takewhile(lambda parent: parent != Path(gettempdir()), folder.parents)
    for place in (*above, folder, *folder.rglob("*")):
        place.chmod(place.stat().st_mode | (0o55 if place.is_dir() else 0o44))
    assert _counts(folder) == [2, 2]  # so that all modules are loaded, which nobody else may read
    context = multiprocessing.get_context("fork")
    begin, answers = context.Event(), context.Queue()
    child = context.Process(target=_read_as_nobody, args=(folder, begin, answers))
    child.start()
    writer = lakebed.connect(folder) if has_writer else None
    if writer is not None:
        writer.catalog().table("inline").append(ROWS)
    begin.set()
    found = [answers.get(timeout=60) for _ in range(3)]
    child.join()
    assert found[:2] == [[2, 4 if has_writer else 2], "forbidden"]
    assert found[2].endswith("Ask for write access to its folder, or pass read_only=True.")
    if writer is not None:
        assert writer.catalog().table("inline").scan().count() == 4
        writer.close()


def _counts(folder: Path) -> list[int]:
    with lakebed.connect(folder, read_only=True) as lake:
        return [table.scan().count() for table in lake.catalog().tables()]


def _read_as_nobody(folder: Path, begin: Any, answers: Any) -> None:
    os.setgid(65534)
    os.setuid(65534)
    begin.wait()
    assert not os.access(folder, os.W_OK)
    answers.put(_counts(folder))
    for flag in (True, False):
        try:
            lakebed.connect(folder, read_only=flag).catalog().table("filed").append(ROWS)
        except Forbidden as error:
            answers.put("forbidden" if flag else str(error))


@pytest.fixture
def read_only_disk(folder: Path) -> Path:
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", folder, folder]).returncode:
        pytest.skip("a read-only disk needs the right to mount one: run as root")
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    return folder


def test_a_lake_on_a_read_only_disk_is_read(read_only_disk: Path) -> None:
    try:
        with lakebed.connect(read_only_disk, read_only=True) as lake:
            assert [table.scan().count() for table in lake.catalog().tables()] == [2, 2]
    finally:
        subprocess.run(["umount", read_only_disk], check=True)


# Handles that travel


def test_what_a_killed_writer_left_without_its_index_is_read_after_the_advice_of_the_error(tmp_path: Path) -> None:
    """Its last commits are in the log alone, and a copy left out the index of it: `-shm`."""
    folder, copy = tmp_path / "lake", tmp_path / "copy"
    script = f"""
import lakebed, os
main = lakebed.connect({str(folder)!r}).catalog()
main.create_table("t", {{"x": "int"}}).append([{{"x": 1}}])
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    (folder / "catalog.db-shm").unlink()
    with pytest.raises(Unavailable, match=r"Connect to it once with the right to write.*or copy its folder"):
        lakebed.connect(folder, read_only=True)
    shutil.copytree(folder, copy)
    lakebed.connect(copy).close()
    with lakebed.connect(copy, read_only=True) as lake:
        assert lake.catalog().table("t").scan().to_arrow().to_pylist() == [{"x": 1}]


def test_handles_cross_the_border_of_a_process(folder: Path) -> None:
    with lakebed.connect(folder, author="grace") as lake, multiprocessing.get_context("spawn").Pool(1) as pool:
        main = lake.catalog()
        handles = [
            main.table("inline"),
            main.branch("dev").table("inline"),
            main.at(main.version).table("inline"),
            main.tag("first").table("inline"),
        ]
        assert pool.map(_counted, handles) == [2, 4, 2, 2]
        assert pool.apply(_names, (main,)) == ["filed", "inline"]
        assert pool.apply(_names, (lake,)) == ["filed", "inline"]
        assert pool.apply(_appended, (main.table("inline"),)) == "grace"
        assert main.table("inline").scan().count() == 4
    with lakebed.connect(folder, read_only=True) as lake:
        packed = pickle.dumps(lake.catalog().table("inline"))
    with pytest.raises(Forbidden):
        pickle.loads(packed).append(ROWS)


def _counted(table: lakebed.Table) -> int:
    return table.scan().count()


def _names(handle: Catalog | Lake) -> list[str]:
    main = handle.catalog() if isinstance(handle, Lake) else handle
    return [str(table.name) for table in main.tables()]


def _appended(table: lakebed.Table) -> str:
    commit = table.append(ROWS)
    assert commit is not None
    return commit.author


def test_a_handle_comes_back_to_the_same_open_lake(folder: Path) -> None:
    with lakebed.connect(folder) as lake:
        main = lake.catalog()
        for handle in (main, main.table("inline"), main.branch("dev"), main.create_namespace("n")):
            assert pickle.loads(pickle.dumps(handle)) == handle
        assert pickle.loads(pickle.dumps(lake))._context is lake._context
        packed = pickle.dumps(main.table("inline"))
    assert pickle.loads(packed).scan().count() == 2  # opened again, since it was closed
    assert b"secret" not in packed


def test_a_handle_of_a_lake_that_is_gone_does_not_make_one(tmp_path: Path, folder: Path) -> None:
    with lakebed.connect(folder) as lake:
        packed = pickle.dumps(lake.catalog().table("inline"))
    folder.rename(tmp_path / "moved")
    with pytest.raises(NotFound, match="there is no lake"):
        pickle.loads(packed)
    assert not folder.exists()


def test_what_lives_in_one_process_is_not_pickled(main: Catalog, folder: Path) -> None:
    with pytest.raises(Invalid, match="not opened by connect can't be pickled"):
        pickle.dumps(main)
    with lakebed.connect(folder) as lake, lake.catalog().transaction() as tx:
        for handle in (tx, tx.table("inline")):
            with pytest.raises(Invalid, match=r"a transaction.*can't be pickled"):
                pickle.dumps(handle)


@pytest.mark.parametrize("path", ["\ud800", "a\ud800b", "a\0b"])
def test_a_path_that_no_file_can_have_was_a_raw_error(tmp_path, path):
    with pytest.raises(Invalid, match="not the address of a lake"):
        lakebed.connect(f"{tmp_path}/{path}")
    with lakebed.connect(tmp_path / "lake") as lake:
        with pytest.raises(Invalid, match="a backup goes to a folder"):
            lake.backup(f"{tmp_path}/{path}")
        with pytest.raises(Invalid, match="not the address of a file"):
            lake.catalog().create_table("t", {"id": "long"}).add_files([f"{tmp_path}/{path}"])
        with pytest.raises(Invalid, match="a catalog's name is text"):
            lake.run(lambda work: work.drop_table("t"), catalog=7)
