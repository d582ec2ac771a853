"""Consumers: named positions in a table's changes, which commit with the work that they are for."""

from threading import Barrier, Thread

import pyarrow as pa
import pytest

from lakebed import Catalog, Conflict, Forbidden, Invalid
from lakebed.lake.table import Table


@pytest.fixture
def orders(main: Catalog) -> Table:
    main.create_namespace("s")
    main.create_table("s.bills", {"id": "long"})
    table = main.create_table("s.orders", {"id": "long"})
    table.append(rows(1, 2))
    return table


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(feed) -> list[int]:
    return feed.to_arrow()["id"].to_pylist()


def bill(main: Catalog) -> list[int]:
    """Write what is new into another table, and move on, in one commit."""
    with main.transaction("bill") as transaction:
        billing = transaction.table("s.orders").consumer("billing")
        new = billing.changes(columns=["id"])
        found = ids(new)
        transaction.table("s.bills").append(rows(*found))
        assert billing.advance(new) is None
    return found


def test_a_consumer_sees_each_change_once(main, orders):
    assert orders.consumer("billing").position is None
    assert bill(main) == [1, 2]
    assert bill(main) == []
    orders.append(rows(3))
    orders.compact()
    assert repr(orders.consumer("billing")).startswith("Consumer billing, at version ")
    assert bill(main) == [3]
    assert sorted(main.table("s.bills").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert ids(orders.consumer("other").changes()) == [1, 2, 3]


def test_work_that_fails_leaves_the_position(main, orders):
    with pytest.raises(ZeroDivisionError), main.transaction("bill") as transaction:
        billing = transaction.table("s.orders").consumer("billing")
        billing.advance(billing.changes())
        assert billing.position is not None
        raise ZeroDivisionError
    assert orders.consumer("billing").position is None


def test_of_two_that_advance_at_once_one_wins(main, orders):
    one, other = orders.consumer("billing"), orders.consumer("billing")
    first, second = one.changes(), other.changes()
    assert one.advance(first).version == main.version
    with pytest.raises(Conflict, match="the consumer has moved on") as lost:
        other.advance(second)
    assert "another run has done this work" in str(lost.value)
    with pytest.raises(Conflict), main.transaction("late") as transaction:
        late = transaction.table("s.orders").consumer("billing")
        new = late.changes()
        transaction.table("s.bills").append(rows(7))
        late.advance(new)
        orders.append(rows(9))
        orders.consumer("billing").advance(orders.consumer("billing").changes())
    assert main.table("s.bills").scan().count() == 0


def test_of_many_threads_exactly_one_does_each_piece_of_work(main, orders):
    barrier, won = Barrier(4), list[int]()

    def work() -> None:
        barrier.wait()
        try:
            won.extend(bill(main))
        except Conflict:
            return

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [1, 2]
    assert sorted(main.table("s.bills").scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_writers_do_not_conflict_with_consumers(main, orders):
    with main.transaction("write") as transaction:
        transaction.table("s.orders").append(rows(5))
        billing = orders.consumer("billing")
        billing.advance(billing.changes())
    assert ids(orders.consumer("billing").changes()) == [5]


def test_a_consumer_only_goes_back_when_it_is_reset(main, orders):
    first = orders.version
    billing = orders.consumer("billing")
    orders.append(rows(3))
    billing.advance(orders.version)
    with pytest.raises(Invalid, match="a consumer only moves forward"):
        billing.advance(first)
    billing.reset(first)
    assert (billing.position, ids(billing.changes())) == (first, [3])
    billing.reset()
    assert (billing.position, ids(billing.changes())) == (None, [1, 2, 3])


def test_a_branch_has_its_own_position_and_a_merge_brings_it_with_the_work(main, orders):
    dev = main.create_branch("dev")
    assert bill(dev) == [1, 2]
    assert orders.consumer("billing").position is None
    main.merge(dev)
    assert bill(main) == []
    assert main.table("s.bills").scan().count() == 2


def test_restoring_the_table_leaves_the_position_and_a_reset_of_the_branch_does_not(main, orders):
    start = main.version
    bill(main)
    done = orders.consumer("billing").position
    orders.append(rows(3))
    orders.restore(done)
    assert orders.consumer("billing").position == done
    assert orders.consumer("billing").changes().to_arrow()["_change_type"].to_pylist() == ["insert", "delete"]
    main.reset(start)
    assert orders.consumer("billing").position is None


def test_consumers_are_listed(main, orders):
    assert main.inspect("__consumers").num_rows == 0
    seen = orders.version
    for name in ("billing", "a.b c"):
        orders.consumer(name).advance(seen)
    orders.rename("s.sold")
    found = main.inspect("__consumers").to_pylist()
    assert [(row["table_name"], row["consumer"], int(row["version"])) for row in found] == [
        ("s.sold", "a.b c", int(seen)),
        ("s.sold", "billing", int(seen)),
    ]


def test_a_consumer_that_finds_nothing_makes_no_commit(main, orders):
    billing = orders.consumer("billing")
    billing.advance(billing.changes())
    main.table("s.bills").append(rows(7))  # another table's commits are nothing new either
    before = main.version
    billing.advance(billing.changes())
    with main.transaction("look") as transaction:
        looking = transaction.table("s.orders").consumer("billing")
        looking.advance(looking.changes())
    assert main.version == before


def test_a_consumer_can_not_skip_what_is_still_to_come(main, orders):
    billing = orders.consumer("billing")
    for move in (billing.advance, billing.reset):
        with pytest.raises(Invalid, match="that version does not exist yet"):
            move(int(main.version) + 1)
    assert billing.position is None


def test_what_is_not_a_consumer_is_refused(main, orders):
    for name in ("", " ", "a\nb", "x" * 256, 7, None):
        with pytest.raises(Invalid):
            orders.consumer(name)
    other = main.table("s.bills")
    with pytest.raises(Invalid, match="the changes of another table"):
        other.consumer("x").advance(orders.changes(-1))
    with pytest.raises(Forbidden):
        orders.at(-1).consumer("x").advance(orders.version)


def test_the_same_advance_with_its_event_id_is_one_commit(main, orders):
    billing = orders.consumer("billing")
    new = billing.changes()
    event = "11111111-1111-4111-8111-111111111111"
    assert billing.advance(new, event_id=event).version == billing.advance(new, event_id=event).version
