"""Compaction beside changes of rows: in one transaction, and merged, reverted, picked and restored."""

from itertools import pairwise

import pyarrow
import pytest

import lakebed
from lakebed.errors import Conflict
from tests.support.compacted_tables import entries, fill, ids, keyed_table, plain_table, rows


@pytest.fixture
def table(main):
    return plain_table(main)


@pytest.fixture
def keyed(main):
    return keyed_table(main)


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

    def test_rows_are_followed_through_such_a_transaction_by_their_ids(self, main, table, both):
        table.delete("id = 20")
        main.merge(both)
        assert sorted(row[0] for row in rows(table)) == [id for id in range(50) if id not in (7, 20)]

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
    """The matrix of docs/internals/table.md, "Merging files", with rows in the files."""

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


class TestThreeLevels:
    """MO-24: branches of branches merge as they would have, whatever maintenance came between."""

    def merged(self, folder, maintain, change=lambda table: table.append([{"id": 200}])):
        """The rows of the trunk after all levels were merged into it, and what differed before."""
        with lakebed.connect(folder) as lake:
            line = lake.catalog()
            table = line.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
            for first in range(0, 60, 10):
                table.append([{"id": number} for number in range(first, first + 10)])
            for level in range(1, 5):
                line = line.create_branch(f"level {level}")
                line.table("t").delete(f"id = {level}0")
                line.table("t").append([{"id": 100 + level}])
            change(lake.catalog().table("t"))
        if maintain:
            with lakebed.connect(folder) as lake:
                for line in lake.catalog().branches():
                    line.table("t").checkpoint()
                    line.table("t").compact()
                    line.table("t").checkpoint()
        with lakebed.connect(folder) as lake:
            main = lake.catalog()
            lines = [main, *(main.branch(f"level {level}") for level in range(1, 5))]
            differences = [
                (found.name, found.rows_added - found.rows_removed)
                for above, below in pairwise(lines)
                for found in above.diff(below)
            ]
            for above, below in reversed(list(pairwise(lines))):
                above.merge(below)
            return sorted(main.table("t").scan().to_arrow()["id"].to_pylist()), differences

    def test_merges_of_branches_of_branches_are_the_same_after_compactions_checkpoints_and_a_restart(self, tmp_path):
        plain, kept = self.merged(tmp_path / "plain", False), self.merged(tmp_path / "kept", True)
        assert plain[0] == sorted({*range(60), *range(101, 105), 200} - {10, 20, 30, 40})
        assert kept == plain

    @pytest.mark.long
    def test_rows_that_the_trunk_deleted_from_files_that_several_levels_compacted_stay_deleted(self, tmp_path):
        """They are followed by their ids, through compactions that gave way too."""

        def change(table):
            table.delete("id = 55")

        assert 55 not in self.merged(tmp_path / "plain", False, change)[0]
        assert 55 not in self.merged(tmp_path / "kept", True, change)[0]


def test_a_row_that_a_branch_deleted_before_it_compacted_stays_deleted_in_later_merges(main):
    """The merge brought both in one delta, and the next merge took its files for those from before the delete."""
    table = main.create_table("t", {"id": "long", "a": "string"}, properties={"write.inline-bytes": "0"})
    table.append([{"id": number, "a": "a"} for number in range(1, 6)])
    dev, other = main.create_branch("dev"), main.create_branch("other")
    dev.table("t").delete("id = 1")
    dev.table("t").compact()
    other.table("t").update({"a": "'other'"}, "id = 2")
    main.merge(dev)
    main.merge(other)
    rows = {row["id"]: row["a"] for row in table.scan().to_arrow().to_pylist()}
    assert rows == {2: "other", 3: "a", 4: "a", 5: "a"}
