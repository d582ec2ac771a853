"""Drop and undrop (P9, P10, P15), and what is said of the dropped (D14-D16)."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Ambiguous, Conflict, Expired, Forbidden, Invalid, NotFound, event_id
from lakebed.records import records_pb2 as pb


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def make(line, name, *rows):
    """A table with some rows."""
    table = line.create_table(name, {"id": "long"}, properties={"rows": str(len(rows))})
    if rows:
        table.append(numbers(*rows))
    return table


@pytest.fixture
def sales(main):
    main.create_namespace("sales")
    return main


def names(line, namespace=None):
    return [one.name for one in line.tables(namespace)]


# Drop


def test_a_dropped_table_frees_its_name_at_once_and_stays_readable_as_of_then(sales):
    """P9."""
    table = make(sales, "sales.orders", 1, 2)
    before = sales.version
    dropped = sales.drop_table("sales.orders")
    assert not sales.table_exists("sales.orders")
    [row] = sales._scope.read().dropped(sales.namespace("sales").id)
    made = table.at(version=before).history()[-1].version
    assert (row.id, row.created, row.dropped, row.drop_type) == (table.id, made, dropped.version, pb.MARKED)
    assert ids(sales.at(version=before).table("sales.orders")) == [1, 2]
    again = make(sales, "sales.orders", 3)
    assert again.id != table.id
    assert ids(sales.at(version=before).table("sales.orders")) == [1, 2]


# Undrop


def test_undrop_after_drop_is_the_identity(sales):
    """Law 8: the id, the rows, the properties, the history and the handles are what they were."""
    table = make(sales, "sales.Orders", 1, 2)
    seen = table.id, ids(table), table.properties, table.schema, table.snapshots(), table.location
    stored = sales._scope.read().life(table.id)
    sales.drop_table("sales.orders")
    commit = sales.undrop_table("sales.ORDERS", message="back", author="ada", event_id=event_id("undrop"))
    assert (commit.message, commit.author, commit.id) == ("back", "ada", event_id("undrop"))
    assert [(one.type, one.object_id, one.name) for one in commit.operations] == [("undrop", table.id, "sales.Orders")]
    back = sales.table("sales.orders")
    assert (back.id, ids(back), back.properties, back.schema, back.snapshots(), back.location) == seen
    assert (table.name, back) == ("sales.Orders", table)
    life = sales._scope.read().life(table.id)
    assert not life.dropped and not life.HasField("drop_type")
    assert (life.container_id, life.name, life.create_version) == (
        stored.container_id,
        stored.name,
        stored.create_version,
    )
    table.append(numbers(3))
    assert ids(back) == [1, 2, 3]
    assert list(sales._scope.read().dropped(sales.namespace("sales").id)) == []


def test_as_of_reads_before_and_after_each_step_stay_the_same(sales):
    table = make(sales, "sales.orders", 1)
    alive = sales.version
    gone = sales.drop_table("sales.orders").version
    back = sales.undrop_table("sales.orders").version
    table.append(numbers(2))
    assert ids(sales.at(version=alive).table("sales.orders")) == [1]
    assert not sales.at(version=gone).table_exists("sales.orders")
    assert ids(sales.at(version=back).table("sales.orders")) == [1]
    assert ids(table) == [1, 2]


def test_several_of_one_name_are_told_apart_by_their_ids(sales):
    """P10."""
    first, second = make(sales, "sales.orders", 1), None
    sales.drop_table("sales.orders")
    second = make(sales, "sales.Orders", 2)
    sales.drop_table("sales.orders")
    with pytest.raises(Ambiguous) as caught:
        sales.undrop_table("sales.orders")
    assert caught.value.kind == "ambiguous"
    assert {one.id: one.name for one in caught.value.candidates} == {first.id: "orders", second.id: "Orders"}
    for one in caught.value.candidates:
        assert one.created <= one.dropped
        assert one.id in str(caught.value)
        assert f"{one.dropped:%Y-%m-%d %H:%M:%S}" in str(caught.value)
    sales.undrop_table("sales.orders", id=first.id)
    assert ids(sales.table("sales.orders")) == [1]
    with pytest.raises(AlreadyExists, match="taken"):
        sales.undrop_table("sales.orders", id=second.id)
    commit = sales.undrop_table("sales.orders", id=second.id, as_name="sales.older")
    assert commit.operations[0].detail == "sales.older"
    assert (sales.table("sales.older").id, ids(second)) == (second.id, [2])
    assert names(sales, "sales") == ["sales.older", "sales.orders"]


def test_an_undrop_onto_a_live_name_changes_nothing(sales, unchanged):
    make(sales, "sales.orders", 1)
    sales.drop_table("sales.orders")
    make(sales, "sales.orders", 2)
    for taken in (None, "sales.ORDERS"):
        with unchanged(), pytest.raises(AlreadyExists):
            sales.undrop_table("sales.orders", as_name=taken)
    with unchanged(), pytest.raises(NotFound, match="nowhere"):
        sales.undrop_table("sales.orders", as_name="nowhere.orders")


def test_a_table_is_not_brought_back_as_a_namespace_nor_the_other_way(main, unchanged):
    table, space = make(main, "one"), main.create_namespace("two")
    main.drop_table("one")
    main.drop_namespace("two")
    for undrop, name, object_id in ((main.undrop_namespace, "one", table.id), (main.undrop_table, "two", space.id)):
        for given in (None, object_id):
            with unchanged(), pytest.raises(NotFound):
                undrop(name, id=given)


def test_what_was_never_dropped_can_not_be_brought_back(sales, unchanged):
    table = make(sales, "sales.orders")
    with unchanged():
        with pytest.raises(NotFound, match="alive"):
            sales.undrop_table("sales.orders")
        with pytest.raises(AlreadyExists, match="not dropped"):
            sales.undrop_table("sales.orders", id=table.id)
        with pytest.raises(NotFound):
            sales.undrop_table("sales.other")
        with pytest.raises(NotFound):
            sales.undrop_table("sales.orders", id=event_id("nobody"))
    sales.drop_table("sales.orders")
    with unchanged(), pytest.raises(NotFound, match="another name"):
        sales.undrop_table("sales.items", id=table.id)


@pytest.mark.parametrize("bad", ["", "x", 7, ["a"], b"x"])
def test_what_is_no_id_or_name_is_invalid(sales, unchanged, bad):
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    with unchanged():
        with pytest.raises(Invalid):
            sales.undrop_table("sales.orders", id=bad)
        with pytest.raises(Invalid):
            sales.purge_table("sales.orders", id=bad)
        if bad != "x":
            with pytest.raises(Invalid):
                sales.undrop_table("sales.orders", as_name=bad)


def test_a_replayed_undrop_answers_the_first_commit(sales):
    """Also when the table was dropped again since."""
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    first = sales.undrop_table("sales.orders", event_id=event_id(1))
    assert sales.undrop_table("sales.orders", event_id=event_id(1)) == first
    sales.drop_table("sales.orders")
    assert sales.undrop_table("sales.orders", event_id=event_id(1)) == first
    assert not sales.table_exists("sales.orders")
    with pytest.raises(Invalid, match="another change"):
        sales.undrop_table("sales.orders", as_name="sales.other", event_id=event_id(1))


def test_the_past_brings_nothing_back(sales, unchanged):
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    with unchanged(), pytest.raises(Forbidden):
        sales.at(version=sales.version).undrop_table("sales.orders")


# Namespaces


def test_a_namespace_comes_back_with_all_that_it_held_but_what_was_dropped_before(sales):
    sales.create_namespace("sales.eu")
    kept, deep, gone = make(sales, "sales.orders", 1), make(sales, "sales.eu.items", 2), make(sales, "sales.old", 3)
    sales.drop_table("sales.old")
    sales.drop_namespace("sales", cascade=True)
    assert sales.tables(recursive=True) == []
    commit = sales.undrop_namespace("sales")
    assert [one.type for one in commit.operations] == ["undrop"]
    assert [one.id for one in sales.tables(recursive=True)] == [kept.id, deep.id]
    assert (ids(kept), ids(deep)) == ([1], [2])
    sales.undrop_table("sales.old")
    assert ids(gone) == [3]


def test_a_namespace_comes_back_under_another_name(sales):
    table = make(sales, "sales.orders", 1)
    sales.drop_namespace("sales", cascade=True)
    other = sales.create_namespace("sales")
    with pytest.raises(AlreadyExists):
        sales.undrop_namespace("sales")
    sales.undrop_namespace("sales", as_name="sales.old")
    assert table.name == "sales.old.orders"
    assert sales.namespace("sales") == other


def test_what_is_dead_with_its_namespace_says_so_and_comes_back_elsewhere(sales, unchanged):
    table, gone = make(sales, "sales.orders", 1), make(sales, "sales.gone", 2)
    sales.drop_table("sales.gone")
    sales.drop_namespace("sales", cascade=True)
    for name, one in (("sales.orders", table), ("sales.gone", gone)):
        with unchanged(), pytest.raises(NotFound, match=r"sales.*undrop_namespace"):
            sales.undrop_table(name)
        with unchanged(), pytest.raises(NotFound, match="Undrop the namespace first"):
            sales.undrop_table(name, id=one.id)
    sales.create_namespace("new")
    sales.undrop_table("sales.orders", id=table.id, as_name="new.orders")
    sales.undrop_table("sales.gone", id=gone.id, as_name="gone")
    assert (table.name, ids(table), gone.name, ids(gone)) == ("new.orders", [1], "gone", [2])
    sales.undrop_namespace("sales")
    assert names(sales, "sales") == []


def test_a_namespace_dropped_twice_is_ambiguous(main):
    for _ in range(2):
        main.create_namespace("n")
        main.drop_namespace("n")
    with pytest.raises(Ambiguous) as caught:
        main.undrop_namespace("n")
    chosen = caught.value.candidates[0].id
    main.undrop_namespace("n", id=chosen)
    assert main.namespace("n").id == chosen


# Branches


def test_an_inherited_table_dropped_on_a_branch_is_brought_back_there(sales):
    """P15."""
    table = make(sales, "sales.orders", 1)
    dev = sales.create_branch("dev")
    dev.drop_table("sales.orders")
    assert sales.table_exists("sales.orders")
    dev.undrop_table("sales.orders")
    dev.table("sales.orders").append(numbers(2))
    assert (dev.table("sales.orders").id, ids(dev.table("sales.orders")), ids(table)) == (table.id, [1, 2], [1])


def test_a_table_dropped_before_the_fork_is_brought_back_on_the_branch_alone(sales):
    table = make(sales, "sales.orders", 1)
    sales.drop_table("sales.orders")
    dev = sales.create_branch("dev")
    dev.undrop_table("sales.orders")
    assert (ids(dev.table("sales.orders")), sales.table_exists("sales.orders")) == ([1], False)
    make(sales, "sales.orders", 5)
    sales.undrop_table("sales.orders", as_name="sales.older")
    assert (sales.table("sales.older").id, dev.table("sales.orders").id) == (table.id, table.id)


# Transactions


def test_a_transaction_brings_back_what_it_dropped_itself(sales):
    table = make(sales, "sales.orders", 1)
    with sales.transaction() as tx:
        tx.drop_table("sales.orders")
        assert tx.undrop_table("sales.orders") is None
        assert tx.table("sales.orders").id == table.id
    assert ids(table) == [1]


def test_a_transaction_brings_back_what_it_made_and_dropped_itself(sales):
    with sales.transaction() as tx:
        made = make(tx, "sales.new", 1)
        tx.drop_table("sales.new")
        tx.undrop_table("sales.new", as_name="sales.newer")
    assert (sales.table("sales.newer").id, ids(sales.table("sales.newer"))) == (made.id, [1])


def test_a_transaction_tells_what_it_dropped_from_what_was_dropped_before(sales):
    old = make(sales, "sales.orders", 1)
    sales.drop_table("sales.orders")
    new = make(sales, "sales.orders", 2)
    with sales.transaction() as tx:
        tx.drop_table("sales.orders")
        with pytest.raises(Ambiguous) as caught:
            tx.undrop_table("sales.orders")
        assert {one.id for one in caught.value.candidates} == {old.id, new.id}
        tx.undrop_table("sales.orders", id=old.id)
        tx.undrop_table("sales.orders", as_name="sales.new")
    assert {one.name: one.id for one in sales.tables("sales")} == {"sales.new": new.id, "sales.orders": old.id}


def test_a_transaction_that_came_to_nothing_brings_nothing_back(sales, unchanged):
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    with unchanged(), pytest.raises(ZeroDivisionError), sales.transaction() as tx:
        tx.undrop_table("sales.orders")
        raise ZeroDivisionError


@pytest.mark.parametrize("meanwhile", ["undrop", "take the name", "drop another one", "drop the namespace"])
def test_an_undrop_that_lost_what_it_relied_on_is_a_conflict(sales, meanwhile):
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    with pytest.raises(Conflict), sales.transaction() as tx:
        tx.undrop_table("sales.orders", as_name="sales.back" if meanwhile == "drop another one" else None)
        match meanwhile:
            case "undrop":
                sales.undrop_table("sales.orders", as_name="sales.mine")
            case "take the name":
                make(sales, "sales.orders")
            case "drop another one":
                make(sales, "sales.orders")
                sales.drop_table("sales.orders")
            case "drop the namespace":
                sales.drop_namespace("sales", cascade=True)


def test_an_undrop_beside_unrelated_changes_is_none_of_their_business(sales):
    table, other = make(sales, "sales.orders"), make(sales, "sales.items")
    sales.drop_table("sales.orders")
    with sales.transaction() as tx:
        tx.undrop_table("sales.orders")
        other.append(numbers(1))
        make(sales, "sales.third")
        sales.drop_table("sales.third")
    assert sales.table("sales.orders") == table


# D14-D16


def test_a_dropped_table_says_when_it_was_dropped_and_how_to_get_it_back(sales):
    """D14: by its name and through its handle."""
    table = make(sales, "sales.orders", 1)
    dropped = sales.drop_table("sales.orders")
    by_name = [
        lambda: sales.table("sales.orders"),
        lambda: sales.drop_table("sales.orders"),
        lambda: sales.rename_table("sales.orders", "sales.other"),
    ]
    by_handle = [
        lambda: table.append(numbers(2)),
        lambda: table.set_properties({"a": "1"}),
        lambda: table.rename("sales.other"),
        lambda: table.scan(),
        lambda: table.name,
    ]
    for call in by_name + by_handle:
        with pytest.raises(NotFound) as caught:
            call()
        assert "dropped" in str(caught.value)
        assert f"version {dropped.version} ({dropped.time:%Y-%m-%d %H:%M:%S} UTC)" in str(caught.value)
        assert "undrop_table" in caught.value.advice


def test_what_was_never_there_does_not_say_that_it_was_dropped(sales):
    """D14: nothing is promised that can't be kept."""
    make(sales, "sales.orders")
    sales.drop_table("sales.orders")
    for call in (lambda: sales.table("sales.other"), lambda: sales.namespace("sales.orders")):
        with pytest.raises(NotFound) as caught:
            call()
        assert "dropped" not in str(caught.value)


def test_a_name_in_a_dropped_namespace_says_that_the_namespace_was_dropped(sales):
    table = make(sales, "sales.orders", 1)
    sales.drop_namespace("sales", cascade=True)
    for call in (lambda: sales.table("sales.orders"), lambda: make(sales, "sales.new"), lambda: ids(table)):
        with pytest.raises(NotFound, match="dropped") as caught:
            call()
        assert "undrop_namespace" in caught.value.advice


def test_to_create_after_a_drop_is_a_new_object(sales):
    """D14."""
    first = make(sales, "sales.orders", 1)
    sales.drop_table("sales.orders")
    second = make(sales, "sales.orders")
    assert (second.id != first.id, ids(second), len(second.snapshots())) == (True, [], 1)
    with pytest.raises(AlreadyExists):
        make(sales, "sales.orders")


def test_a_table_is_replaced_under_its_name_in_one_commit(sales):
    """D15: a drop of the old id and a create of the new one, and nobody ever sees neither or both."""
    old = make(sales, "sales.orders", 1)
    before = sales.version
    with sales.transaction("replace") as tx:
        tx.drop_table("sales.orders")
        new = make(tx, "sales.orders", 2)
    assert [(one.type, one.object_id) for one in tx.committed.operations[:2]] == [("drop", old.id), ("create", new.id)]
    assert (sales.table("sales.orders").id, ids(sales.table("sales.orders"))) == (new.id, [2])
    assert sales.at(version=before).table("sales.orders").id == old.id
    assert sales.at(version=tx.committed.version).table("sales.orders").id == new.id
    sales.undrop_table("sales.orders", as_name="sales.old")
    assert (sales.table("sales.old").id, ids(old)) == (old.id, [1])


def test_a_child_of_a_missing_ancestor_leaves_nothing(main, unchanged):
    """D16."""
    make(main, "table")
    for name in ("a.b", "a.b.c", ("a.x", "b"), "table.b"):
        with unchanged(), pytest.raises(NotFound):
            make(main, name, 1)
        with unchanged(), pytest.raises(NotFound):
            main.create_namespace(name)


def test_a_purged_table_is_expired_for_undrop(sales, unchanged):
    table = make(sales, "sales.orders", 1)
    sales.drop_table("sales.orders")
    sales.purge_table("sales.orders")
    with unchanged():
        for given in (None, table.id):
            for as_name in (None, "sales.back"):
                with pytest.raises(Expired):
                    sales.undrop_table("sales.orders", id=given, as_name=as_name)


KINDS = ["namespace", "table", "view", "branch", "tag", "share", "catalog"]


def calls(kind, lake, main):
    """How an object of a kind is made, opened, renamed, dropped and brought back; all by its name."""
    where = lake if kind == "catalog" else main
    needs = {"table": ({"id": "long"},), "view": ("select 1",), "share": (["sales"],)}.get(kind, ())
    change = [getattr(where, f"{what}_{kind}") for what in ("rename", "drop", "undrop")]
    return (lambda name: getattr(where, f"create_{kind}")(name, *needs)), getattr(where, kind), *change


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_object_answers_alike_when_it_is_there_missing_or_dropped(lake, sales, unchanged, kind):
    """D14: there already, not there, or dropped, which it says; whoever creates it then has a new one."""
    create, find, rename, drop, undrop = calls(kind, lake, sales)
    with unchanged():
        for call in (lambda: find("one"), lambda: rename("one", "two"), lambda: drop("one")):
            with pytest.raises(NotFound) as caught:
                call()
            assert "dropped" not in str(caught.value)
        with pytest.raises(NotFound):
            undrop("one")
    first = create("one")
    with unchanged(), pytest.raises(AlreadyExists):
        create("ONE")
    drop("one")
    with unchanged():
        for call in (lambda: find("one"), lambda: rename("one", "two"), lambda: drop("one")):
            with pytest.raises(NotFound) as caught:
                call()
            assert "dropped" in str(caught.value)
    second = create("one")
    assert (find("one"), second == first) == (second, False)
    with unchanged(), pytest.raises(AlreadyExists):
        create("one")


@pytest.mark.parametrize("way", ["create", "rename", "undrop"])
@pytest.mark.parametrize("kind", ["namespace", "table", "view"])
def test_nothing_is_put_where_there_is_no_namespace(lake, sales, unchanged, kind, way):
    """D16: missing, dropped, or no namespace at all; however it would get there."""
    create, _, rename, drop, undrop = calls(kind, lake, sales)
    create("sales.live")
    create("sales.gone")
    drop("sales.gone")
    make(sales, "table")
    sales.create_namespace("past")
    sales.drop_namespace("past")
    for place in ("missing", "sales.missing.deeper", "past", "table"):
        ways = {
            "create": lambda name: create(name),
            "rename": lambda name: rename("sales.live", name),
            "undrop": lambda name: undrop("sales.gone", as_name=name),
        }
        with unchanged(), pytest.raises(NotFound):
            ways[way](f"{place}.new")


def test_a_dropped_branch_was_not_found_by_its_id_in_capitals(main, unchanged):
    dev = main.create_branch("dev")
    main.drop_branch("dev")
    for wrong in ("nonsense", "", 5):
        with unchanged(), pytest.raises(Invalid, match="not an id"):
            main.undrop_branch("dev", id=wrong)
    main.undrop_branch("dev", id=dev._line.ref.line.id.upper())
    table = make(main, "t")
    main.drop_table("t")
    commit = main.undrop_table("t", id=table.id.upper())
    assert commit.operations[0].object_id == table.id


def test_what_was_dropped_is_listed_with_the_id_that_undrop_takes(lake, main):
    main.create_namespace("sales")
    main.create_table("sales.orders", {"id": "long"})
    main.create_view("v", "SELECT 1")
    main.create_branch("dev")
    main.drop_table("sales.orders", author="bob", message="not needed")
    main.create_table("sales.orders", {"id": "long"})
    main.drop_table("sales.orders", author="eve")
    main.drop_view("v")
    main.drop_branch("dev")
    main.drop_namespace("sales")
    found = main.dropped()
    kinds = ["namespace sales", "branch dev", "view v", "table sales.orders", "table sales.orders"]
    assert [f"{gone.type} {gone.name}" for gone in found] == kinds
    last = found[-1]
    assert (last.author, last.message, last.catalog) == ("bob", "not needed", "default")
    assert str(last).startswith("table sales.orders of default, dropped at 20")
    assert str(last).endswith(f"UTC by bob, id {last.id}")
    main.undrop_namespace("sales")
    main.undrop_table(last.name, last.id)
    assert main.table("sales.orders").id == last.id
    main.undrop_branch("dev", found[1].id)
    assert [gone.author for gone in main.dropped() if gone.type == "table"] == ["eve"]


def test_what_was_purged_is_not_listed(main):
    main.create_view("v", "SELECT 1")
    main.drop_view("v")
    main.purge_view("v")
    assert main.dropped() == []


def test_a_lake_lists_dropped_catalogs_too(lake, main):
    lake.create_catalog("other")
    lake.drop_catalog("other")
    main.create_namespace("n")
    main.drop_namespace("n")
    assert [(gone.type, gone.name, gone.catalog) for gone in lake.dropped()] == [
        ("namespace", "n", "default"),
        ("catalog", "other", ""),
    ]
    lake.undrop_catalog("other", lake.dropped()[1].id)
    assert lake.catalog("other").dropped() == []
