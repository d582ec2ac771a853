"""Many changes as one commit, or none of it: what a transaction sees, and what it leaves."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Conflict, Invalid, NotFound, event_id

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table, **asked):
    return table.scan(**asked).to_arrow()["id"].to_pylist()


def rename_column(table, old, new):
    with table.evolve() as change:
        change.rename_column(old, new)


class Oops(Exception):
    """Something that has nothing to do with Lakebed."""


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    orders = main.create_table("sales.orders", {"id": "long"})
    orders.append(numbers(1))
    return orders


def test_changes_to_many_tables_are_one_commit(main, orders):
    before = len(main.log())
    with main.transaction("load november", author="bob") as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.create_table("sales.items", {"id": "long"}).append(numbers(3, 4))
        tx.create_namespace("archive", properties={"a": "b"})
        tx.set_properties({"season": "autumn"})
    [commit] = main.log()[:-before]
    assert commit == tx.committed
    assert (commit.message, commit.author, commit.version) == ("load november", "bob", main.version)
    assert [(one.type, one.name) for one in commit.operations] == [
        ("insert", "sales.orders"),
        ("create", "sales.items"),
        ("insert", "sales.items"),
        ("create", "archive"),
        ("set_properties", ""),
    ]
    assert (ids(orders), ids(main.table("sales.items"))) == ([1, 2], [3, 4])
    assert (main.namespace("archive").properties, main.properties) == ({"a": "b"}, {"season": "autumn"})
    versions = {orders.version, main.table("sales.items").version, main.namespace("archive").version}
    assert versions == {commit.version}


def test_nobody_else_sees_a_transaction_before_its_end(main, orders, unchanged):
    with main.transaction("load") as tx:
        with unchanged():
            tx.create_namespace("new")
            tx.rename_table("sales.orders", "new.orders")
            tx.namespace("sales").set_properties({"a": "b"})
            assert (main.table_exists("sales.orders"), main.namespace_exists("new")) == (True, False)
        tx.table("new.orders").append(numbers(2))
        assert ids(orders) == [1]
        assert main.namespace("sales").properties == {}
    assert ids(main.table("new.orders")) == [1, 2]


def test_a_transaction_reads_what_it_did(main, orders):
    """Names, listings, properties, rows, and tables that it made itself."""
    with main.transaction("all of it") as tx:
        tx.create_namespace("a")
        made = tx.create_table("a.made", {"id": "long"}, properties={"x": "1"})
        made.append(numbers(10))
        made.append(numbers(11))
        made.set_properties({"y": "2"})
        assert (made.name, made.properties, ids(made), made.version) == ("a.made", {"x": "1", "y": "2"}, [10, 11], None)
        assert ids(tx.table("a.made"), where="id > 10") == [11]
        tx.table("sales.orders").append(numbers(2))
        assert ids(tx.table("SALES.orders")) == [1, 2]
        tx.rename_namespace("a", "sales.b")
        assert made.name == "sales.b.made"
        tx.rename_table("sales.orders", "sales.b.Orders")
        assert [one.name for one in tx.tables(recursive=True)] == ["sales.b.made", "sales.b.Orders"]
        assert [one.name for one in tx.namespaces(recursive=True)] == ["sales", "sales.b"]
        assert not tx.table_exists("sales.orders")
        tx.set_properties({"p": "q"})
        tx.unset_properties(["p"])
        assert tx.properties == {}
        with pytest.raises(AlreadyExists):
            tx.create_table("sales.b.ORDERS", {"id": "long"})
        tx.drop_table("sales.b.made")
        with pytest.raises(NotFound):
            made.append(numbers(12))
        assert [one.name for one in tx.tables("sales.b", prefix="O")] == ["sales.b.Orders"]
    assert [one.name for one in main.tables(recursive=True)] == ["sales.b.Orders"]
    assert ids(orders) == [1, 2]


def test_a_transaction_sees_nothing_of_what_others_commit_meanwhile(main, orders):
    with pytest.raises(Oops), main.transaction("look") as tx:
        orders.append(numbers(2))
        main.create_table("sales.new", {"id": "long"})
        orders.set_properties({"a": "b"})
        assert ids(tx.table("sales.orders")) == [1]
        assert [one.name for one in tx.tables("sales")] == ["sales.orders"]
        assert tx.table("sales.orders").properties == {}
        raise Oops


def test_several_appends_to_one_table_are_one_delta(orders, main):
    with main.transaction("many") as tx:
        for number in (2, 3, 4):
            tx.table("sales.orders").append(numbers(number))
    newest, before = orders.snapshots()[:2]
    assert (newest.previous_id, newest.sequence_number) == (before.id, before.sequence_number + 1)
    assert newest.counts["added_files"] == newest.counts["added_rows"] == 3
    assert [(one.type, one.counts["added_rows"]) for one in tx.committed.operations] == [("insert", 3)]
    assert ids(orders) == [1, 2, 3, 4]


def test_a_table_that_was_created_and_filled_has_one_snapshot(main):
    with main.transaction("both") as tx:
        tx.create_table("t", {"id": "long"}).append(numbers(1, 2))
    [only] = main.table("t").snapshots()
    assert (only.previous_id, only.sequence_number, only.operation, only.totals["rows"]) == (None, 1, "insert", 2)


def test_what_was_created_and_dropped_in_one_transaction_is_nothing(main, orders, files):
    listing, before = [one.name for one in main.tables(recursive=True)], files()
    with main.transaction("nothing") as tx:
        tx.create_namespace("short")
        table = tx.create_table("short.lived", {"id": "long"})
        table.append(numbers(1))
        tx.drop_table("short.lived")
        tx.create_table("short.second", {"id": "long"}).append(numbers(2))
        tx.drop_namespace("short", cascade=True)
    assert tx.committed.operations == ()
    assert main.version == tx.committed.version
    assert ([one.name for one in main.tables(recursive=True)], main.namespace_exists("short")) == (listing, False)
    assert main.log(table=orders)[0].version < tx.committed.version
    assert files() == before


@pytest.mark.parametrize("event", [None, "e" * 32], ids=["", "with an event id"])
def test_a_transaction_that_only_reads_commits_nothing(main, orders, event):
    """It used to make an empty commit. Repeated with its event id, it reads again: it had no effect to double."""
    before = main.log()
    for _ in range(2):
        with main.transaction("nothing", event_id=event) as tx:
            assert ids(tx.table("sales.orders")) == [1]
        assert (tx.committed, main.log()) == (None, before)


@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_a_transaction_that_only_reads_never_conflicts_on_a_busy_lake(main, orders, isolation):
    """It used to end in `Conflict` if anything that it had read was changed before its end."""
    with main.transaction("report", isolation=isolation) as tx:
        assert ids(tx.table("sales.orders")) == [1]
        assert [one.name for one in tx.tables("sales")] == ["sales.orders"]
        orders.append(numbers(2))
        orders.set_properties({"a": "b"})
        main.create_table("sales.items", {"id": "long"})
        assert ids(tx.table("sales.orders")) == [1], "at its snapshot"
        main.drop_namespace("sales", cascade=True)
        assert [one.name for one in tx.tables("sales")] == ["sales.orders"]
    assert tx.committed is None


def test_a_transaction_that_only_reads_ends_well_on_a_branch_that_was_dropped(main, orders):
    dev = main.create_branch("dev")
    with dev.transaction("report") as tx:
        main.drop_branch("dev")
        assert ids(tx.table("sales.orders")) == [1]
    assert tx.committed is None


def test_a_transaction_whose_changes_find_nothing_commits_only_with_an_event_id(main, orders):
    def clean(event=None):
        with main.transaction("clean", event_id=event) as tx:
            tx.table("sales.orders").delete("id = 99")
            tx.table("sales.orders").set_properties({})
        return tx.committed

    before = main.log()
    assert (clean(), main.log()) == (None, before)
    commit = clean("e" * 32)
    orders.append(numbers(99))
    assert (clean("e" * 32), ids(orders)) == (commit, [1, 99]), "a repetition deletes no row that came later"


def test_a_transaction_that_changes_something_still_conflicts(main, orders):
    other = main.create_table("sales.other", {"id": "long"})
    with pytest.raises(Conflict), main.transaction("copy") as tx:
        tx.table("sales.other").append(tx.table("sales.orders").scan().to_arrow())
        orders.append(numbers(2))
    assert ids(other) == []


def test_a_name_that_a_transaction_frees_can_be_used_in_it(main, orders):
    with main.transaction("swap") as tx:
        tx.rename_table("sales.orders", "sales.old")
        fresh = tx.create_table("sales.orders", {"id": "long"})
        fresh.append(numbers(7))
        assert ids(tx.table("sales.orders")) == [7]
        assert ids(tx.table("sales.old")) == [1]
    assert (main.table("sales.old").id, main.table("sales.orders").id) == (orders.id, fresh.id)
    with main.transaction("drop and create") as tx:
        tx.drop_table("sales.old")
        again = tx.create_table("sales.OLD", {"id": "long"})
    assert main.table("sales.old").id == again.id != orders.id


def test_changing_an_object_and_dropping_it_in_one_transaction_is_refused(main, orders, unchanged):
    changes = [
        lambda tx: tx.table("sales.orders").append(numbers(2)),
        lambda tx: tx.table("sales.orders").set_properties({"a": "b"}),
    ]
    drops = [lambda tx: tx.drop_table("sales.orders"), lambda tx: tx.drop_namespace("sales", cascade=True)]
    for change in changes:
        for drop in drops:
            with (
                unchanged(),
                pytest.raises(Invalid, match="changes an object and drops it"),
                main.transaction("x") as tx,
            ):
                change(tx)
                drop(tx)
    assert ids(orders) == [1]


def test_a_table_whose_column_got_the_name_that_it_had_can_be_dropped_in_the_same_transaction(main, orders):
    schema = orders.schema
    with pytest.raises(Invalid, match="changes an object and drops it"), main.transaction("another name") as tx:
        rename_column(tx.table("sales.orders"), "id", "ID")
        tx.drop_table("sales.orders")
    with main.transaction("nothing, and gone") as tx:
        rename_column(tx.table("sales.orders"), "id", "id")
        tx.drop_table("sales.orders")
    assert main.tables(recursive=True) == []
    main.undrop_table("sales.orders")
    assert (orders.schema, ids(orders)) == (schema, [1])


def test_renaming_and_dropping_in_one_transaction_is_a_drop(main, orders):
    with main.transaction("gone") as tx:
        tx.rename_table("sales.orders", "sales.other")
        tx.drop_table("sales.other")
    assert main.tables(recursive=True) == []
    with pytest.raises(NotFound):
        orders.name  # noqa: B018


def test_an_exception_leaves_nothing_behind(main, orders, unchanged):
    """Nor the files that the transaction wrote."""
    with unchanged(), pytest.raises(Oops), main.transaction("fails") as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.create_table("sales.new", {"id": "long"}).append(numbers(3))
        tx.set_properties({"a": "b"})
        raise Oops
    assert (tx.committed, ids(orders)) == (None, [1])


def test_rows_that_do_not_fit_leave_nothing_behind(main, orders, unchanged):
    with unchanged(), pytest.raises(Invalid, match="do not fit"), main.transaction("fails") as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.table("sales.orders").append(pyarrow.table({"other": [1]}))


def test_an_error_that_is_caught_inside_does_not_end_the_transaction(main, orders):
    with main.transaction("goes on") as tx:
        tx.table("sales.orders").append(numbers(2))
        with pytest.raises(NotFound):
            tx.table("sales.none")
        with pytest.raises(Invalid):
            tx.table("sales.orders").append(pyarrow.table({"other": [1]}))
        tx.table("sales.orders").append(numbers(3))
    assert ids(orders) == [1, 2, 3]


def test_a_transaction_works_inside_its_with_only(main, orders, unchanged):
    tx = main.transaction("once")
    with unchanged(), pytest.raises(Invalid, match="has not begun"):
        tx.table("sales.orders")
    with tx:
        inside = tx.table("sales.orders")
        inside.append(numbers(2))
    calls = [
        lambda: tx.table("sales.orders"),
        lambda: tx.create_namespace("x"),
        lambda: inside.append(numbers(3)),
        lambda: inside.scan(),
        lambda: inside.name,
        lambda: tx.properties,
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid, match="the transaction is over"):
            call()
    with unchanged(), pytest.raises(Invalid, match="used twice"), tx:
        raise AssertionError("it began again")


def test_a_transaction_inside_itself_is_refused_and_ends_it(main, unchanged):
    with unchanged(), pytest.raises(Invalid, match="can't be in another one"), main.transaction("outer") as outer:
        outer.transaction("inner")
    tx = main.transaction("nested")
    assert repr(tx) == "Transaction 'nested' @ main"
    with unchanged(), pytest.raises(Invalid, match="used twice"), tx:
        tx.create_namespace("x")
        with tx:
            raise AssertionError("it began again")
    assert tx.committed is None


def test_two_transactions_may_be_open_at_once(main, orders):
    with main.transaction("outer") as outer:
        outer.table("sales.orders").append(numbers(2))
        with main.transaction("inner") as inner:
            inner.table("sales.orders").append(numbers(3))
        assert ids(orders) == [1, 3]
    assert inner.committed.version < outer.committed.version
    assert ids(orders) == [1, 3, 2]


@pytest.mark.parametrize("told", [{"message": "why"}, {"author": "who"}, {"event_id": "e" * 32}])
def test_a_change_inside_a_transaction_has_no_message_of_its_own(main, orders, unchanged, told):
    with main.transaction("the only message") as tx, unchanged():
        inside = tx.table("sales.orders")
        calls = [
            lambda: tx.create_namespace("x", **told),
            lambda: tx.rename_namespace("sales", "x", **told),
            lambda: tx.drop_namespace("sales", cascade=True, **told),
            lambda: tx.create_table("sales.x", {"id": "long"}, **told),
            lambda: tx.rename_table("sales.orders", "sales.x", **told),
            lambda: tx.drop_table("sales.orders", **told),
            lambda: tx.set_properties({"a": "b"}, **told),
            lambda: tx.unset_properties(["a"], **told),
            lambda: tx.namespace("sales").set_properties({"a": "b"}, **told),
            lambda: tx.namespace("sales").unset_properties(["a"], **told),
            lambda: inside.append(numbers(1), **told),
            lambda: inside.rename("sales.x", **told),
            lambda: inside.set_properties({"a": "b"}, **told),
            lambda: inside.unset_properties(["a"], **told),
        ]
        for call in calls:
            with pytest.raises(Invalid, match="of its own"):
                call()
    assert tx.committed is None


def test_changes_inside_a_transaction_answer_nothing(main, orders):
    with main.transaction("quiet") as tx:
        inside = tx.table("sales.orders")
        answers = [
            inside.append(numbers(2)),
            inside.set_properties({"a": "b"}),
            inside.unset_properties(["a"]),
            inside.rename("sales.renamed"),
            tx.rename_namespace("sales", "sold"),
            tx.set_properties({"a": "b"}),
        ]
    assert answers == [None] * 6


def test_a_transaction_of_a_branch_commits_to_the_branch(main, orders):
    dev = main.create_branch("dev")
    with dev.transaction("there") as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.create_table("sales.items", {"id": "long"})
    assert (ids(dev.table("sales.orders")), ids(orders)) == ([1, 2], [1])
    assert (dev.table_exists("sales.items"), main.table_exists("sales.items")) == (True, False)


def test_moving_something_and_dropping_where_it_went_is_refused(main, orders, unchanged):
    main.create_namespace("a")
    with unchanged(), pytest.raises(Invalid, match="changes an object and drops it"), main.transaction("x") as tx:
        tx.rename_table("sales.orders", "a.orders")
        tx.drop_namespace("a", cascade=True)
    with unchanged(), pytest.raises(Invalid, match="changes an object and drops it"), main.transaction("x") as tx:
        tx.create_namespace("new")
        tx.rename_namespace("sales", "new.sales")
        tx.drop_namespace("new", cascade=True)
    assert ids(orders) == [1]


def test_moving_something_away_keeps_it_from_being_dropped(main, orders):
    with main.transaction("rescue") as tx:
        tx.rename_table("sales.orders", "orders")
        tx.drop_namespace("sales")
    assert (orders.name, ids(orders), main.namespaces()) == ("orders", [1], [])


def test_what_was_moved_to_a_place_that_went_again_can_be_dropped(main, orders):
    with main.transaction("there and away") as tx:
        tx.create_namespace("short")
        tx.rename_table("sales.orders", "short.orders")
        tx.drop_table("short.orders")
        tx.drop_namespace("short")
    assert main.tables(recursive=True) == []
    assert [one.name for one in main.namespaces()] == ["sales"]
    main.create_table("sales.orders", {"id": "long"})


def test_a_transaction_of_many_new_tables_does_not_time_out(main):
    """Each one's reads looked through the writes of all before it: 1,500 took longer than a transaction may."""
    with main.transaction("many") as tx:
        for number in range(1500):
            tx.create_table(f"t{number}", {"x": "int"})
    assert len(main.tables()) == 1500


def test_a_transaction_of_snapshot_isolation_lets_rows_that_it_read_change(main):
    main.create_table("t", {"id": "long"})
    main.create_table("u", {"id": "long"})
    with main.transaction("copy", isolation="snapshot") as tx:
        seen = tx.table("t").scan().count()
        main.table("t").append(numbers(7))
        tx.table("u").append(numbers(seen))
    assert ids(main.table("u")) == [0]


def test_snapshot_isolation_still_keeps_the_lakes_own_rules(main):
    main.create_namespace("n")
    with pytest.raises(Conflict), main.transaction("tidy up", isolation="snapshot") as tx:
        tx.drop_namespace("n")
        main.create_table("n.t", {"id": "long"})
    assert main.table_exists("n.t")


def test_an_isolation_that_is_not_there_is_refused(main, unchanged):
    with unchanged(), pytest.raises(Invalid, match="no such isolation"):
        main.transaction("load", isolation="read committed")


def test_what_a_transaction_that_comes_again_creates_is_what_it_created(main):
    """The second time its handles were of objects that nobody had."""
    event = event_id("creates")
    made = []
    for _ in range(2):
        with main.transaction("make", event_id=event) as tx:
            made.append((tx.create_namespace("n").id, tx.create_table("n.t", {"id": "long"}).id))
    assert made[0] == made[1] == (main.namespace("n").id, main.table("n.t").id)


def test_sql_without_a_session_ended_with_an_attribute_error(lake, main):
    for run in (lake.sql, main.sql):
        with pytest.raises(Invalid, match="this is not a Spark session"):
            run(None, "select 1")
    with pytest.raises(Invalid, match="this is not a Spark session"), main.transaction() as tx:
        tx.sql(None, "select 1")
