"""Editions of a table: a rebuild beside the rows that readers see, swapped in by one commit."""

from pathlib import Path
from uuid import uuid4

import pytest

import lakebed
from lakebed.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from lakebed.lake.rows import appends

OLD = {"id": "long", "name": "string"}
NEW = {"id": "long", "title": "string", "size": "int"}


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(str(tmp_path / "lake"), author="ann") as opened:
        opened.catalog().create_namespace("sales")
        yield opened


@pytest.fixture
def main(lake):
    return lake.catalog()


@pytest.fixture
def orders(main):
    table = main.create_table("sales.orders", OLD)
    table.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    return table


def ids(table):
    return sorted(row["id"] for row in table.scan().to_arrow().to_pylist())


def states(table):
    return {one.name: one.state for one in table.editions()}


def second(orders, *values):
    edition = orders.create_edition("2", NEW)
    edition.append([{"id": value, "title": str(value), "size": 1} for value in values or (10,)])
    return edition


def test_a_table_is_born_with_one_active_edition(orders):
    [first] = orders.editions()
    assert (first.name, first.state, first.previous, first.rows) == ("1", "active", None, 2)
    assert first.canonical == "sales|orders|1"
    assert ids(orders.edition("1")) == ids(orders.edition(first.id)) == [1, 2]


def test_an_unreleased_edition_is_invisible_to_readers_of_the_table(main, orders):
    before = main.inspect("__tables").to_pylist()[0]["schema"]
    edition = second(orders)
    assert (ids(orders), ids(edition)) == ([1, 2], [10])
    assert states(orders) == {"1": "active", "2": "unreleased"}
    assert main.inspect("__tables").to_pylist()[0]["schema"] == before
    assert [str(table.name) for table in main.tables("sales")] == ["sales.orders"]


def test_activating_swaps_rows_columns_and_properties_by_one_commit_and_back(orders):
    edition = orders.create_edition("2", NEW, partition_by=["bucket(4, id)"], primary_key=["id"], properties={"a": "b"})
    edition.append([{"id": 10, "title": "x", "size": 3}])
    then = orders.version
    commit = orders.activate("2", message="the rebuild")
    assert int(commit.version) == int(then) + 1
    assert (ids(orders), orders.schema.names, orders.primary_key) == ([10], ("id", "title", "size"), ("id",))
    assert (str(orders.spec), orders.properties) == ("bucket(4, id)", {"a": "b"})
    assert states(orders) == {"1": "deprecated", "2": "active"}
    assert ids(orders.at(version=then)) == ids(orders.edition("1")) == [1, 2]
    orders.append([{"id": 11, "title": "y", "size": 1}])
    orders.activate("1")
    assert (ids(orders), ids(orders.edition("2"))) == ([1, 2], [10, 11])
    assert states(orders) == {"1": "active", "2": "deprecated"}


def test_activating_the_active_edition_changes_nothing(orders):
    second(orders)
    assert orders.activate("1").id == ""
    assert states(orders) == {"1": "active", "2": "unreleased"}


def test_an_edition_without_a_schema_has_that_of_the_active_one(main):
    table = main.create_table(
        "sales.items", OLD, partition_by=["id"], sort_by=["name"], primary_key=["id"], properties={"k": "v"}
    )
    edition = table.create_edition("2")
    assert (edition.schema.names, edition.primary_key, edition.properties) == (("id", "name"), ("id",), {"k": "v"})
    assert (str(edition.spec), str(edition.sort_order)) == (str(table.spec), str(table.sort_order))
    assert str(table.create_edition("3", partition_by=["bucket(2, id)"]).spec) == "bucket(2, id)"
    assert table.create_edition("4", NEW).primary_key == ()


def test_properties_that_nobody_could_use_are_refused_with_and_without_columns(orders):
    for schema in (None, NEW):
        with pytest.raises(Invalid, match="bogus"):
            orders.create_edition("2", schema, properties={"write.bogus": "1"})
    assert [one.name for one in orders.editions()] == ["1"]


def test_ids_that_callers_give_are_kept(orders):
    given = str(uuid4())
    assert orders.create_edition("2", id=given).id == given
    assert orders.edition(given).name == "sales.orders.edition_2"
    assert {one.name: one.id for one in orders.editions()}["2"] == given
    with pytest.raises(AlreadyExists):
        orders.create_edition("3", id=given)
    with pytest.raises(Invalid):
        orders.create_edition("3", id="seven")
    assert orders.create_edition("3").id != given


def test_previous_is_the_edition_that_was_active_then(orders):
    orders.create_edition("2")
    orders.activate("2")
    orders.create_edition("3")
    assert {one.name: one.previous for one in orders.editions()} == {"1": None, "2": "1", "3": "2"}


def test_an_edition_takes_every_change_of_rows_and_columns(orders):
    edition = orders.create_edition("2", NEW, primary_key=["id"])
    edition.append([{"id": value, "title": "t", "size": 1} for value in range(5)])
    edition.delete("id = 0")
    edition.update({"size": "size + 1"}, "id = 1")
    edition.upsert([{"id": 2, "title": "u", "size": 9}, {"id": 7, "title": "n", "size": 1}])
    with edition.evolve() as change:
        change.add_column("extra", "int")
    edition.compact()
    edition.checkpoint()
    assert ids(edition) == [1, 2, 3, 4, 7]
    assert edition.get(1)["size"] == 2
    assert "extra" not in orders.schema.names
    assert orders.edition("1").schema.names == ("id", "name")


def test_the_first_edition_takes_changes_while_another_is_active(orders):
    second(orders)
    orders.activate("2")
    first = orders.edition("1")
    first.append([{"id": 3, "name": "late"}])
    first.delete("id = 1")
    with first.evolve() as change:
        change.rename_column("name", "label")
    first.set_properties({"only": "here"})
    assert (ids(first), first.schema.names, ids(orders)) == ([2, 3], ("id", "label"), [10])
    assert "only" not in orders.properties
    assert orders.history()[-3].operations[0].name == "sales.orders.edition_2"
    assert first.properties == {"only": "here"}


def test_states_that_people_set_are_shown_and_others_are_refused(orders):
    orders.create_edition("2")
    for state in ("created", "beta", "deprecated", "unreleased"):
        orders.set_edition_state("2", state)
        assert states(orders)["2"] == state
    for name, state in (("2", "active"), ("2", "deleted"), ("2", "new"), ("1", "beta")):
        with pytest.raises(Invalid):
            orders.set_edition_state(name, state)
    assert states(orders) == {"1": "active", "2": "unreleased"}


def test_wrong_names_of_editions_are_refused_with_advice(orders):
    orders.create_edition("2")
    for call in (orders.edition, orders.activate, orders.drop_edition):
        with pytest.raises(NotFound, match="edition_3"):
            call("3")
        with pytest.raises(Invalid):
            call(2)
    for name in ("1", "2"):
        with pytest.raises(AlreadyExists, match=f"edition_{name}"):
            orders.create_edition(name)
    for name in ("", "a|b", "a/b"):
        with pytest.raises(Invalid):
            orders.create_edition(name)
    with pytest.raises(Invalid):
        orders.edition("2").rename("sales.other")
    with pytest.raises(Invalid):
        orders.edition("2").restore(-1)


def test_a_dropped_edition_comes_back_with_its_rows(orders):
    edition = second(orders)
    with pytest.raises(Invalid, match="active"):
        orders.drop_edition("1")
    orders.drop_edition("2")
    assert states(orders) == {"1": "active"}
    with pytest.raises(NotFound, match="undrop_edition"):
        edition.scan()
    with pytest.raises(NotFound, match="dropped"):
        orders.activate("2")
    orders.undrop_edition("2")
    assert (ids(edition), states(orders)["2"]) == ([10], "unreleased")


def test_the_first_edition_can_be_dropped_once_another_is_active(orders):
    second(orders)
    orders.activate("2")
    orders.drop_edition("1")
    assert (states(orders), ids(orders)) == ({"2": "active"}, [10])
    with pytest.raises(NotFound):
        orders.edition("1")
    orders.undrop_edition("1")
    orders.activate("1")
    assert ids(orders) == [1, 2]


def test_a_dropped_table_takes_its_editions_with_it_and_brings_them_back(main, orders):
    edition = second(orders)
    orders.activate("2")
    main.drop_table("sales.orders")
    with pytest.raises(NotFound):
        edition.scan()
    main.undrop_table("sales.orders")
    assert (ids(orders), ids(orders.edition("1"))) == ([10], [1, 2])


def test_a_purge_erases_the_records_and_files_of_all_editions(lake, main, orders):
    edition = orders.create_edition("2", NEW, properties={"write.inline-bytes": "0"})
    edition.append([{"id": 10, "title": "x", "size": 3}])
    staged = edition.stage_stream()
    staged.append([{"id": 11, "title": "y", "size": 3}])
    orders.create_edition("3")
    orders.drop_edition("3")
    main.drop_table("sales.orders")
    main.purge_table("sales.orders")
    assert not list(Path(lake.url.removeprefix("file://")).rglob("*.parquet"))
    found = lake.check()
    assert (found, found.orphans) == ([], ())


def test_names_of_editions_work_wherever_a_tables_name_does(lake, main, orders):
    second(orders)
    assert main.table("sales.orders.edition_2").schema.names == ("id", "title", "size")
    assert main.table("sales.orders.EDITION_2").id == orders.edition("2").id
    assert main.table_exists("sales.orders.edition_1")
    assert not main.table_exists("sales.orders.edition_9")
    query = "select (select count(*) from sales.orders) + sum(id) as n from sales.orders.edition_2"
    assert lake.query(query).to_arrow().to_pylist() == [{"n": 12}]
    main.create_namespace("orders")
    with pytest.raises(Invalid, match=r"Make the call on sales\.orders"):
        main.drop_table("sales.orders.edition_2")


def test_a_branch_has_editions_of_its_own_that_a_merge_brings_over(main, orders):
    dev = main.create_branch("dev")
    ours = dev.table("sales.orders")
    edition = second(ours)
    ours.activate("2")
    assert (ids(orders), ids(ours)) == ([1, 2], [10])
    assert [one.name for one in orders.editions()] == ["1"]
    assert {(row.kind, row.name) for row in main.diff(dev)} == {
        ("changed", "sales.orders"),
        ("created", "sales.orders.edition_1"),
        ("created", "sales.orders.edition_2"),
    }
    main.merge(dev)
    assert (ids(orders), states(orders)) == ([10], {"1": "deprecated", "2": "active"})
    assert orders.edition("2").id == edition.id
    assert ids(orders.edition("1")) == [1, 2]
    assert main.diff(dev) == []


def test_editions_that_are_activated_differently_on_two_branches_conflict(main, orders):
    second(orders)
    orders.create_edition("3")
    dev = main.create_branch("dev")
    dev.table("sales.orders").activate("2")
    orders.activate("3")
    with pytest.raises(Conflict) as error:
        main.merge(dev)
    assert [row.what for row in error.value.conflicts] == ["active edition"]
    main.merge(dev, strategy="theirs")
    assert states(orders) == {"1": "deprecated", "2": "active", "3": "deprecated"}


def test_rows_that_two_branches_append_to_an_edition_are_merged_as_a_tables_are(main, orders):
    edition = second(orders)
    dev = main.create_branch("dev")
    dev.table("sales.orders").edition("2").append([{"id": 20, "title": "d", "size": 1}])
    edition.append([{"id": 30, "title": "m", "size": 1}])
    dev.table("sales.orders").append([{"id": 3, "name": "c"}])
    main.merge(dev)
    assert (ids(edition), ids(orders)) == ([10, 20, 30], [1, 2, 3])


def test_an_edition_that_one_branch_drops_and_another_fills_is_a_conflict(main, orders):
    edition = second(orders)
    dev = main.create_branch("dev")
    dev.table("sales.orders").drop_edition("2")
    edition.append([{"id": 30, "title": "m", "size": 1}])
    with pytest.raises(Conflict):
        main.merge(dev)
    other = main.create_branch("other")
    other.table("sales.orders").drop_edition("2")
    main.merge(other)
    assert states(orders) == {"1": "active"}


def test_a_revert_of_an_activation_goes_back(main, orders):
    second(orders)
    commit = orders.activate("2")
    orders.append([{"id": 11, "title": "y", "size": 1}])
    main.revert(commit)
    assert (ids(orders), states(orders)) == ([1, 2], {"1": "active", "2": "unreleased"})
    assert ids(orders.edition("2")) == [10, 11]


def test_a_table_that_is_restored_has_the_edition_and_the_rows_of_then(main, orders):
    edition = second(orders)
    then = orders.version
    orders.activate("2")
    edition.append([{"id": 11, "title": "y", "size": 1}])
    orders.create_edition("3")
    orders.restore(then)
    assert (ids(orders), states(orders), ids(edition)) == ([1, 2], {"1": "active", "2": "unreleased"}, [10])


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize("dropper", ["main", "dev"])
def test_a_merge_that_drops_the_edition_that_the_other_branch_activated_left_the_catalog_unreadable(
    main, orders, strategy, dropper
):
    second(orders)
    dev = main.create_branch("dev")
    sides = {"main": orders, "dev": dev.table("sales.orders")}
    sides.pop(dropper).drop_edition("2")
    [activating] = sides.values()
    activating.append([{"id": 3, "name": "c"}])
    activating.activate("2")
    activating.append([{"id": 11, "title": "y", "size": 1}])
    with pytest.raises(Conflict):
        main.merge(dev)
    [conflict] = [one for one in main.merge(dev, strategy=strategy).conflicts if one.what == "drop"]
    assert conflict.name == "sales.orders.edition_2"
    assert states(orders) == {"1": "deprecated", "2": "active"}
    assert (ids(orders), ids(orders.edition("1"))) == ([10, 11], [1, 2, 3])
    assert main.inspect("__files").num_rows > 0
    assert main.inspect("__tables").num_rows == 1


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize("activating", ["main", "dev"])
def test_editions_of_one_name_left_the_table_with_an_active_edition_that_lost_its_name(
    main, orders, strategy, activating
):
    dev = main.create_branch("dev")
    second(orders, 10)
    second(dev.table("sales.orders"), 20)
    {"main": main, "dev": dev}[activating].table("sales.orders").activate("2")
    main.merge(dev, strategy=strategy)
    assert ids(orders) == ids(orders.edition("2")) == [10 if activating == "main" else 20]
    assert states(orders) == {"1": "deprecated", "2": "active"}


def test_a_pick_or_revert_that_shows_a_dropped_edition_is_a_conflict(main, orders):
    second(orders)
    orders.activate("2")
    back = orders.activate("1")
    dev = main.create_branch("dev")
    again, dropped = dev.table("sales.orders").activate("2"), orders.drop_edition("2")
    for change in (lambda: main.revert(back), lambda: main.cherry_pick(again)):
        with pytest.raises(Conflict):
            change()
    with pytest.raises(Conflict):
        dev.cherry_pick(dropped)
    assert (ids(orders), ids(dev.table("sales.orders"))) == ([1, 2], [10])


@pytest.mark.parametrize("how", ["restore", "reset"])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_going_back_to_before_the_second_edition_deleted_the_first(lake, main, orders, how, is_dropped):
    then = orders.version
    second(orders)
    orders.activate("2")
    if is_dropped:
        orders.drop_edition("1")
    if how == "restore":
        orders.restore(then)
    else:
        main.reset(then)
    assert (states(orders), ids(orders), ids(orders.edition("1"))) == ({"1": "active"}, [1, 2], [1, 2])
    second(orders)
    orders.activate("2")
    orders.activate("1")
    assert (ids(orders), list(lake.check(deep=True))) == ([1, 2], [])


def test_a_revert_of_the_second_editions_creation_deleted_the_first(main, orders):
    orders.create_edition("2", NEW)
    main.revert(main.log(limit=1)[0])
    assert (states(orders), ids(orders), ids(orders.edition("1"))) == ({"1": "active"}, [1, 2], [1, 2])


@pytest.mark.parametrize("dropper", ["main", "dev"])
def test_a_merge_dropped_rows_that_were_appended_to_the_first_edition_meanwhile(main, orders, dropper):
    second(orders)
    orders.activate("2")
    dev = main.create_branch("dev")
    sides = {"main": orders, "dev": dev.table("sales.orders")}
    sides.pop(dropper).drop_edition("1")
    [filling] = sides.values()
    filling.edition("1").append([{"id": 3, "name": "c"}])
    with pytest.raises(Conflict):
        main.merge(dev)
    main.merge(dev, strategy="ours" if dropper == "dev" else "theirs")
    assert ids(orders.edition("1")) == [1, 2, 3]


def test_a_pick_of_a_drop_of_the_first_edition_conflicts_with_rows_appended_to_it(main, orders):
    second(orders)
    orders.activate("2")
    dev = main.create_branch("dev")
    dropped = dev.table("sales.orders").drop_edition("1")
    orders.edition("1").append([{"id": 3, "name": "c"}])
    with pytest.raises(Conflict):
        main.cherry_pick(dropped)


def test_a_first_edition_that_a_branch_replaced_and_dropped_was_the_only_one_after_the_merge(main, orders):
    dev = main.create_branch("dev")
    branched = dev.table("sales.orders")
    second(branched)
    branched.activate("2")
    branched.drop_edition("1")
    main.merge(dev)
    assert (states(orders), ids(orders)) == ({"2": "active"}, [10])
    new = main.create_branch("new")
    other = new.create_table("sales.other", OLD)
    second(other)
    other.activate("2")
    other.drop_edition("1")
    main.merge(new)
    assert states(main.table("sales.other")) == {"2": "active"}


def test_a_transaction_creates_fills_and_activates_an_edition_as_one_commit(main, orders):
    before = main.version
    with main.transaction("rebuild") as tx:
        table = tx.table("sales.orders")
        edition = table.create_edition("2", NEW)
        edition.append([{"id": 10, "title": "x", "size": 3}])
        table.activate("2")
        assert (ids(table), ids(orders)) == ([10], [1, 2])
        table.append([{"id": 11, "title": "y", "size": 3}])
        table.edition("1").append([{"id": 3, "name": "late"}])
    assert int(main.version) == int(before) + 1
    assert (ids(orders), ids(orders.edition("1"))) == ([10, 11], [1, 2, 3])


@pytest.mark.parametrize(("before", "after"), [("1", "2"), ("2", "1"), ("2", "3")])
def test_a_transaction_that_wrote_for_the_edition_before_conflicts_with_an_activation(main, orders, before, after):
    for name in ("2", "3"):
        orders.create_edition(name)
    orders.activate(before)
    held = ids(orders)
    with pytest.raises(Conflict, match="storage"), main.transaction("append") as tx:
        tx.table("sales.orders").append([{"id": 3, "name": "c"}])
        orders.activate(after)
    assert ids(orders.edition(before)) == held
    assert 3 not in ids(orders)


def test_rows_in_memory_that_race_an_activation_are_written_again_for_the_new_edition(orders, monkeypatch):
    edition, written = orders.create_edition("2", {"id": "long", "name": "string", "more": "int"}), []
    write = appends.write_rows

    def write_and_lose(work, state, data, *others, **options):
        rows = write(work, state, data, *others, **options)
        if not written:
            orders.activate("2")
        written.append(state.schema.names)
        return rows

    monkeypatch.setattr(appends, "write_rows", write_and_lose)
    orders.append([{"id": 5, "name": "late"}])
    assert written == [("id", "name"), ("id", "name", "more")]
    assert (ids(edition), ids(orders.edition("1"))) == ([5], [1, 2])


def test_the_same_event_id_creates_and_activates_once(orders):
    event = lakebed.event_id("edition", 2)
    first = orders.create_edition("2", NEW, event_id=event)
    assert orders.create_edition("2", NEW, event_id=event).id == first.id
    again = lakebed.event_id("activate")
    assert orders.activate("2", event_id=again).id == orders.activate("2", event_id=again).id
    same = lakebed.event_id("append")
    orders.edition("1").append([{"id": 3, "name": "c"}], event_id=same)
    with pytest.raises(Invalid, match="another change"):
        orders.append([{"id": 3, "title": "c", "size": 1}], event_id=same)


def test_a_pinned_handle_and_a_share_can_read_editions_and_not_change_them(main, orders):
    second(orders)
    then = main.at(version=main.version).table("sales.orders")
    orders.drop_edition("2")
    assert ids(then.edition("2")) == [10]
    with pytest.raises(Forbidden):
        then.activate("2")
    orders.undrop_edition("2")
    share = main.create_share("partner", ["sales.orders"])
    assert ids(share.table("sales.orders").edition("2")) == [10]
    orders.activate("2")
    assert ids(share.table("sales.orders")) == [10]
    with pytest.raises(Forbidden):
        share.table("sales.orders").activate("1")


def test_the_log_has_the_work_on_editions_under_the_table(main, orders):
    edition = second(orders)
    orders.activate("2")
    names = [[done.type for done in commit.operations] for commit in orders.history()]
    assert names[:4] == [["activate", "activate"], ["insert"], ["create", "create"], ["insert"]]
    assert main.log(table="sales.orders")[0].operations[0].detail == "edition 1 to 2"
    assert main.log(table="sales.orders.edition_2") == main.log(table=edition) == edition.history()
    assert [commit.version for commit in edition.history()] == [
        commit.version for commit in orders.history() if int(commit.version) >= int(orders.editions()[1].version)
    ]


def test_system_tables_documents_and_snapshots_follow_the_active_edition(lake, main, orders):
    edition = orders.create_edition("2", NEW, properties={"write.inline-bytes": "0"})
    edition.append([{"id": 10, "title": "x", "size": 3}])
    orders.activate("2")
    rows = main.inspect("__editions").to_pylist()
    assert [(row["edition"], row["state"], row["is_active"], row["total_rows"]) for row in rows] == [
        ("1", "deprecated", False, 2),
        ("2", "active", True, 1),
    ]
    assert main.inspect("__files").to_pylist()[0]["record_count"] == 1
    assert len(orders.snapshots()) == 2
    assert "title" in str(orders.describe())
    assert orders.export_iceberg().endswith(".json")
    orders.drop_edition("1")
    assert [row["state"] for row in main.inspect("__editions").to_pylist()] == ["active", "deleted"]
    assert lake.check() == []


def test_an_edition_survives_a_backup(lake, main, orders, tmp_path):
    edition = orders.create_edition("2", NEW, properties={"write.inline-bytes": "0"})
    edition.append([{"id": 10, "title": "x", "size": 3}])
    lake.backup(str(tmp_path / "copy"))
    with lakebed.connect(str(tmp_path / "copy"), create=False) as copy:
        table = copy.catalog().table("sales.orders")
        table.activate("2")
        assert ids(table) == [10]
        assert copy.check() == []
