"""Compaction while others commit: threads, processes, and between its reading of files and its commit."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pyarrow
import pytest

import lakebed
from lakebed.catalog.data.compaction import Compaction
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore
from tests.support.compacted_tables import entries, fill, ids, keyed_table, plain_table, rows


@pytest.fixture
def table(main):
    return plain_table(main)


@pytest.fixture
def keyed(main):
    return keyed_table(main)


class TestOthersMeanwhile:
    """What is committed between the reading of the files and the commit of the compaction."""

    @pytest.fixture
    def meanwhile(self, monkeypatch):
        """Do something once, after a compaction has written its files."""
        made = Compaction.make

        def arrange(do):
            todo = [do]

            def make(self, work, state):
                change = made(self, work, state)
                if todo:
                    todo.pop()()
                made_changes.append(change)
                return change

            monkeypatch.setattr(Compaction, "make", make)

        made_changes = []
        arrange.changes = made_changes
        return arrange

    def test_appends_are_no_conflict(self, table, meanwhile):
        fill(table)
        meanwhile(lambda: (table.append(ids(100, 110)), table.append(ids(110, 120))))
        table.compact()
        assert len(meanwhile.changes) == 1
        assert sorted(row[0] for row in rows(table)) == [*range(50), *range(100, 120)]

    def test_a_delete_from_an_input_is_kept_and_only_its_group_is_written_again(self, main, meanwhile, files):
        main.create_namespace("g")
        table = main.create_table("g.t", {"id": "long", "name": "string"}, partition_by=["truncate(100, id)"])
        for first in [*range(0, 50, 10), *range(100, 150, 10)]:
            table.append(ids(first, first + 10))
        meanwhile(lambda: table.delete("id = 7"))
        table.compact()
        first, second = ([one.path for one in change.written.files] for change in meanwhile.changes)
        assert len(set(first) & set(second)) == 1
        assert sorted(row[0] for row in rows(table)) == [*range(7), *range(8, 50), *range(100, 150)]
        assert {path for path in files() if path.endswith(".parquet")} == {one.path for one in entries(table)}

    def test_an_input_that_is_gone_takes_its_rows_along(self, table, meanwhile, files):
        fill(table)
        meanwhile(table.truncate)
        assert table.compact() is None
        assert rows(table) == []
        assert len([path for path in files() if path.endswith(".parquet")]) == 5

    def test_a_schema_that_is_changed_is_written_by(self, table, meanwhile):
        fill(table)

        def evolve():
            with table.evolve() as change:
                change.add_column("colour", "string", default="red")

        meanwhile(evolve)
        table.compact()
        assert len(meanwhile.changes) == 2
        assert {row[2] for row in rows(table)} == {"red"}

    def test_another_compaction_is_enough(self, keyed, meanwhile):
        fill(keyed)
        before = rows(keyed)
        other = []
        meanwhile(lambda: other.append(keyed.compact()))
        assert keyed.compact() is None
        assert other[0] is not None
        assert rows(keyed) == before


def test_threads_that_append_delete_upsert_and_compact_lose_nothing(keyed):
    failures = []

    def guarded(do):
        try:
            do()
        except BaseException as error:
            failures.append(error)

    def append():
        for one in range(8):
            keyed.append(ids(1000 + one * 10, 1010 + one * 10))

    def upsert():
        for one in range(6):
            keyed.upsert(pyarrow.table({"id": range(20, 30), "name": [f"round {one}"] * 10}))

    def delete():
        for one in range(5):
            keyed.delete(f"id = {one}")

    def compact():
        for _ in range(6):
            keyed.compact()

    fill(keyed)
    threads = [Thread(target=guarded, args=(one,)) for one in (append, upsert, delete, compact, compact)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    found = {row[0]: row[1] for row in rows(keyed)}
    assert len(found) == len(rows(keyed))
    assert sorted(found) == [*range(5, 50), *range(1000, 1080)]
    assert {found[one] for one in range(20, 30)} == {"round 5"}
    assert len({one[2] for one in rows(keyed)}) == len(found)


COMPACTOR = """
import sys
import lakebed

with lakebed.connect(sys.argv[1]) as lake:
    table = lake.catalog().table("t")
    for _ in range(6):
        table.compact()
"""

CHANGER = """
import sys
import pyarrow
import lakebed

first = int(sys.argv[2])
with lakebed.connect(sys.argv[1]) as lake:
    table = lake.catalog().table("t")
    for number in range(first, first + 12):
        table.append(pyarrow.table({"id": [number, number + 50]}))
        table.delete(f"id = {number + 50}")
"""


@pytest.mark.long
def test_processes_that_append_delete_and_compact_lose_nothing(tmp_path):
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        lake.catalog().create_table("t", {"id": "long"}, primary_key=["id"])
    root = str(Path(lakebed.__file__).parent.parent)
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script, str(folder), first], env=os.environ | {"PYTHONPATH": root}
        )
        for script, first in ((CHANGER, "0"), (COMPACTOR, ""), (CHANGER, "100"), (COMPACTOR, ""))
    ]
    assert [process.wait() for process in started] == [0, 0, 0, 0]
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("t")
        expected = [*range(12), *range(100, 112)]
        for _ in range(2):
            assert sorted(row[0] for row in rows(table)) == expected
            assert len({row[1] for row in rows(table)}) == 24
            table.compact()
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []
