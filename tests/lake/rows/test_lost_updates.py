"""Two who change one object at once: somebody commits between the check and the commit of another."""

import pyarrow
import pytest

from lakebed import Conflict, Invalid, NotFound
from lakebed.store import MemoryStore
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


def test_a_table_is_not_lost_in_a_namespace_that_is_being_dropped(meddled, two):
    """The first commit wins, and the other call gets an error: by single calls and by transactions."""
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
