"""Objects that were changed more than a thousand times."""

from statistics import median
from time import perf_counter

import pyarrow
import pytest

import lakebed
from lakebed import AlreadyExists, NotFound
from lakebed.store import MemoryStore
from tests.support.faults import RecordingStore


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


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


def seconds_of(call):
    start = perf_counter()
    call()
    return perf_counter() - start


@pytest.mark.parametrize("revisions", [300, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("change", ["properties", "rows"])
def test_a_revision_costs_the_same_however_many_there_were(open_lake, revisions, change):
    """D22: the keys and bytes of a commit, first and last: what a commit reads and writes does not grow."""
    with RecordingStore(MemoryStore()) as store:
        main = open_lake(store).catalog()
        table = main.create_table("t", {"id": "long"})
        costs = []
        for number in range(1, revisions + 1):
            table.set_properties({"n": f"{number:06}"}) if change == "properties" else table.append(numbers(number))
            if number in (100, revisions):
                commit = store.commits[-1]
                written = sum(len(key) for key in commit.written.keys)
                costs.append(
                    (len(commit.reads.keys), len(list(commit.reads.ranges)), len(commit.written.keys), written)
                )
        assert costs[0] == costs[1]
        assert len(main.log(table=table)) == revisions + 1


@pytest.mark.long
def test_10000_revisions_of_one_object_stay_quick(tmp_path):
    """D22: on the disk; in turns with a new lake, since machines are shared, a revision takes at most twice as long."""
    with lakebed.connect(tmp_path / "old") as old, lakebed.connect(tmp_path / "new") as new:
        tables = [lake.catalog().create_table("t", {"id": "long"}) for lake in (old, new)]
        for number in range(9_900):
            tables[0].set_properties({"n": str(number)})
        times = [
            [seconds_of(lambda table=table, n=number: table.set_properties({"n": str(n)})) for table in tables]
            for number in range(9_900, 10_000)
        ]
        first, last = (median(one) for one in zip(*times, strict=True))
        assert first <= 2 * last
        assert [len(table.history()) for table in tables] == [10_001, 101]


@pytest.mark.long  # times, which only a machine of its own has
def test_200_tables_are_listed_in_50_milliseconds(tmp_path):
    """D22: the best of five, since machines are shared; opened again, so that nothing is remembered."""
    with lakebed.connect(tmp_path) as lake, lake.catalog().transaction("many") as tx:
        tx.create_namespace("n")
        for number in range(200):
            tx.create_table(f"n.t{number}", {"id": "long"})
    with lakebed.connect(tmp_path) as lake:
        main = lake.catalog()
        assert len([table.name for table in main.tables("n")]) == 200
        assert min(seconds_of(lambda: [table.name for table in main.tables("n")]) for _ in range(5)) <= 0.05
