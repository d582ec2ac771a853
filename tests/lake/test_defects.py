"""What other catalogs did to their users, one test each: the defects that the acceptance files name."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Conflict, Invalid, NotFound
from lakebed.store import MemoryStore, Reads
from tests.support.faults import WrappedStore, WrappedTransaction


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


class MeddledStore(WrappedStore):
    """Lets somebody else commit once, when all is checked and only the commit itself is left to do."""

    meddle = None

    def begin(self):
        return MeddledTransaction(self.store.begin(), self)


class MeddledTransaction(WrappedTransaction):
    def __init__(self, transaction, store):
        super().__init__(transaction)
        self.store = store

    def commit(self):
        meddle, self.store.meddle = self.store.meddle, None
        if meddle is not None:
            meddle()
        return super().commit()


@pytest.fixture
def meddled():
    with MeddledStore(MemoryStore()) as store:
        yield store


@pytest.fixture
def two(meddled, open_lake):
    """Two who opened one lake: the first commits over a store that lets the second come between."""
    mine = open_lake(meddled, "me").catalog()
    mine.create_namespace("n")
    mine.create_table("n.counter", {"id": "long"}, properties={"count": "0"})
    return mine, open_lake(meddled.store, "you").catalog()


def raise_counter(line):
    with line.transaction("raise") as tx:
        counter = tx.table("n.counter")
        counter.set_properties({"count": str(int(counter.properties["count"]) + 1)})


# Lost updates between check and seal


def test_an_update_is_not_lost_to_one_that_came_between_its_check_and_its_commit(meddled, two):
    mine, yours = two
    meddled.meddle = lambda: raise_counter(yours)
    with pytest.raises(Conflict):
        raise_counter(mine)
    assert mine.table("n.counter").properties == {"count": "1"}
    raise_counter(mine)
    assert mine.table("n.counter").properties == {"count": "2"}


def test_two_who_set_different_properties_at_once_do_not_undo_each_other(meddled, two):
    mine, yours = two
    meddled.meddle = lambda: yours.table("n.counter").set_properties({"yours": "1"})
    mine.table("n.counter").set_properties({"mine": "1"})
    assert mine.table("n.counter").properties == {"count": "0", "mine": "1", "yours": "1"}


def test_two_who_add_columns_at_once_do_not_undo_each_other(meddled, two):
    mine, yours = two

    def add(line, name):
        with line.table("n.counter").evolve() as change:
            change.add_column(name, "string")

    meddled.meddle = lambda: add(yours, "yours")
    add(mine, "mine")
    assert sorted(mine.table("n.counter").schema.names) == ["id", "mine", "yours"]


def test_two_who_append_at_once_do_not_lose_rows(meddled, two):
    mine, yours = two
    meddled.meddle = lambda: yours.table("n.counter").append(numbers(2))
    mine.table("n.counter").append(numbers(1))
    assert ids(mine.table("n.counter")) == [1, 2]


# Dirty reads of a parent's uncommitted name


def test_nobody_sees_a_name_that_was_never_committed(main):
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long"})
    dev = main.create_branch("dev")
    with pytest.raises(ZeroDivisionError), main.transaction("never") as tx:
        tx.rename_namespace("sales", "sold")
        assert tx.table("sold.orders").id == table.id
        for line in (main, dev, main.at(main.version)):
            assert [one.name for one in line.tables(recursive=True)] == ["sales.orders"]
            assert not line.table_exists("sold.orders")
        assert table.name == "sales.orders"
        raise ZeroDivisionError
    assert (table.name, main.namespace_exists("sold")) == ("sales.orders", False)


def test_nobody_makes_a_table_under_a_name_that_was_never_committed(main):
    main.create_namespace("sales")
    with pytest.raises(ZeroDivisionError), main.transaction("never") as tx:
        tx.rename_namespace("sales", "sold")
        with pytest.raises(NotFound):
            main.create_table("sold.orders", {"id": "long"})
        main.create_table("sales.orders", {"id": "long"})
        raise ZeroDivisionError
    assert [one.name for one in main.tables(recursive=True)] == ["sales.orders"]


# As-of reads that show an ancestor's later name


def test_the_past_does_not_show_a_namespaces_later_name(main):
    main.create_namespace("eu")
    main.create_namespace("eu.sales")
    table = main.create_table("eu.sales.orders", {"id": "long"})
    before = main.version
    main.rename_namespace("eu", "europe")
    main.rename_namespace("europe.sales", "europe.sold")
    then = main.at(before)
    assert (then.table("eu.sales.orders").name, table.at(before).name) == ("eu.sales.orders",) * 2
    assert [one.name for one in then.namespaces(recursive=True)] == ["eu", "eu.sales"]
    for later in ("europe.sold.orders", "eu.sold.orders", "europe.sales.orders"):
        assert not then.table_exists(later)
    assert table.name == "europe.sold.orders"


# A table created in a namespace that is being dropped


def test_a_table_is_not_lost_in_a_namespace_that_is_being_dropped(meddled, two):
    """Whoever commits first wins, and the other is told: by single calls and by transactions."""
    mine, yours = two
    mine.create_namespace("empty")
    meddled.meddle = lambda: yours.drop_namespace("empty")
    with pytest.raises(NotFound):
        mine.create_table("empty.t", {"id": "long"})
    mine.undrop_namespace("empty")
    assert mine.tables("empty") == []
    meddled.meddle = lambda: yours.create_table("empty.t", {"id": "long"}).append(numbers(1))
    with pytest.raises(Invalid, match="not empty"):
        mine.drop_namespace("empty")
    assert ids(mine.table("empty.t")) == [1]


def test_a_table_that_goes_with_its_namespace_comes_back_with_it(meddled, two):
    """A drop of all that a namespace holds takes what came between too, and loses none of it."""
    mine, yours = two
    meddled.meddle = lambda: yours.create_table("n.new", {"id": "long"}).append(numbers(1))
    mine.drop_namespace("n", cascade=True)
    mine.undrop_namespace("n")
    assert ids(mine.table("n.new")) == [1]


def test_a_table_is_not_moved_into_a_namespace_that_is_being_dropped(meddled, two):
    mine, yours = two
    mine.create_namespace("empty")
    meddled.meddle = lambda: yours.drop_namespace("empty")
    with pytest.raises(NotFound):
        mine.rename_table("n.counter", "empty.counter")
    assert [one.name for one in mine.tables(recursive=True)] == ["n.counter"]


# An object that can never be written again after 1,000 revisions


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    return main.create_table("sales.orders", {"id": "long"})


def test_an_object_can_still_be_written_after_1000_revisions(main, orders):
    commits = [orders.set_properties({"n": str(number)}) for number in range(1010)]
    orders.append(numbers(1))
    orders.rename("sales.renamed")
    assert (orders.properties, ids(orders)) == ({"n": "1009"}, [1])
    assert len(orders.history()) == 1013
    for number in (0, 997, 998, 999, 1000, 1009):
        assert orders.at(version=commits[number].version).properties == {"n": str(number)}


def test_a_name_can_still_be_given_after_1000_revisions(main, orders):
    for _ in range(505):
        main.rename_namespace("sales", "sold")
        main.rename_namespace("sold", "sales")
    assert orders.name == "sales.orders"
    main.drop_namespace("sales", cascade=True)
    with pytest.raises(NotFound):
        main.namespace("sales")
    again = main.create_namespace("sales")
    with pytest.raises(AlreadyExists):
        main.create_namespace("sales")
    assert main.namespace("sales") == again


def test_a_table_can_still_be_appended_to_after_1000_revisions(main, orders):
    for _ in range(1010):
        orders.append(numbers())
    orders.append(numbers(1))
    assert (ids(orders), orders.snapshots()[0].sequence_number) == ([1], 1012)


# A listing of 200 tables that takes seconds


class CountedStore(WrappedStore):
    """Counts how often it is asked, for however many keys at once."""

    asked = 0

    def begin(self):
        return CountedTransaction(self.store.begin(), self)


class CountedTransaction(WrappedTransaction):
    def __init__(self, transaction, store):
        super().__init__(transaction)
        self.store = store

    @property
    def snapshot(self):
        return CountedReads(self.transaction.snapshot, self.store)


class CountedReads(Reads):
    def __init__(self, reads, store):
        self.reads = reads
        self.store = store

    def get_many(self, keys):
        self.store.asked += 1
        return self.reads.get_many(keys)

    def get_ranges(self, reads):
        self.store.asked += 1
        return self.reads.get_ranges(reads)


def test_a_listing_of_200_tables_does_not_look_at_each_of_them(open_lake):
    """It asks as often as one of 20 does."""
    with CountedStore(MemoryStore()) as store:
        main = open_lake(store).catalog()
        costs = {}
        for count in (20, 200):
            main.create_namespace(f"of {count}")
            with main.transaction("many") as tx:
                for number in range(count):
                    tx.create_table(f"of {count}.t{number}", {"id": "long"})
            store.asked = 0
            assert len(main.tables(f"of {count}")) == count
            costs[count] = store.asked
        assert 0 < costs[200] == costs[20] < 10
