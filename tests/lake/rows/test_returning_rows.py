"""Rows that come back by reverts, picks and merges: none is there twice, and none is lost."""

import pyarrow
import pytest

from lakebed import Conflict

COLUMNS = {"id": "long", "name": "string"}
pytestmark = pytest.mark.usefixtures("in_files")


def rows(*pairs):
    ids, names = zip(*pairs, strict=True)
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": pyarrow.array(names)})


def content(table):
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.fixture
def table(main):
    return main.create_table("people", COLUMNS)


@pytest.fixture
def keyed(main):
    return main.create_table("keyed", COLUMNS, primary_key=["id"])


class TestRowsThatComeBack:
    """A vector that gets smaller brings rows, as a file that is added does."""

    def test_a_revert_of_a_delete_does_not_give_a_key_a_second_row(self, main, keyed, unchanged):
        keyed.append(rows((1, "ada"), (2, "bob")))
        gone = keyed.delete("id = 1")
        keyed.upsert(rows((1, "eve")))
        with unchanged(), pytest.raises(Conflict, match="key id = 1"):
            main.revert(gone)

    def test_a_revert_of_a_delete_is_fine_beside_other_new_keys(self, main, keyed):
        keyed.append(rows((1, "ada"), (2, "bob")))
        gone = keyed.delete("id = 1")
        keyed.upsert(rows((3, "eve")))
        main.revert(gone)
        assert content(keyed) == [(1, "ada"), (2, "bob"), (3, "eve")]

    def test_a_merge_of_a_reverted_delete_does_not_give_a_key_a_second_row(self, main, keyed, unchanged):
        keyed.append(rows((1, "ada"), (2, "bob")))
        gone = keyed.delete("id = 1")
        dev = main.create_branch("dev")
        dev.revert(gone)
        keyed.upsert(rows((1, "eve")))
        with unchanged(), pytest.raises(Conflict, match="key id = 1"):
            main.merge(dev)

    @pytest.mark.parametrize(("strategy", "name"), [("ours", "eve"), ("theirs", "ada")])
    def test_such_a_merge_that_is_settled_has_one_of_the_rows(self, main, keyed, strategy, name):
        keyed.append(rows((1, "ada"), (2, "bob")))
        gone = keyed.delete("id = 1")
        dev = main.create_branch("dev")
        dev.revert(gone)
        keyed.upsert(rows((1, "eve")))
        main.merge(dev, strategy=strategy)
        assert content(keyed) == [(1, name), (2, "bob")]

    def test_rows_that_come_back_into_what_was_overwritten_are_a_conflict(self, main, table, unchanged):
        table.append(rows((1, "ada"), (2, "bob")))
        gone = table.delete("id = 1")
        dev = main.create_branch("dev")
        dev.revert(gone)
        table.overwrite(rows((1, "eve")), "id = 1")
        with unchanged(), pytest.raises(Conflict, match="overwrite"):
            main.merge(dev)

    def test_a_revert_of_an_update_does_not_bring_a_row_back_that_was_deleted_since(self, main, table, unchanged):
        table.append(rows((1, "ada"), (2, "bob")))
        update = table.update({"name": "'eve'"}, "id = 1")
        table.delete("id = 1")
        with unchanged(), pytest.raises(Conflict, match=r"row 1 .*ours deleted"):
            main.revert(update)

    @pytest.mark.parametrize("strategy", ["fail", "ours", "theirs"])
    def test_a_reverted_update_beside_a_delete_of_another_row_has_both(self, main, table, strategy):
        table.append(rows((1, "ada"), (2, "bob"), (3, "cy")))
        update = table.update({"name": "'eve'"}, "id = 1")
        dev = main.create_branch("dev")
        dev.revert(update)
        table.delete("id = 3")
        main.merge(dev, strategy=strategy)
        assert content(table) == [(1, "ada"), (2, "bob")]


class TestWhatIsThereAlready:
    """A revert or a pick of what the line has, in whatever form, brings it no second time and changes nothing of it."""

    def test_a_revert_of_a_compaction_does_not_delete_rows_again_whose_delete_was_reverted(self, main, table):
        table.append(rows((1, "ada"), (2, "bob")))
        gone = table.delete("id = 1")
        compaction = table.compact()
        main.revert(gone)
        main.revert(compaction)
        assert content(table) == [(1, "ada"), (2, "bob")]

    def test_a_pick_of_an_append_does_not_undo_deletes_that_came_with_its_file(self, main, table):
        dev = main.create_branch("dev")
        append = dev.table("people").append(rows((1, "ada"), (2, "bob")))
        dev.table("people").delete("id = 1")
        main.merge(dev)
        main.cherry_pick(append)
        assert content(table) == [(2, "bob")]

    def test_a_pick_of_a_delete_takes_rows_away_of_a_file_that_came_by_merge(self, main, table):
        dev = main.create_branch("dev")
        dev.table("people").append(rows((1, "ada"), (2, "bob")))
        main.merge(dev)
        main.cherry_pick(dev.table("people").delete("id = 1"))
        assert content(table) == [(2, "bob")]

    def test_a_delete_that_is_reverted_twice_does_not_bring_rows_beside_their_updates(self, main, table):
        table.append(rows((1, "ada")))
        table.append(rows((2, "bob")))
        gone = table.delete("id = 1")
        main.revert(gone)
        table.update({"name": "'eve'"}, "id = 1")
        main.revert(gone)
        assert content(table) == [(1, "eve"), (2, "bob")]

    def test_a_delete_that_is_reverted_twice_does_not_bring_rows_beside_a_compaction_that_was_changed(
        self, main, table
    ):
        table.append(rows((1, "ada")))
        table.append(rows((2, "bob")))
        gone = table.delete("id = 1")
        main.revert(gone)
        with main.transaction("both") as tx:
            tx.table("people").compact()
            tx.table("people").delete("id = 2")
        main.revert(gone)
        assert content(table) == [(1, "ada")]

    def test_an_append_that_is_picked_twice_does_not_come_beside_its_update(self, main, table):
        dev = main.create_branch("dev")
        append = dev.table("people").append(rows((1, "ada")))
        main.cherry_pick(append)
        table.update({"name": "'eve'"}, "id = 1")
        main.cherry_pick(append)
        assert content(table) == [(1, "eve")]

    def test_an_append_whose_pick_was_deleted_can_be_picked_anew(self, main, table):
        dev = main.create_branch("dev")
        append = dev.table("people").append(rows((1, "ada")))
        main.cherry_pick(append)
        table.truncate()
        main.cherry_pick(append)
        assert content(table) == [(1, "ada")]
