"""What merges, picks, reverts and resets once did to people, each found by the machine of the whole catalog."""

import pyarrow
import pytest

from lakebed import Catalog, Conflict

ROW = pyarrow.table({"id": pyarrow.array([1], pyarrow.int64())})


@pytest.fixture
def dev(main: Catalog) -> Catalog:
    """A branch of a catalog that has the namespace n with the table t in it."""
    main.create_namespace("n")
    main.create_table("n.t", {"id": "long"})
    return main.create_branch("dev")


def names(line: Catalog) -> list[str]:
    return [str(one.name) for one in line.tables(recursive=True)]


def test_reverting_the_making_of_a_namespace_does_not_drop_what_was_put_into_it_since(main):
    main.create_namespace("n")
    made = main.log(limit=1)[0]
    main.create_table("n.t", {"id": "long"}).append(ROW)
    with pytest.raises(Conflict):
        main.revert(made)
    assert names(main) == ["n.t"]


def test_picking_the_drop_of_a_namespace_does_not_drop_what_was_put_into_it_here(main, dev):
    dropped = dev.drop_namespace("n", cascade=True)
    main.create_table("n.u", {"id": "long"})
    with pytest.raises(Conflict):
        main.cherry_pick(dropped)
    assert names(main) == ["n.t", "n.u"]


def test_picking_a_change_of_a_namespace_does_not_ask_for_tables_that_were_never_here(main, dev):
    dev.create_table("n.u", {"id": "long"})
    changed = dev.namespace("n").set_properties({"k": "v"})
    main.cherry_pick(changed)
    assert (main.namespace("n").properties, names(main)) == ({"k": "v"}, ["n.t"])


def test_a_column_that_was_added_and_dropped_again_does_not_stand_against_a_drop(main, dev):
    main.drop_table("n.t")
    with dev.table("n.t").evolve() as evolving:
        evolving.add_column("x", "long")
    with dev.table("n.t").evolve() as evolving:
        evolving.drop_column("x")
    assert dev.merge(main).conflicts == ()
    assert names(dev) == []


def test_reverting_a_drop_inside_of_a_dropped_namespace_does_not_do_nothing_without_a_word(main, dev):
    dropped = main.drop_table("n.t")
    main.drop_namespace("n")
    with pytest.raises(Conflict):
        main.revert(dropped)


def test_what_was_done_in_a_namespace_before_both_dropped_it_is_no_conflict(main, dev):
    dev.table("n.t").append(ROW)
    dev.create_table("n.u", {"id": "long"})
    dev.drop_namespace("n", cascade=True)
    main.drop_namespace("n", cascade=True)
    assert main.merge(dev).conflicts == ()
    assert names(main) == []


def test_a_namespace_that_was_made_and_dropped_there_does_not_stop_a_merge(main, dev):
    dev.create_namespace("m")
    dev.create_table("m.u", {"id": "long"})
    dev.drop_namespace("m", cascade=True)
    dev.create_table("w", {"id": "long"})
    main.merge(dev)
    assert names(main) == ["w", "n.t"]


def test_what_a_namespace_held_comes_with_it_when_it_comes_back_after_a_merge(main, dev):
    dev.create_table("n.u", {"id": "long"}).append(ROW)
    dev.drop_namespace("n", cascade=True)
    main.merge(dev)
    dev.undrop_namespace("n")
    main.merge(dev)
    assert names(main) == ["n.t", "n.u"]
    assert main.table("n.u").scan().count() == 1


def test_a_table_that_a_merge_did_not_bring_is_not_dropped_where_it_was_made(main, dev):
    dev.create_table("n.u", {"id": "long"})
    dev.drop_namespace("n", cascade=True)
    main.merge(dev)
    main.set_properties({"k": "v"})
    dev.merge(main)
    dev.undrop_namespace("n")
    assert names(dev) == ["n.t", "n.u"]


@pytest.mark.parametrize("strategy", ["fail", "ours", "theirs"])
def test_namespaces_made_in_what_was_dropped_here_do_not_go_round_for_ever(main, dev, strategy):
    main.drop_namespace("n", cascade=True)
    dev.create_namespace("n.m")
    dev.create_table("n.m.u", {"id": "long"})
    assert main.merge(dev, strategy=strategy, dry_run=True).conflicts
    if strategy != "fail":
        main.merge(dev, strategy=strategy)
        assert main.table_exists("n.m.u") is (strategy == "theirs")


def test_a_table_that_was_reset_away_twice_comes_back_as_the_other_branch_has_it(main):
    main.create_namespace("n")
    first = main.version
    table = main.create_table("n.t", {"id": "long"})
    made = main.version
    table.append(ROW)
    with table.evolve() as evolving:
        evolving.add_column("x", "long")
    main.reset(first)
    main.reset(first)
    dev = main.create_branch("dev")
    dev.merge(main.at(made))
    assert (dev.table("n.t").schema.names, dev.table("n.t").scan().count()) == (("id",), 0)


def test_what_a_reset_left_dropped_does_not_conflict_with_what_is_alive_here(main):
    first = main.version
    view = main.create_view("v", "select 1")
    dev = main.create_branch("dev")
    main.drop_view("v")
    main.reset(first)
    main.set_properties({"k": "v"})
    dev.view("v").set_sql("select 2")
    assert dev.merge(main).conflicts == ()
    assert dev.view("v").id == view.id


def test_a_table_that_was_moved_into_a_namespace_and_dropped_with_it_there_does_not_stay_here(main, dev):
    dev.create_namespace("m")
    main.merge(dev)
    dev.rename_table("n.t", "m.t")
    dev.drop_namespace("m", cascade=True)
    main.merge(dev)
    assert names(main) == []


def test_a_line_can_be_reset_to_when_a_namespace_was_dropped_whose_table_has_come_back_elsewhere(main, dev):
    table = main.table("n.t").id
    main.drop_namespace("n", cascade=True)
    then = main.version
    main.undrop_table("n.t", id=table, as_name="t")
    main.reset(then)
    assert names(main) == []
    main.undrop_table("t", id=table)
    assert names(main) == ["t"]


def test_reverting_a_revert_again_does_not_do_nothing_without_a_word(main, dev):
    added = main.table("n.t").append(ROW)
    undone = main.revert(added)
    main.revert(undone)
    main.revert(added)
    main.revert(undone)
    assert main.table("n.t").scan().count() == 1
