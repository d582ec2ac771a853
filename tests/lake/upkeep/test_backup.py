"""`lake.backup(path)`: a copy of one moment, made while others write, and whole whatever happens."""

import errno
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed import Corrupt, Invalid, Unavailable
from lakebed.catalog.upkeep import backup
from lakebed.files import LocalFiles


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def table(lake):
    table = lake.catalog().create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(numbers(1, 2))
    table.append(numbers(3))
    table.delete("id = 2")
    table.checkpoint()
    return table


def is_whole(folder, *expected):
    """The backup opens, has nothing wrong, and shows these ids."""
    with lakebed.connect(folder, create=False) as copy:
        assert copy.check(deep=True) == []
        assert ids(copy.catalog().table("t")) == sorted(expected)
        return True


def test_a_backup_is_a_lake_with_all_its_past_and_branches(lake, table, tmp_path):
    main, first = lake.catalog(), table.history()[-2].version
    main.create_branch("dev").table("t").append(numbers(9))
    main.create_tag("v1")
    lake.create_catalog("other").create_namespace("n")
    made = lake.backup(tmp_path / "copy")
    assert (made.version, made.path, made.outside) == (lake._context.metastore.newest(), str(tmp_path / "copy"), ())
    assert is_whole(tmp_path / "copy", 1, 3)
    with lakebed.connect(tmp_path / "copy") as copy:
        assert ids(copy.catalog("default@dev").table("t")) == [1, 3, 9]
        assert ids(copy.catalog("default@v1").table("t")) == [1, 3]
        assert ids(copy.catalog().table("t").at(first)) == [1, 2]
        assert copy.catalog("other").namespace_exists("n")
        assert [str(one) for one in copy.catalog().log()] == [str(one) for one in main.log()]
        copy.catalog().table("t").append(numbers(4))
        assert copy.check() == []
    assert ids(table) == [1, 3]


def test_a_second_backup_into_the_folder_copies_what_is_new(lake, table, tmp_path):
    first = lake.backup(tmp_path / "copy")
    assert (first.files > 0, lake.backup(tmp_path / "copy").files) == (True, 0)
    table.append(numbers(4))
    second = lake.backup(str(tmp_path / "copy"))
    assert (second.files, second.version > first.version) == (1, True)
    assert is_whole(tmp_path / "copy", 1, 3, 4)
    assert str(second).startswith(f"{tmp_path / 'copy'}: version {second.version}, 1 file copied, ")


def test_a_folder_with_anything_else_is_refused(lake, table, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("keep me")
    lakebed.connect(tmp_path / "another").close()
    for folder in ("full", "another"):
        with pytest.raises(Invalid, match="not empty, and has no backup of this lake"):
            lake.backup(tmp_path / folder)
    with lakebed.connect(tmp_path / "other") as other:
        other.backup(tmp_path / "theirs")
    with pytest.raises(Invalid, match="no backup of this lake"):
        lake.backup(tmp_path / "theirs")
    assert os.listdir(tmp_path / "full") == ["mine.txt"]
    for folder in (tmp_path / "lake", tmp_path / "lake/copies", tmp_path, 17, "s3://bucket/copy"):
        with pytest.raises(Invalid):
            lake.backup(folder)
    assert lake.check().orphans == ()


def test_a_backup_that_was_written_to_is_not_overwritten(lake, table, tmp_path):
    lake.backup(tmp_path / "copy")
    with lakebed.connect(tmp_path / "copy") as copy:
        copy.catalog().table("t").append(numbers(7))
    with pytest.raises(Invalid, match="written to since"):
        lake.backup(tmp_path / "copy")
    assert is_whole(tmp_path / "copy", 1, 3, 7)


def test_a_backup_that_is_open_elsewhere_is_not_replaced(lake, table, tmp_path):
    lake.backup(tmp_path / "copy")
    table.append(numbers(4))
    with lakebed.connect(tmp_path / "copy") as copy:
        assert ids(copy.catalog().table("t")) == [1, 3]
        with pytest.raises(Invalid, match="open elsewhere"):
            lake.backup(tmp_path / "copy")
    assert lake.backup(tmp_path / "copy").files == 1


def test_a_lake_with_a_missing_file_is_refused_by_name(lake, table, tmp_path):
    gone = next((tmp_path / "lake").rglob("*.parquet"))
    data = gone.read_bytes()
    gone.unlink()
    with pytest.raises(Corrupt, match=gone.name):
        lake.backup(tmp_path / "copy")
    with pytest.raises(Invalid, match="not finished"):
        lakebed.connect(tmp_path / "copy")
    gone.write_bytes(data)
    lake.backup(tmp_path / "copy")
    assert is_whole(tmp_path / "copy", 1, 3)


def test_files_outside_the_lake_are_named_and_not_copied(lake, table, tmp_path):
    outside = tmp_path / "outside.parquet"
    pyarrow.parquet.write_table(numbers(8), outside)
    table.add_files([str(outside)])
    made = lake.backup(tmp_path / "copy")
    assert [Path(one).name for one in made.outside] == ["outside.parquet"]
    assert "not copied: 1 file outside the lake" in str(made)
    assert is_whole(tmp_path / "copy", 1, 3, 8)


def test_a_purge_during_a_backup_is_followed(lake, table, tmp_path, monkeypatch):
    """Files of the copied records are gone before they are copied: then the records are copied again."""
    main = lake.catalog()
    other = main.create_table("other", {"id": "long"}, properties={"write.inline-bytes": "0"})
    other.append(numbers(1))
    main.drop_table("other")
    files, purged = type(lake._context.files), []
    own = files.size

    def size(self, path):
        if not purged and other.id in path:
            purged.append(True)
            main.purge_table("other")
        return own(self, path)

    monkeypatch.setattr(files, "size", size)
    lake.backup(tmp_path / "copy")
    assert purged
    assert is_whole(tmp_path / "copy", 1, 3)


def test_a_backup_while_threads_write_is_one_moment(lake, table, tmp_path):
    """Both tables get a row in one transaction: the copy has as many of one as of the other."""
    main = lake.catalog()
    main.create_table("u", {"id": "long"}, properties={"write.inline-bytes": "0"})
    stop = threading.Event()

    def write():
        number = 100
        while not stop.is_set():
            with main.transaction("both") as tx:
                tx.table("t").append(numbers(number))
                tx.table("u").append(numbers(number))
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            lake.backup(tmp_path / "copy")
            with lakebed.connect(tmp_path / "copy") as copy:
                assert copy.check(deep=True) == []
                assert [1, 3, *ids(copy.catalog().table("u"))] == ids(copy.catalog().table("t"))
    finally:
        stop.set()
        writer.join()


WRITER = """
import sys, pyarrow, lakebed
with lakebed.connect(sys.argv[1]) as lake:
    table = lake.catalog().table("t")
    print("ready", flush=True)
    for number in range(1000, 100000):
        table.append(pyarrow.table({"id": [number]}))
        if number % 7 == 0:
            table.delete(f"id = {number - 3}")
"""


def test_a_backup_while_a_process_writes_has_all_files_of_its_newest_version(lake, table, tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "lake")], stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"ready\n"
        made = [lake.backup(tmp_path / f"copy {number}") for number in range(2)]
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    for one in made:
        with lakebed.connect(one.path) as copy:
            assert copy._context.metastore.newest() == one.version
            assert copy.check(deep=True) == []
            main = copy.catalog()
            assert ids(main.table("t")) == ids(lake.catalog().table("t").at(one.version))


def test_a_kill_at_any_step_leaves_a_backup_that_the_next_one_completes(lake, table, tmp_path):
    """Before it is finished the folder is not a lake; a finished one stays the backup that it was."""
    steps, ended = 0, 9
    while ended == 9:
        folder = tmp_path / f"new {steps}"
        ended = killed(tmp_path / "lake", folder, steps)
        if not (folder / "catalog.db").exists():
            if (folder / "backup.json").exists():
                with pytest.raises(Invalid, match="not finished"):
                    lakebed.connect(folder)
            lake.backup(folder)
        assert is_whole(folder, 1, 3)
        steps += 1
    assert (ended, steps > 8) == (0, True)


@pytest.mark.parametrize("call", ["replace", "unlink", "fsync"])
def test_a_disk_that_fails_in_a_backup_is_unavailable_and_the_next_backup_completes_it(
    lake, table, tmp_path, monkeypatch, call
):
    """It was an OSError, or an outcome that nobody could look up."""

    def failing(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(Unavailable, match=r"call backup again|run again"):
            lake.backup(tmp_path / "copy")
    lake.backup(tmp_path / "copy")
    assert is_whole(tmp_path / "copy", 1, 3)


def test_a_kill_while_a_backup_is_renewed_leaves_the_old_one_or_the_new_one(lake, table, tmp_path):
    folder = tmp_path / "copy"
    lake.backup(folder)
    shown = [1, 3]
    for step in range(6):
        table.append(numbers(10 + step))
        killed(tmp_path / "lake", folder, step)
        with lakebed.connect(folder) as copy:
            assert copy.check() == []
            assert ids(copy.catalog().table("t")) in (shown, [*shown, 10 + step])
        lake.backup(folder)
        shown.append(10 + step)
        assert is_whole(folder, *shown)


def killed(lake, folder, step):
    """What a process ends with that backs up and is killed before its step of this number."""
    child = os.fork()
    if child == 0:
        steps = count()

        def dying(function):
            def call(*arguments, **named):
                if next(steps) == step:
                    os._exit(9)
                return function(*arguments, **named)

            return call

        LocalFiles.put, LocalFiles.create = dying(LocalFiles.put), dying(LocalFiles.create)
        os.replace, backup._remove_database = dying(os.replace), dying(backup._remove_database)
        try:
            with lakebed.connect(lake) as opened:
                opened.backup(folder)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


MARK = b'{"format-version": 1, "lake-id": "0b5", "versions": ["17"], "crc32c": "6869e481"}'


def test_the_bytes_of_a_mark_stay_what_they_are(tmp_path):
    files = LocalFiles(tmp_path)
    mark = backup._Mark("0b5", ("17",))
    backup._put_mark(files, mark)
    assert files.read("backup.json") == MARK
    assert backup._mark(files) == mark


def test_a_damaged_mark_was_believed(tmp_path):
    """What it did: a flipped bit named another lake or version, and the folder was taken for something else."""
    files = LocalFiles(tmp_path)
    for place in range(len(MARK)):
        (tmp_path / "backup.json").write_bytes(MARK[:place] + bytes([MARK[place] ^ 1]) + MARK[place + 1 :])
        assert backup._mark(files) in (None, backup._Mark("0b5", ("17",)))


def test_a_mark_of_an_older_backup_has_no_checksum(tmp_path):
    (tmp_path / "backup.json").write_bytes(b'{"format-version": 1, "lake-id": "0b5", "versions": ["17"]}')
    assert backup._mark(LocalFiles(tmp_path)) == backup._Mark("0b5", ("17",))


def test_a_reader_of_a_backup_had_to_connect_again_when_it_was_renewed(lake, table, tmp_path):
    lake.backup(tmp_path / "copy")
    with lakebed.connect(tmp_path / "copy", read_only=True) as copy:
        before = ids(copy.catalog().table("t"))
        table.append(numbers(100))
        lake.backup(tmp_path / "copy")
        assert ids(copy.catalog().table("t")) == [*before, 100]
        table.append(numbers(101))
        lake.backup(tmp_path / "copy")
        assert ids(copy.catalog().table("t")) == [*before, 100, 101]


def test_a_reader_does_not_follow_another_lake_that_was_put_in_place_of_its_own(lake, table, tmp_path):
    lake.backup(tmp_path / "copy")
    with lakebed.connect(tmp_path / "other") as other:
        other.catalog().create_table("t", {"id": "long"})
    with lakebed.connect(tmp_path / "copy", read_only=True) as copy:
        assert ids(copy.catalog().table("t"))
        os.replace(tmp_path / "other" / "catalog.db", tmp_path / "copy" / "catalog.db")
        with pytest.raises((Unavailable, Corrupt)):
            ids(copy.catalog().table("t"))
