"""Which commits made a row what it is."""

import pytest

from lakebed import Catalog, Invalid, NotFound


@pytest.fixture
def items(main: Catalog, in_files):
    main.create_namespace("s")
    table = main.create_table("s.items", {"id": "long", "name": "string", "price": "double"}, primary_key=["id"])
    table.append(some(1, 2, 3), message="load")
    return table


def some(*ids: int) -> list[dict]:
    return [{"id": id, "name": "pen", "price": float(id)} for id in ids]


def said(row) -> dict[str, str]:
    return {name: commit.message for name, commit in row.cells.items()}


def test_each_cell_is_blamed_on_the_commit_that_changed_it_last(items):
    items.update({"price": "9"}, "id = 2", message="raise")
    items.update({"name": "'ink'"}, "id = 2", message="rename")
    row = items.blame(2)
    assert said(row) == {"id": "load", "name": "rename", "price": "raise"}
    assert (row.commit.message, row.key, row.values["price"]) == ("rename", {"id": 2}, 9.0)
    assert said(items.blame(1)) == dict.fromkeys(("id", "name", "price"), "load")
    assert str(row).splitlines()[0] == "id = 2"
    assert str(row).splitlines()[2].startswith("  name   'ink'  ")
    assert "rename" in row._repr_html_()


def test_moves_and_writes_of_the_same_value_are_not_changes(items):
    items.append(some(4), message="more")
    items.compact()
    items.update({"price": "price"}, "id = 2", message="nothing new")
    items.set_properties({"write.row-changes": "copy-on-write"})
    items.delete("id = 1", message="delete another")
    items.compact()
    assert said(items.blame(2)) == dict.fromkeys(("id", "name", "price"), "load")
    assert items.blame(4).commit.message == "more"


def test_a_merge_is_blamed_on_the_commits_of_its_branch(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "7"}, "id = 1", message="on dev")
    dev.table("s.items").append(some(8), message="new on dev")
    deep = dev.create_branch("deep")
    deep.table("s.items").update({"name": "'deep'"}, "id = 1", message="on deep")
    dev.merge(deep, message="merge deep")
    items.update({"price": "5"}, "id = 2", message="on main")
    main.merge(dev, message="merge")
    assert said(items.blame(1)) == {"id": "load", "name": "on deep", "price": "on dev"}
    assert said(items.blame(8)) == dict.fromkeys(("id", "name", "price"), "new on dev")
    assert items.blame(8).commit.message == "new on dev"
    assert items.blame(2).cells["price"].message == "on main"


def test_cells_that_a_merge_combined_are_blamed_on_both_sides(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "7"}, "id = 1", message="on dev")
    items.update({"name": "'ink'"}, "id = 1", message="on main")
    main.merge(dev, message="merge")
    assert said(items.blame(1)) == {"id": "load", "name": "on main", "price": "on dev"}
    dev.table("s.items").update({"price": "70"}, "id = 1", message="again on dev")
    items.update({"price": "50"}, "id = 1", message="again on main")
    main.merge(dev, resolve=lambda conflict: {"price": 60.0}, message="decided")
    assert said(items.blame(1)) == {"id": "load", "name": "on main", "price": "decided"}


def test_picks_reverts_and_restores_are_blamed_themselves_and_a_reset_is_not(main, items):
    before = main.version
    raised = items.update({"price": "7"}, "id = 1", message="raise")
    main.revert(raised, message="undo")
    assert items.blame(1).cells["price"].message == "undo"
    dev = main.create_branch("dev")
    named = dev.table("s.items").update({"name": "'ink'"}, "id = 1", message="on dev")
    main.cherry_pick(named, message="pick")
    assert said(items.blame(1)) == {"id": "load", "name": "pick", "price": "undo"}
    items.restore(before, message="back")
    assert items.blame(1).cells["name"].message == "back"
    items.truncate()
    main.reset(before, message="reset again")
    assert said(items.blame(1)) == dict.fromkeys(("id", "name", "price"), "load")


def test_a_column_that_came_later_is_blamed_on_the_commit_that_added_it(items):
    with items.evolve(message="stock") as change:
        change.add_column("stock", "int", default=1)
        change.rename_column("name", "title")
    row = items.blame(1)
    assert said(row) == {"id": "load", "title": "load", "price": "load", "stock": "stock"}
    assert row.commit.message == "load"
    items.update({"stock": "2"}, "id = 1", message="counted")
    assert items.blame(1).cells["stock"].message == "counted"


def test_a_column_that_came_after_a_merge_is_not_blamed_on_the_branch(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").append(some(8), message="on dev")
    main.merge(dev, message="merge")
    with items.evolve(message="stock") as change:
        change.add_column("stock", "int", default=1)
    row = items.blame(8)
    assert said(row) == {"id": "on dev", "name": "on dev", "price": "on dev", "stock": "stock"}
    assert row.commit.message == "on dev"


def test_a_row_that_came_again_is_blamed_on_the_commit_that_brought_it(items):
    items.delete("id = 3")
    items.append(some(3), message="again")
    assert said(items.blame(3)) == dict.fromkeys(("id", "name", "price"), "again")


def test_the_past_and_branches_have_their_own_answers(main, items):
    before = main.version
    items.update({"price": "7"}, "id = 1", message="raise")
    dev = main.create_branch("dev", at=before)
    assert items.at(before).blame(1).commit.message == "load"
    assert dev.table("s.items").blame(1).commit.message == "load"
    assert items.blame(1).commit.message == "raise"
    with main.transaction("open") as transaction:
        table = transaction.table("s.items")
        table.update({"price": "8"}, "id = 1")
        assert table.blame(1).commit.message == "raise"


def test_several_rows_and_rows_without_a_key_are_found_by_a_condition(main, items):
    table = main.create_table("t", {"v": "string"})
    table.append([{"v": "a"}, {"v": "b"}], message="load")
    table.update({"v": "'c'"}, "v = 'b'", message="change")
    assert [row.commit.message for row in table.blame()] == ["load", "change"]
    [row] = table.blame(where="v = 'c'")
    [same] = table.blame(where=f"_row_id = {row.row_id}")
    assert row == same
    assert str(row).startswith(f"row {row.row_id}\n")
    assert len(items.blame(limit=2)) == 2
    cells = items.blame().to_arrow()
    assert cells.column_names[:4] == ["row_id", "key", "column", "value"]
    assert set(cells["message"].to_pylist()) == {"load"}
    assert items.blame(1).to_arrow().num_rows == 3
    assert items.blame(where="id > 99") == []


def test_mistakes_are_refused(main, items):
    with pytest.raises(NotFound, match="an earlier version"):
        items.blame(99)
    with pytest.raises(Invalid, match="wrong number"):
        items.blame(1, 2)
    with pytest.raises(Invalid, match="a key or a condition"):
        items.blame(1, where="id = 1")
    with pytest.raises(Invalid, match="no primary key"):
        main.create_table("t", {"v": "string"}).blame(1)
    with pytest.raises(Invalid, match="staged"):
        items.stage_stream().blame(1)


def test_a_merge_whose_branch_was_purged_still_has_an_answer(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "7"}, "id = 1", message="on dev")
    main.merge(dev, message="merge")
    main.drop_branch("dev")
    assert items.blame(1).cells["price"].message == "on dev"
    main.purge_branch("dev")
    assert items.blame(1).cells["price"].message == "merge"  # as far as it is known


def test_only_files_that_a_row_was_in_are_opened(items, opened):
    for number in range(5):
        items.append(some(100 + number))
    items.update({"price": "9"}, "id = 2")
    opened.clear()
    items.blame(2)
    assert len({str(source) for source in opened}) <= 3


def test_a_share_blames_the_commits_of_its_line_only(main, items):
    dev = main.create_branch("dev")
    dev.table("s.items").update({"price": "7"}, "id = 1", message="on dev")
    main.merge(dev, message="merge")
    main.create_share("partners", ["s.items"])
    assert main.share("partners").table("s.items").blame(1).cells["price"].message == "merge"
