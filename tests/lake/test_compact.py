"""Compaction: fewer files, the same rows with the same ids, at every version, whatever happens meanwhile."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed import Lake
from lakebed.arrow import Compaction
from lakebed.catalog.catalogs import DEFAULT, open_project
from lakebed.catalog.home import Home
from lakebed.catalog.schemas import Schemas
from lakebed.catalog.stored_deltas import history, stored_manifest
from lakebed.catalog.tables import table_state
from lakebed.errors import Conflict, Forbidden, Invalid
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check import check
from lakebed.store import MemoryStore, SQLiteStore

LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def rows(table):
    """All rows with their lineage, in no order."""
    found = table.scan(columns=[*table.schema.names, *LINEAGE]).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def ids(first, last):
    return pyarrow.table({"id": range(first, last), "name": [f"n{one}" for one in range(first, last)]})


@pytest.fixture
def table(main):
    main.create_namespace("s")
    return main.create_table("s.t", {"id": "long", "name": "string"}, properties={"write.inline-bytes": "0"})


@pytest.fixture
def keyed(main):
    main.create_namespace("k")
    properties = {"write.inline-bytes": "0"}
    return main.create_table("k.t", {"id": "long", "name": "string"}, primary_key=["id"], properties=properties)


def fill(table, count=5, each=10):
    for one in range(count):
        table.append(ids(one * each, (one + 1) * each))


def rewrites(table):
    work = table._scope.read()
    newest = history(work, table_state(work, table.id).partition)[0]
    return [(list(one.inputs), list(one.outputs)) for one in stored_manifest(work.home, newest).rewrites]


def test_small_files_become_one_and_no_row_changes(table):
    fill(table)
    before, version = rows(table), table.version
    inputs = [one.path for one in entries(table)]
    commit = table.compact(message="tidy")
    [output] = entries(table)
    assert rows(table) == before == rows(table.at(version=version))
    assert rewrites(table) == [(inputs, [output.path])]
    assert (commit.message, commit.operations[0].type) == ("tidy", "compact")
    counts = commit.operations[0].counts
    assert (counts["added_files"], counts["removed_files"], counts["added_rows"]) == (1, 5, 50)
    assert table.snapshots()[0].operation == "compact"


def test_nothing_to_do_is_no_commit(table, unchanged):
    with unchanged():
        assert table.compact() is None
    fill(table, 1)
    with unchanged():
        assert table.compact() is None
        assert table.compact(event_id="9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d") is None


def test_inline_rows_are_folded_into_a_file(table):
    table.set_properties({"write.inline-bytes": "64000"})
    fill(table)
    assert all(one.path.startswith("inline:") for one in entries(table))
    before = rows(table)
    table.compact()
    assert len(table.scan().files()) == 1  # which it refuses for inline rows
    assert rows(table) == before


def test_deleted_rows_are_left_out_and_the_ids_of_others_stay(table):
    fill(table, 1, 100)
    table.delete("id < 10 or id = 55")
    before = rows(table)
    table.compact()
    [file] = entries(table)
    assert (file.num_rows, file.HasField("dv_path")) == (89, False)
    assert rows(table) == before
    assert len(table.scan().files()) == 1


def test_rows_that_were_changed_keep_their_ids_over_two_compactions(table):
    fill(table)
    table.upsert(pyarrow.table({"id": [3, 30, 300], "name": ["x", "y", "z"]}), on="id")
    before = rows(table)
    table.compact()
    assert rows(table) == before
    table.append(ids(1000, 1010))
    table.upsert(pyarrow.table({"id": [4, 30], "name": ["v", "w"]}), on="id")
    again = rows(table)
    assert {row[2] for row in before} < {row[2] for row in again}
    table.compact()
    assert rows(table) == again


def test_files_of_an_older_spec_are_written_by_the_newest(table):
    fill(table)
    with table.evolve() as change:
        change.partition_by(["bucket(3, id)"])
        change.sort_by(["name desc"])
    before = rows(table)
    table.compact()
    files = entries(table)
    assert len(files) == 3
    assert {one.spec_id for one in files} == {table._state.spec.id}
    assert rows(table) == before
    assert table.compact() is None
    for one in files:
        names = pyarrow.parquet.read_table(table._scope.home.files.location(one.path))["name"].to_pylist()
        assert names == sorted(names, reverse=True)


def test_a_partition_with_nothing_to_do_is_left_alone(main, table):
    parted = main.create_table(
        "s.parted", {"id": "long", "p": "string"}, partition_by=["p"], properties={"write.inline-bytes": "0"}
    )
    for part in ("a", "b", "b"):
        parted.append(pyarrow.table({"id": [1, 2], "p": [part, part]}))
    [kept] = [one.path for one in entries(parted) if one.partition[0].value == b"a"]
    parted.compact()
    assert kept in [one.path for one in entries(parted)]
    assert len(entries(parted)) == 2


def test_only_files_that_may_have_rows_of_the_condition_are_taken(table):
    fill(table, 6)
    before = rows(table)
    table.compact(where="id < 25")
    assert len(entries(table)) == 4
    assert rows(table) == before
    with pytest.raises(Invalid, match="colour"):
        table.compact(where="colour = 1")


@pytest.mark.parametrize("kind", ["table", "keyed"])
def test_outputs_have_about_the_target(request, kind):
    table = request.getfixturevalue(kind)
    table.append(ids(0, 200_000))
    target = entries(table)[0].file_size // 4
    before = rows(table)
    table.delete("id = 7")
    table.compact(target_bytes=target)
    *full, last = [one.file_size for one in entries(table)]
    assert len(full) >= 3
    assert all(target <= size <= 2 * target for size in full)
    assert last <= 2 * target
    assert rows(table) == [row for row in before if row[0] != 7]
    assert table.compact(target_bytes=target) is None


@pytest.mark.parametrize("target", [0, -1, True, "10", 1.5])
def test_a_target_that_is_no_size_is_refused(table, target, unchanged):
    fill(table)
    with unchanged(), pytest.raises(Invalid, match="target"):
        table.compact(target_bytes=target)


def test_the_target_of_the_table_counts(table):
    table.set_properties({"write.target-file-bytes": "1"})
    fill(table)
    assert table.compact() is None
    table.unset_properties(["write.target-file-bytes"])
    assert table.compact() is not None


def test_the_past_is_not_compacted(table):
    fill(table)
    with pytest.raises(Forbidden, match="past"):
        table.at(version=table.version).compact()


def test_a_call_that_comes_again_answers_its_commit(table):
    fill(table)
    event = "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"
    first = table.compact(event_id=event)
    fill(table)
    assert table.compact(event_id=event).version == first.version
    assert len(entries(table)) == 6


def test_earlier_files_stay_and_nothing_else_does(table, files):
    fill(table)
    before = files()
    table.compact()
    assert before.items() <= files().items()
    assert len(files()) == len(before) + 1


def test_a_column_that_was_added_renamed_and_widened_reads_the_same(main):
    main.create_namespace("e")
    table = main.create_table("e.t", {"id": "int", "gone": "string", "s": "struct<a: int>"})
    struct = pyarrow.array([{"a": 1}, None], pyarrow.struct([("a", pyarrow.int32())]))
    table.append(pyarrow.table({"id": pyarrow.array([1, 2], pyarrow.int32()), "gone": ["x", "y"], "s": struct}))
    with table.evolve() as change:
        change.add_column("price", "double", default=1.5)
        change.widen_column("id", "long")
        change.widen_column("s.a", "long")
        change.rename_column("id", "number")
        change.drop_column("gone")
    table.append(pyarrow.table({"number": [3], "price": [float("nan")]}))
    before, version = rows(table), table.version
    table.compact()
    assert repr(rows(table)) == repr(before) == repr(rows(table.at(version=version)))


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


class TestTransactions:
    def test_what_the_transaction_itself_wrote_is_left_alone(self, main, table):
        fill(table)
        with main.transaction("both") as tx:
            inside = tx.table("s.t")
            inside.append(ids(100, 110))
            assert inside.compact() is None
            assert len(entries(inside)) == 2
        assert sorted(row[0] for row in rows(table)) == [*range(50), *range(100, 110)]
        assert table.history()[0].operations[0].type == "insert"

    @pytest.fixture
    def both(self, main, table):
        """A branch that compacted and then deleted a row, in one commit."""
        fill(table)
        dev = main.create_branch("dev")
        with dev.transaction("both") as tx:
            tx.table("s.t").compact()
            tx.table("s.t").delete("id = 7")
        return dev

    def test_rows_deleted_after_a_compaction_in_one_transaction_stay_so_in_a_merge(self, main, table, both):
        table.append(ids(100, 101))
        main.merge(both)
        assert sorted(row[0] for row in rows(table)) == [*range(7), *range(8, 50), 100]

    def test_such_a_transaction_is_no_compaction_that_could_give_way(self, main, table, both, unchanged):
        table.delete("id = 20")
        with unchanged(), pytest.raises(Conflict, match="both sides changed the same"):
            main.merge(both)

    def test_a_transaction_that_is_given_up_leaves_no_file(self, main, table, unchanged):
        fill(table)
        with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("no") as tx:
            tx.table("s.t").compact()
            raise ZeroDivisionError

    def test_a_delete_by_others_is_a_conflict_of_the_transaction(self, main, table):
        fill(table)
        with pytest.raises(Conflict), main.transaction("late") as tx:
            tx.table("s.t").compact()
            table.delete("id = 7")
        assert len(rows(table)) == 49


class TestMerges:
    """The matrix of docs/table.md, "Merging files", with rows in the files."""

    @pytest.mark.parametrize("keyed_by", [(), ("id",)])
    @pytest.mark.parametrize("compacts", ["ours", "theirs", "both"])
    def test_a_compaction_and_changes_of_rows_merge(self, main, compacts, keyed_by):
        main.create_namespace("m")
        main.create_table("m.t", {"id": "long", "name": "string"}, primary_key=keyed_by)
        fill(main.table("m.t"))
        dev = main.create_branch("dev")
        ours, theirs = main.table("m.t"), dev.table("m.t")
        changed, other = (theirs, ours) if compacts == "ours" else (ours, theirs)
        other.compact()
        changed.append(ids(200, 205))
        changed.delete("id = 17")
        changed.upsert(pyarrow.table({"id": [20, 300], "name": ["x", "y"]}), on="id")
        if compacts == "both":
            changed.compact()
        expected = rows(changed)
        main.merge(dev)
        assert [row[:3] for row in rows(ours)] == [row[:3] for row in expected]
        assert main.merge(dev).commit is None
        dev.merge(main)
        assert [row[:3] for row in rows(theirs)] == [row[:3] for row in expected]
        for table in (ours, theirs):
            table.compact()
            assert [row[:3] for row in rows(table)] == [row[:3] for row in expected]

    def test_a_compaction_alone_comes_over_as_it_is(self, main, keyed):
        fill(keyed)
        dev = main.create_branch("dev")
        before = rows(keyed)
        dev.table("k.t").compact()
        main.merge(dev)
        assert [one.path for one in entries(keyed)] == [one.path for one in entries(dev.table("k.t"))]
        assert rows(keyed) == before

    def test_appends_on_both_sides_stay_beside_a_compaction(self, main, keyed):
        fill(keyed)
        dev = main.create_branch("dev")
        dev.table("k.t").append(ids(100, 110))
        dev.table("k.t").compact()
        keyed.append(ids(200, 210))
        keyed.compact()
        main.merge(dev)
        assert sorted(row[0] for row in rows(keyed)) == [*range(50), *range(100, 110), *range(200, 210)]

    def test_a_compaction_is_reverted_and_done_again(self, main, keyed):
        fill(keyed)
        before, paths = rows(keyed), {one.path for one in entries(keyed)}
        commit = keyed.compact()
        reverted = main.revert(commit)
        assert (rows(keyed), {one.path for one in entries(keyed)}) == (before, paths)
        main.revert(reverted)
        assert (rows(keyed), len(entries(keyed))) == (before, 1)

    def test_a_delete_is_reverted_though_its_file_was_compacted_since(self, main, keyed):
        fill(keyed)
        before = rows(keyed)
        commit = keyed.delete("id = 7")
        keyed.compact()
        main.revert(commit)
        assert rows(keyed) == before
        keyed.compact()
        assert rows(keyed) == before

    def test_a_table_is_restored_to_before_and_after(self, main, keyed):
        fill(keyed)
        before, first = rows(keyed), keyed.version
        second = keyed.compact().version
        keyed.delete("id < 20")
        for version in (first, second, first):
            main.restore_table("k.t", version)
            assert rows(keyed) == before
            main.reset(second)
            assert rows(keyed) == before

    def test_a_compaction_is_picked(self, main, keyed):
        fill(keyed)
        dev = main.create_branch("dev")
        dev.table("k.t").append(ids(100, 110))
        before = rows(keyed)
        main.cherry_pick(dev.table("k.t").compact(where="id < 50"))
        assert (rows(keyed), len(entries(keyed))) == (before, 1)
        main.merge(dev)
        assert sorted(row[0] for row in rows(keyed)) == [*range(50), *range(100, 110)]


STEPS = st.sampled_from(
    [
        "append",
        "append",
        "twice",
        "delete",
        "upsert",
        "overwrite",
        "inline",
        "files",
        "column",
        "rename",
        "widen",
        "spec",
        "sort",
        "key",
        "no key",
        "checkpoint",
        "branch",
        "revert",
        "compact",
        "compact part",
        "compact",
    ]
)


class _History:
    """A table whose rows are known at every version."""

    def __init__(self, main):
        main.create_namespace("s")
        self.main = main
        self.table = main.create_table("s.t", {"id": "int", "kind": "int", "name": "string"}, primary_key=["id"])
        self.known = {}
        self.count = 0

    def step(self, name, number):
        before = rows(self.table)
        gets = self.gets(before)
        getattr(self, f"do_{name.replace(' ', '_')}")(number)
        if name.startswith("compact"):
            assert repr(rows(self.table)) == repr(before)
            assert repr(self.gets(before)) == repr(gets)
        self.known[self.table.version] = repr(rows(self.table))

    def gets(self, before):
        if not self.table.primary_key:
            return {}
        place = self.table.schema.names.index(self.table.primary_key[0])
        return {row[place]: self.table.get(row[place]) for row in before[:20]}

    def check(self):
        for version, expected in self.known.items():
            assert repr(rows(self.table.at(version=version))) == expected

    def some(self, first, count):
        values = list(range(first, first + count))
        kinds = pyarrow.array([one % 3 for one in values], pyarrow.int32())
        names = self.table.schema.names
        return pyarrow.table(
            [pyarrow.array(values, pyarrow.int32()), kinds, [f"{self.count} {one}" for one in values]], names[:3]
        )

    def do_append(self, number):
        self.count += 1
        self.table.append(self.some(number * 5, 8))

    def do_twice(self, number):
        self.count += 1
        part = self.some(number * 3, 4)
        self.table.append(pyarrow.concat_tables([part, part]))

    def do_delete(self, number):
        self.table.delete(f"{self.table.schema.names[0]} between {number} and {number + 6}")

    def do_upsert(self, number):
        self.count += 1
        self.table.upsert(self.some(number * 4, 6), on=self.table.schema.names[0])

    def do_overwrite(self, number):
        self.table.overwrite(self.some(number, 5), where=f"kind = {number % 3}")

    def do_inline(self, _):
        self.table.set_properties({"write.inline-bytes": "64000"})

    def do_files(self, _):
        self.table.set_properties({"write.inline-bytes": "0"})

    def do_column(self, number):
        name = f"c{len(self.table.schema.names)}"
        with self.table.evolve() as change:
            change.add_column(name, "double", default=[None, 1.5, float(number)][number % 3])

    def do_rename(self, number):
        with self.table.evolve() as change:
            change.rename_column(self.table.schema.names[0], ["id", "number"][number % 2])

    def do_widen(self, _):
        with self.table.evolve() as change:
            for name in self.table.schema.names[:2]:
                change.widen_column(name, "long")

    def do_spec(self, number):
        own = self.table.schema.names[0]
        with self.table.evolve() as change:
            change.partition_by([[], [f"bucket(2, {own})"], ["kind"], [f"truncate(20, {own})", "kind"]][number % 4])

    def do_sort(self, number):
        with self.table.evolve() as change:
            change.sort_by([[], ["name desc"], [self.table.schema.names[0], "name"]][number % 3])

    def do_key(self, number):
        with self.table.evolve() as change:
            change.primary_key([self.table.schema.names[0]])

    def do_no_key(self, _):
        with self.table.evolve() as change:
            change.primary_key([])

    def do_checkpoint(self, _):
        self.table.checkpoint()

    def do_branch(self, number):
        self.count += 1
        name = f"b{self.count}"
        branch = self.main.create_branch(name)
        branch.table("s.t").append(self.some(1000 * self.count, 5))
        branch.table("s.t").compact()
        self.do_delete(number)
        self.table.compact()
        self.main.merge(branch)

    def do_revert(self, _):
        newest = self.table.history()[0]
        if newest.operations[0].type in ("compact", "delete", "insert"):
            self.main.revert(newest)

    def do_compact(self, _):
        self.table.compact()

    def do_compact_part(self, number):
        self.table.compact(where=f"{self.table.schema.names[0]} < {number * 4}", target_bytes=2000)


@given(st.lists(st.tuples(STEPS, st.integers(0, 9)), min_size=3, max_size=14))
@settings(max_examples=40, deadline=None)
def test_reads_are_the_same_at_every_version_of_any_history(steps):
    """Law 6: of rows, their ids and sequence numbers, of the newest row of a key, before and after a compaction."""
    with tempfile.TemporaryDirectory() as folder, MemoryStore() as store:
        metastore = RecordsMetastore(store)
        project = open_project(metastore, DEFAULT, "ada")
        lake = Lake(Home(metastore, LocalFiles(Path(folder)), Schemas(metastore), project, "ada"))
        history = _History(lake.catalog())
        history.step("append", 0)
        for name, number in steps:
            history.step(name, number)
        history.step("compact", 0)
        history.check()
        for _ in range(3):
            if history.table.compact() is None:
                break
        assert history.table.compact() is None
