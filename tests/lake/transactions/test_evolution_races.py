"""Evolutions beside what others do at the same time: KV-8, lost answers, event ids, appends that are under way."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pyarrow
import pytest

from lakebed import Conflict, Invalid, Lake, event_id
from lakebed.files import LocalFiles
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.faults import Fault, FaultyStore
from tests.support.orders import create_orders, rows

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


@pytest.fixture
def orders(main):
    return create_orders(main)


def test_a_transaction_that_saw_another_schema_is_a_conflict(main, orders):
    with pytest.raises(Conflict), main.transaction("t") as tx:
        with tx.table("orders").evolve() as change:
            change.add_column("a", "int")
        with orders.evolve() as other:
            other.add_column("b", "int")
    assert orders.schema.names[-1] == "b"


def test_two_who_add_different_columns_at_once_both_succeed(orders):
    """KV-8: the second is made on top of the first."""
    with orders.evolve() as change:
        change.add_column("a", "int")
        with orders.evolve() as other:
            other.add_column("b", "int")
            other.rename_column("price", "cost")
    assert orders.schema.names == ("id", "cost", "address", "tags", "b", "a")
    assert [orders.schema.field(one).physical_name for one in ("a", "b", "cost")] == ["a", "b", "price"]
    assert change.committed.version > other.committed.version
    assert len({one.id for one in orders.schema.fields}) == 6


def test_two_who_add_one_name_are_told(orders):
    with pytest.raises(Invalid, match="a: there is already a column with this name"), orders.evolve() as change:
        change.add_column("a", "int")
        with orders.evolve() as other:
            other.add_column("A", "string")
    assert orders.schema.names[-1] == "A"


def test_two_who_change_different_partition_fields_at_once_both_succeed(orders):
    with orders.evolve() as change:
        change.partition_by(["bucket(4, id)"])
    with orders.evolve() as change:
        change.replace_partition_field("bucket(4, id)", "bucket(8, id)")
        with orders.evolve() as other:
            other.add_partition_field("truncate(10, id)")
    assert list(orders.spec) == ["bucket(8, id)", "truncate(10, id)"]
    with pytest.raises(Invalid, match="the table is not partitioned by this"), orders.evolve() as change:
        change.drop_partition_field("id_trunc_10")
        with orders.evolve() as other:
            other.drop_partition_field("truncate(10, id)")
    assert list(orders.spec) == ["bucket(8, id)"]


LOST = {
    "comment": (lambda one: one.set_comment("price", "mine"), lambda other: other.set_comment("price", "theirs")),
    "default": (lambda one: one.set_default("price", 1), lambda other: other.set_default("price", 2)),
    "renamed": (lambda one: one.rename_column("price", "cost"), lambda other: other.rename_column("price", "amount")),
    "renamed and dropped": (
        lambda one: one.rename_column("price", "cost"),
        lambda other: other.drop_column("price"),
    ),
    "another of this name": (
        lambda one: one.drop_column("price"),
        lambda other: (other.rename_column("price", "cost"), other.add_column("price", "string")),
    ),
    "dropped with what is new inside": (
        lambda one: one.drop_column("address"),
        lambda other: other.add_column("address.street", "string"),
    ),
    "inside what was renamed": (
        lambda one: one.add_column("address.street", "string"),
        lambda other: (other.rename_column("address", "home"), other.add_column("address", "struct<a: int>")),
    ),
    "spec": (lambda one: one.partition_by(["id"]), lambda other: other.partition_by(["price"])),
    "order": (lambda one: one.sort_by(["id"]), lambda other: other.sort_by(["price"])),
    "key": (lambda one: one.primary_key(["id"]), lambda other: other.primary_key(["id", "tenant"])),
}


@pytest.mark.parametrize("case", LOST)
def test_what_somebody_else_did_to_the_same_thing_is_never_undone_unseen(orders, case):
    """KV-8: no silent lost update; the conflict says who."""
    with orders.evolve() as change:
        change.add_column("tenant", "int", required=True, default=0)
    mine, theirs = LOST[case]
    with pytest.raises(Conflict) as caught, orders.evolve() as change:
        mine(change)
        with orders.evolve(author="bob", message="was here") as other:
            theirs(other)
        seen = (orders.schema, orders.spec, orders.sort_order)
    assert (orders.schema, orders.spec, orders.sort_order) == seen
    assert orders.history()[0] == other.committed
    assert "bob" in str(caught.value)
    assert [one.commit.id for one in caught.value.conflicts] == [other.committed.id]


def test_an_evolution_does_not_mind_what_is_appended_meanwhile(orders):
    with orders.evolve() as change:
        change.add_column("a", "int", default=1)
        orders.append(pyarrow.table({"id": [3]}))
    assert [one["a"] for one in rows(orders)] == [1, 1, 1]


def test_many_threads_add_columns_and_none_is_lost(orders):
    def add(name):
        with orders.evolve() as change:
            change.add_column(name, "int")

    names = [f"c{place}" for place in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, names))
    assert sorted(orders.schema.names[4:]) == sorted(names)
    new = orders.schema.fields[4:]
    assert len({one.id for one in new}) == len({one.physical_name for one in new}) == 12


def test_the_same_evolution_again_is_one_commit(main, orders):
    """Law 4, though its columns are there already, and even if they are gone again."""

    def grow(**asked):
        with orders.evolve(event_id=event_id("grow"), **asked) as change:
            change.add_column("note", "string", default="-")
            change.rename_column("price", "cost")
        return change.committed

    first = grow(message="once")
    assert grow() == first
    with orders.evolve() as change:
        change.drop_column("note")
    assert grow() == first
    assert orders.schema.names == ("id", "cost", "address", "tags")
    assert [one.id for one in orders.history()].count(first.id) == 1


def test_an_event_id_stands_for_all_steps(main, orders, unchanged):
    once = event_id("grow")
    with orders.evolve(event_id=once) as change:
        change.add_column("note", "string", default="-")
    for default, type in (("+", "string"), (None, "string"), ("-", "binary")):
        with unchanged(), pytest.raises(Invalid), orders.evolve(event_id=once) as change:
            change.add_column("note", type, default=default)
    with unchanged(), pytest.raises(Invalid, match="another change"), orders.evolve(event_id=once):
        pass
    with unchanged(), pytest.raises(Invalid, match="another change"):
        orders.append(pyarrow.table({"id": [3]}), event_id=once)
    dev = main.create_branch("dev").table("orders")
    with pytest.raises(Invalid), dev.evolve(event_id=once) as change:
        change.add_column("note", "string", default="-")


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_lost_answers_make_one_evolution(open_lake, fault, count):
    """P7. The writes are those of the allocators, and the commit."""
    with FaultyStore(MemoryStore()) as store:
        table = open_lake(store).catalog().create_table("t", {"id": "long"})
        store.arm(*[fault] * count)
        with table.evolve() as change:
            change.add_column("a", "int")
            change.partition_by(["id"])
        assert store.armed == ()
        assert table.schema.names == ("id", "a")
        assert table.history()[0] == change.committed
        assert len(table.history()) == 2
        assert check(store.store) == []


class MeddledFiles(LocalFiles):
    """Files of which one, once it is written, lets something else happen first."""

    def __init__(self, root):
        super().__init__(root)
        self.next = []

    @contextmanager
    def create(self, path):
        with super().create(path) as file:
            yield file
        if self.next:
            self.next.pop()()


@pytest.fixture
def meddle(lake, folder):
    """Tables of the lake, and somebody who evolves one just when an append to it has written its first file."""
    files = MeddledFiles(folder)
    slow = Lake(replace(lake._context, files=files)).catalog()

    def meddle(table, step):
        def evolve():
            with table.evolve() as change:
                step(change)

        files.next.append(evolve)
        return slow.table(table.name)

    return meddle


def test_rows_in_memory_are_written_again_when_the_table_changes_meanwhile(orders, folder, meddle):
    before = set(folder.rglob("*.parquet"))
    given = pyarrow.table({"id": [3], "price": pyarrow.array([5], pyarrow.int32())})
    meddle(orders, lambda change: change.drop_column("address")).append(given)
    assert [one["id"] for one in rows(orders)] == [1, 2, 3]
    assert orders.snapshots()[0].schema_id == orders.schema.id == 2
    assert len(set(folder.rglob("*.parquet")) - before) == 1
    meddle(orders, lambda change: change.partition_by(["id"])).append(given.to_pandas())
    assert orders.snapshots()[0].spec_id == orders.spec.id == 1
    assert [one["id"] for one in rows(orders)] == [1, 2, 3, 3]
    assert len(set(folder.rglob("*.parquet")) - before) == 2


def test_rows_that_no_longer_fit_are_refused_when_they_are_written_again(orders, folder, meddle):
    before = set(folder.rglob("*"))
    with pytest.raises(Invalid, match="price"):
        meddle(orders, lambda change: change.drop_column("price")).append(
            pyarrow.table({"id": [3], "price": pyarrow.array([5], pyarrow.int32())})
        )
    assert set(folder.rglob("*")) == before
    assert [one["id"] for one in rows(orders)] == [1, 2]


FIT = {
    "an optional column": lambda change: change.add_column("a", "int"),
    "a column with a default": lambda change: change.add_column("a", "int", default=7),
    "a required column with a default": lambda change: change.add_column("a", "int", required=True, default=7),
    "a default that is set again": lambda change: (
        change.add_column("a", "int", default=7),
        change.set_default("a", 8),
    ),
    "a field of a struct": lambda change: change.add_column("address.street", "string", default="-"),
    "a wider type": lambda change: change.widen_column("price", "long"),
    "a new name": lambda change: change.rename_column("price", "cost"),
    "another column of the old name": lambda change: (
        change.rename_column("price", "cost"),
        change.add_column("price", "string"),
    ),
    "another place": lambda change: change.move_column("price", first=True),
    "a comment": lambda change: change.set_comment("price", "in cents"),
    "a sort order": lambda change: change.sort_by(["price"]),
}

UNFIT = {
    "a dropped column": lambda change: change.drop_column("price"),
    "a spec": lambda change: change.partition_by(["id"]),
    "a key": lambda change: change.primary_key(["id"]),
}


def one_order():
    return pyarrow.table({"id": pyarrow.array([3], pyarrow.int64()), "price": pyarrow.array([5], pyarrow.int32())})


@pytest.mark.parametrize("how", ["append", "overwrite"])
@pytest.mark.parametrize("case", FIT)
def test_a_job_does_not_lose_its_rows_because_somebody_adds_a_column(main, orders, folder, meddle, case, how):
    """Its files stay as they are, and show what they would show had they been committed a moment earlier."""
    twin = create_orders(main, "twin")
    getattr(twin, how)(one_order())
    with twin.evolve() as change:
        FIT[case](change)
    before = set(folder.rglob("*.parquet"))
    slow = meddle(orders, FIT[case])
    getattr(slow, how)(one_order().to_reader())
    assert rows(orders) == rows(twin)
    assert orders.schema.names == twin.schema.names
    assert len(set(folder.rglob("*.parquet")) - before) == 1
    for name in set(orders.schema.names) & {"a", "price", "cost"}:
        value = rows(orders)[-1][name]
        where = f"{name} is null" if value is None else f"{name} = {value}"
        assert 3 in [row["id"] for row in orders.scan(where).to_arrow().to_pylist()]


CHECKED = {
    "a renamed column": lambda table: evolved(table, lambda change: change.rename_column("price", "cost")),
    "a column with a length": lambda table: evolved(table, lambda change: change.add_column("code", "varchar(3)")),
    "a check that is gone": lambda table: table.unset_properties(["check.dear"]),
    "another property": lambda table: table.set_properties({"owner": "ada"}),
}


def evolved(table, step):
    with table.evolve() as change:
        step(change)


@pytest.mark.parametrize("how", ["append", "overwrite"])
@pytest.mark.parametrize("case", CHECKED)
def test_a_job_is_not_lost_to_a_change_of_checks_that_its_rows_pass(lake, orders, folder, case, how):
    orders.set_properties({"check.dear": "price > 1 or price is null"})
    files = MeddledFiles(folder)
    files.next.append(lambda: CHECKED[case](orders))
    getattr(Lake(replace(lake._context, files=files)).catalog().table("orders"), how)(one_order().to_reader())
    assert [row["id"] for row in rows(orders)][-1] == 3


@pytest.mark.parametrize("case", FIT)
def test_a_job_that_adds_columns_itself_is_not_lost_to_a_column_of_somebody_else(orders, folder, meddle, case):
    given = one_order().append_column("word", pyarrow.array(["new"]))
    before, log = set(folder.rglob("*.parquet")), len(orders.history())
    meddle(orders, FIT[case]).append(given.to_reader(), evolve="add")
    assert [(row["id"], row["word"]) for row in rows(orders)] == [(1, None), (2, None), (3, "new")]
    assert orders.schema.names.count("word") == 1
    assert len(orders.history()) == log + 2
    assert len(set(folder.rglob("*.parquet")) - before) == 1


def test_two_jobs_that_add_one_column_at_once_are_a_conflict_that_leaves_no_file(orders, folder, meddle):
    given = one_order().append_column("word", pyarrow.array(["new"]))
    before = set(folder.rglob("*.parquet"))
    with pytest.raises(Conflict, match="while rows with new ones were written"):
        meddle(orders, lambda change: change.add_column("Word", "long")).append(given.to_reader(), evolve="add")
    assert set(folder.rglob("*.parquet")) == before


@pytest.mark.parametrize("case", UNFIT)
def test_rows_that_can_be_read_once_are_a_conflict_and_leave_no_file(orders, folder, meddle, case):
    before = set(folder.rglob("*"))
    with pytest.raises(Conflict, match="changed while its files were written"):
        meddle(orders, UNFIT[case]).append(one_order().to_reader())
    assert set(folder.rglob("*")) == before
    assert [one["id"] for one in rows(orders)] == [1, 2]


def test_rows_do_not_fit_a_wider_partition_column(main, meddle):
    """The bytes of its values differ, and partitions are compared by them."""
    parts = main.create_table("parts", {"id": "long", "day": "int"}, partition_by=["day"])
    rows = pyarrow.table({"id": [1], "day": pyarrow.array([1], pyarrow.int32())})
    with pytest.raises(Conflict):
        meddle(parts, lambda change: change.widen_column("day", "long")).append(rows.to_reader())
    meddle(parts, lambda change: change.add_column("note", "string")).append(rows)
    assert parts.scan().count() == 1


@pytest.mark.parametrize("how", ["append", "overwrite"])
def test_a_job_does_not_bring_in_rows_that_break_a_check_added_while_it_ran(lake, orders, folder, how):
    files = MeddledFiles(folder)
    slow = Lake(replace(lake._context, files=files)).catalog().table("orders")
    files.next.append(lambda: orders.set_properties({"check.cheap": "price < 5"}))
    before = set(folder.rglob("*"))
    with pytest.raises((Conflict, Invalid), match="checks changed while"):
        getattr(slow, how)(one_order().to_reader())
    orders.unset_properties(["check.cheap"])
    files.next.append(lambda: orders.set_properties({"check.cheap": "price < 5"}))
    with pytest.raises(Invalid, match=r"check\.cheap: rows violate a check"):
        getattr(slow, how)(one_order())
    files.next.append(lambda: orders.set_properties({"owner": "ada"}))
    getattr(slow, how)(one_order().set_column(1, "price", pyarrow.array([4], pyarrow.int32())).to_reader())
    assert [one["id"] for one in rows(orders)][-1] == 3
    assert len(set(folder.rglob("*.parquet")) - before) == 1


@pytest.mark.parametrize("case", FIT)
def test_a_transaction_lost_its_rows_because_somebody_added_a_column(main, orders, folder, case):
    """As outside of a transaction: they show what they would show had they been committed a moment earlier."""
    twin = create_orders(main, "twin")
    for _ in range(2):
        twin.append(one_order())
    with twin.evolve() as change:
        FIT[case](change)
    before = set(folder.rglob("*.parquet"))
    with main.transaction("load") as tx:
        tx.create_table("beside", {"id": "long"})
        tx.table("orders").append(one_order())
        with orders.evolve() as other:
            FIT[case](other)
        tx.table("orders").append(one_order().to_reader())
    assert rows(orders) == rows(twin)
    assert orders.schema.names == twin.schema.names
    assert len(set(folder.rglob("*.parquet")) - before) == 2
    assert orders.history()[0].message == "load"
    assert orders.at(-1).scan().count() == 2
    with orders.evolve() as other:
        other.add_column("later", "int", default=1)
    assert orders.compact() is not None
    found = [{name: value for name, value in row.items() if name != "later"} for row in rows(orders)]
    assert sorted(found, key=str) == sorted(rows(twin), key=str)


@pytest.mark.parametrize("case", UNFIT)
def test_rows_of_a_transaction_that_no_longer_fit_are_a_conflict(main, orders, folder, case):
    before = set(folder.rglob("*.parquet"))
    with pytest.raises(Conflict, match=r"no longer fit|spec was changed"), main.transaction() as tx:
        tx.table("orders").append(one_order())
        with orders.evolve() as other:
            UNFIT[case](other)
    assert set(folder.rglob("*.parquet")) == before
    assert [one["id"] for one in rows(orders)] == [1, 2]


READ = {
    "its rows": lambda table: table.scan().to_arrow(),
    "its schema": lambda table: table.schema.names,
    "rows to delete": lambda table: table.delete("id = 1"),
    "rows to update": lambda table: table.update({"price": "price + 1"}),
}


@pytest.mark.parametrize("what", READ)
def test_a_transaction_that_read_what_somebody_adds_a_column_to_is_a_conflict(main, orders, what):
    with pytest.raises(Conflict, match="the schema was changed"), main.transaction() as tx:
        READ[what](tx.table("orders"))
        tx.table("orders").append(one_order())
        with orders.evolve() as other:
            other.add_column("a", "int")
    assert orders.schema.names[-1] == "a"
