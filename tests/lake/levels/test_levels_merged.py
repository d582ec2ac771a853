"""Merges of editions, streams and partitions whose rows one side hid from the other's writers."""

import pytest

from lakebed import Conflict


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def active(table):
    return [one.name for one in table.editions() if one.state == "active"]


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long", "day": "string"}, partition_by=["day"])
    table.append([{"id": 1, "day": "mon"}])
    return table


@pytest.fixture
def dev(main, orders):
    """A branch on which a rebuild of the table is active."""
    branch = main.create_branch("dev")
    there = branch.table("sales.orders")
    there.create_edition("2").append([{"id": 10, "day": "mon"}])
    there.activate("2")
    return branch


def test_rows_that_came_before_a_merge_activated_another_edition_were_hidden_without_a_word(main, orders, dev):
    """Readers of the table no longer saw them. The same the other way round."""
    orders.append([{"id": 2, "day": "mon"}])
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    [found] = error.value.conflicts
    assert (found.what, found.base, found.ours, found.theirs) == ("active edition", "1", "rows of edition 1", "2")
    [turned] = dev.merge(main, dry_run=True).conflicts
    assert (turned.what, turned.ours, turned.theirs) == ("active edition", "2", "rows of edition 1")
    assert ids(orders) == [1, 2]


@pytest.mark.parametrize(("strategy", "shown"), [("ours", ["1"]), ("theirs", ["2"])])
def test_a_strategy_decides_which_edition_is_shown(lake, main, orders, dev, strategy, shown):
    orders.append([{"id": 2, "day": "mon"}])
    main.merge(dev, strategy=strategy)
    assert (active(orders), ids(orders.edition("1")), ids(orders.edition("2"))) == (shown, [1, 2], [10])
    assert main.merge(dev, dry_run=True).conflicts == ()
    assert lake.check() == []


def test_a_rebuild_that_caught_up_is_merged(main, orders, dev):
    """The rows come to the branch first, and into its edition; then nothing is hidden."""
    orders.append([{"id": 2, "day": "mon"}])
    dev.merge(main, strategy="ours")
    there = dev.table("sales.orders")
    assert (active(there), ids(there.edition("1"))) == (["2"], [1, 2])
    there.append([{"id": 20, "day": "mon"}])
    main.merge(dev)
    assert (active(orders), ids(orders)) == (["2"], [10, 20])


def test_what_hides_no_row_is_no_conflict(main, orders, dev):
    orders.create_edition("3").append([{"id": 30, "day": "tue"}])
    orders.set_comment("still written to")
    orders.compact()
    main.merge(dev)
    assert (active(orders), ids(orders)) == (["2"], [10])


def test_rows_of_a_later_edition_are_not_hidden_either(main, orders):
    orders.create_edition("2").append([{"id": 10, "day": "mon"}])
    orders.activate("2")
    dev = main.create_branch("dev")
    dev.table("sales.orders").activate("1")
    orders.edition("1").append([{"id": 2, "day": "mon"}])
    assert main.merge(dev, dry_run=True).conflicts == ()
    orders.append([{"id": 11, "day": "mon"}])
    [found] = main.merge(dev, dry_run=True).conflicts
    assert (found.base, found.ours, found.theirs) == ("2", "rows of edition 2", "1")


@pytest.mark.parametrize("level", ["partition", "stream"])
@pytest.mark.parametrize("by_main", [True, False])
def test_rows_staged_on_one_branch_were_lost_when_another_committed_what_they_were_staged_in(
    lake, main, orders, level, by_main
):
    def staged(line):
        table = line.table("sales.orders")
        return table.partition(id=made.id) if level == "partition" else table.stream(made.stream_id)

    made = orders.stage_partition({"day": "mon"}) if level == "partition" else orders.stage_stream()
    made.append([{"id": 5, "day": "mon"}])
    dev = main.create_branch("dev")
    committer, filler = (main, dev) if by_main else (dev, main)
    staged(committer).commit()
    assert main.merge(dev, dry_run=True).conflicts == ()
    staged(filler).append([{"id": 6, "day": "mon"}])
    [found] = main.merge(dev, dry_run=True).conflicts
    sides = ("committed", "rows") if by_main else ("rows", "committed")
    assert (found.what, found.base, found.ours, found.theirs) == ("state", "staged", *sides)
    main.merge(dev, strategy="ours")
    assert (ids(orders), staged(main).state) == ([5], "committed")
    assert lake.check() == []


def test_names_are_shown_in_conflicts_and_differences_not_ids_and_bytes(main, orders):
    orders.create_edition("2")
    orders.create_edition("3")
    orders.create_partition({"day": "mon"})
    start, dev = main.version, main.create_branch("dev")
    orders.activate("2")
    dev.table("sales.orders").activate("3")
    for line, day in ((main, "tue"), (dev, "wed")):
        line.table("sales.orders").edition("1").partition({"day": "mon"}).rename({"day": day})
    found = main.merge(dev, dry_run=True).conflicts
    texts = {(one.what, str(one.base), str(one.ours), str(one.theirs)) for one in found}
    assert texts >= {("active edition", "1", "2", "3"), ("partition", "day=mon", "day=tue", "day=wed")}
    told = [str(one) for one in main.at(version=start).diff(main)]
    assert "changed table sales.orders (active edition: 1 to 2" in told[0]
    assert any("(partition: day=mon to day=tue" in one for one in told)
