"""Branches: the whole lake in one small commit, apart from its parent from then on; P13 to P18."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Invalid, NotFound
from lakebed.store import MemoryStore, Reads
from tests.support.faults import RecordingStore, WrappedStore, WrappedTransaction


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def picture(line):
    """All that a line shows: names, properties, rows, snapshots."""
    return {
        "properties": line.properties,
        "namespaces": {one.name: (one.id, one.properties) for one in line.namespaces(recursive=True)},
        "tables": {
            one.name: (one.id, one.properties, rows(one), one.snapshots()) for one in line.tables(recursive=True)
        },
    }


def rows(table):
    return table.scan().to_arrow()["id"].to_pylist()


@pytest.fixture
def grown(main):
    main.set_properties({"season": "autumn"})
    main.create_namespace("sales", properties={"a": "1"})
    main.create_namespace("sales.eu")
    for number, name in enumerate(["sales.orders", "sales.items", "sales.eu.orders", "top"]):
        main.create_table(name, {"id": "long"}, properties={"n": str(number)}).append(numbers(number))
    return main


# Everything that can happen to a line, one after the other.
CHANGES = {
    "create": lambda line: line.create_table("sales.new", {"id": "long"}).append(numbers(9)),
    "append": lambda line: line.table("sales.orders").append(numbers(10)),
    "set properties": lambda line: line.table("sales.orders").set_properties({"n": "changed"}),
    "set namespace properties": lambda line: line.namespace("sales").set_properties({"a": "changed"}),
    "set catalog properties": lambda line: line.set_properties({"season": "winter"}),
    "rename": lambda line: line.rename_table("sales.items", "sales.things"),
    "reuse a renamed name": lambda line: line.create_table("sales.items", {"id": "long"}).append(numbers(11)),
    "drop": lambda line: line.drop_table("top"),
    "create again": lambda line: line.create_table("top", {"id": "long"}).append(numbers(12)),
    "create namespace": lambda line: line.create_namespace("sales.us"),
    "rename namespace": lambda line: line.rename_namespace("sales.eu", "europe"),
    "drop namespace": lambda line: line.drop_namespace("sales", cascade=True),
    "create namespace again": lambda line: line.create_namespace("sales"),
}


def test_a_branch_shows_what_its_parent_showed_and_nothing_that_happens_to_it_later(grown):
    """P14."""
    seen = picture(grown)
    dev = grown.create_branch("dev")
    assert picture(dev) == seen
    for name, change in CHANGES.items():
        change(grown)
        assert picture(dev) == seen, name
    assert picture(grown) != seen


def test_what_happens_on_a_branch_is_seen_nowhere_else(grown):
    """P15: neither by the parent, nor by a sibling, nor by a child that forked before."""
    dev, sibling = grown.create_branch("dev"), grown.create_branch("sibling")
    child = dev.create_branch("child")
    seen = picture(grown)
    for name, change in CHANGES.items():
        change(dev)
        for other in (grown, sibling, child):
            assert picture(other) == seen, name
    assert picture(dev) != seen


def test_each_line_grows_from_what_it_saw(grown):
    """The same changes on parent and branch give the same names and rows, under ids of their own."""
    dev = grown.create_branch("dev")
    for change in CHANGES.values():
        change(grown)
        change(dev)
    shown = [{one.name: rows(one) for one in line.tables(recursive=True)} for line in (grown, dev)]
    assert shown[0] == shown[1]
    assert grown.table("top").id != dev.table("top").id


def test_an_inherited_name_is_hidden_where_it_was_dropped_only(grown):
    """P15, P18."""
    dev = grown.create_branch("dev")
    with pytest.raises(AlreadyExists):
        dev.create_table("sales.ORDERS", {"id": "long"})
    dev.drop_table("sales.orders")
    assert (dev.table_exists("sales.orders"), grown.table_exists("sales.orders")) == (False, True)
    own = dev.create_table("sales.orders", {"id": "long"})
    assert own.id != grown.table("sales.orders").id
    assert rows(own) == []
    dev.rename_table("sales.items", "sales.things")
    assert [one.name for one in dev.tables("sales")] == ["sales.orders", "sales.things"]
    assert [one.name for one in grown.tables("sales")] == ["sales.items", "sales.orders"]


def test_a_grandchild_reads_the_grandparent_at_its_parents_branch_point(grown):
    """P16."""
    orders = grown.table("sales.orders")
    child = grown.create_branch("child")
    orders.append(numbers(100))
    grown.table("top").append(numbers(100))  # which the child never changes
    child.table("sales.orders").append(numbers(200))
    grandchild = child.create_branch("grandchild")
    orders.append(numbers(101))
    child.table("sales.orders").append(numbers(201))
    grandchild.table("sales.orders").append(numbers(300))
    found = [rows(line.table("sales.orders")) for line in (grown, child, grandchild)]
    assert found == [[0, 100, 101], [0, 200, 201], [0, 200, 300]]
    opened = [grown.branch(name) for name in ("main", "child", "grandchild")]
    assert [rows(line.table("sales.orders")) for line in opened] == found
    for lines in ((grown, child, grandchild), opened):  # as it was made, and as it is stored
        assert [rows(line.table("top")) for line in lines] == [[3, 100], [3], [3]]
    chain = grandchild.table("sales.orders").snapshots()
    assert [one.previous_id for one in chain] == [*(one.id for one in chain[1:]), None]
    assert [one.sequence_number for one in chain] == [4, 3, 2, 1]


def test_a_branch_can_begin_in_the_past(grown):
    """P17: by version, by time, from a handle at a version."""
    version, seen = grown.version, picture(grown)
    time = grown.log(limit=1)[0].time
    CHANGES["append"](grown)
    CHANGES["drop"](grown)
    forks = [
        grown.create_branch("by version", version),
        grown.create_branch("by number", int(version)),
        grown.at(version=version).create_branch("from the past"),
    ]
    for fork in forks:
        assert picture(fork) == seen
    later = [commit for commit in grown.log() if commit.time <= time]
    assert grown.create_branch("by time", time).version == later[0].version
    forks[0].table("sales.orders").append(numbers(5))
    assert rows(forks[0].table("sales.orders")) == [0, 5]


def test_a_branch_shows_its_ancestors_as_they_were_before_it_began(grown):
    """P17."""
    states = {}
    for name in ("append", "rename", "drop", "drop namespace"):
        states[grown.version] = picture(grown)
        CHANGES[name](grown)
    states[grown.version] = picture(grown)
    dev = grown.create_branch("dev")
    dev.create_namespace("own")
    grown.create_namespace("other")
    child = dev.create_branch("child")
    child.create_namespace("mine")
    for line in (dev, child):
        for version, state in states.items():
            assert picture(line.at(version=version)) == state
    assert [commit.version for commit in child.log()] == sorted((one.version for one in child.log()), reverse=True)
    assert len(child.log()) == len(dev.log()) + 1


def test_a_branch_of_a_branch_at_a_version_before_that_began(grown):
    """The fork of a fork is clamped: at a time when the branch was not there, one sees its parent."""
    version, seen = grown.version, picture(grown)
    CHANGES["append"](grown)
    dev = grown.create_branch("dev")
    CHANGES["drop"](dev)
    old = dev.create_branch("old", version)
    assert picture(old) == seen
    CHANGES["create"](grown)
    assert picture(old) == seen


def test_branches_have_names_and_the_trunk_is_main(grown):
    grown.create_branch("feature/X")
    assert [one.ref for one in grown.branches()] == ["main", "feature/X"]
    assert [one.ref for one in grown.branches(prefix="FEAT")] == ["feature/X"]
    assert grown.branches(prefix="ma") == [grown]
    dev = grown.branch("FEATURE/x")
    assert (dev.ref, dev.name, dev.branch("main")) == ("feature/X", "default", grown)
    assert dev.branch("feature/x") == dev
    assert grown.branch_exists("feature/x")
    assert not grown.branch_exists("dev")


@pytest.mark.parametrize("name", ["main", "Main", "dev", "DEV"])
def test_a_branch_name_that_is_taken_is_refused(grown, unchanged, name):
    grown.create_branch("dev")
    with unchanged(), pytest.raises(AlreadyExists):
        grown.create_branch(name)


@pytest.mark.parametrize("name", ["", "a@b", "a#b", "a//b", "/", "..", "a|b", "a\nb", "x" * 256, 17, None])
def test_a_branch_name_that_cannot_be_one_is_refused(grown, unchanged, name):
    with unchanged(), pytest.raises(Invalid):
        grown.create_branch(name)
    with pytest.raises(Invalid):
        grown.branch(name)


def test_a_branch_that_is_not_there_is_not_found(grown):
    with pytest.raises(NotFound, match="no branch"):
        grown.branch("dev")


def test_branches_of_other_catalogs_are_not_seen(lake, grown):
    other = lake.create_catalog("other")
    other.create_branch("dev")
    assert not grown.branch_exists("dev")
    grown.create_branch("dev")
    assert grown.branch("dev") != other.branch("dev")


def test_a_branch_begins_no_earlier_than_its_catalog_and_no_later_than_now(lake, grown, unchanged):
    before = grown.version
    other = lake.create_catalog("other")
    with unchanged(), pytest.raises(NotFound, match="did not exist yet"):
        other.create_branch("dev", before)
    with unchanged(), pytest.raises(Invalid, match="does not exist yet"):
        grown.create_branch("dev", int(other.version) + 1)


@pytest.mark.parametrize("tables", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_branch_costs_the_same_whatever_the_lake_holds(open_lake, tables):
    """P13: what is asked for, read and written at 10 tables, and at 1,000 or 10,000."""
    with RecordingStore(counting := CountingStore(MemoryStore())) as store:
        main = open_lake(store).catalog()
        costs = []
        for count in (10, tables - 10):
            for batch in range(0, count, 90):
                with main.transaction("many") as tx:
                    for number in range(batch, min(batch + 90, count)):
                        tx.create_table(f"{count} {number}", {"id": "long"})
            store.commits.clear()
            counting.asked = counting.answered = 0
            main.create_branch(f"at {count}")
            [commit] = store.commits
            reads = len(commit.reads.keys), len(list(commit.reads.ranges)), counting.asked, counting.answered
            costs.append((len(commit.written.keys), *reads))
        assert len(main.branch(f"at {tables - 10}").tables()) == tables
        assert costs[0] == costs[1]
        assert costs[0][0] < 15


class CountingStore(WrappedStore):
    """Counts the keys and ranges that are asked for, and the rows that are answered."""

    asked = answered = 0

    def begin(self):
        return CountingTransaction(super().begin(), self)


class CountingTransaction(WrappedTransaction):
    def __init__(self, transaction, store):
        super().__init__(transaction)
        self.store = store

    @property
    def snapshot(self):
        return CountingReads(self.transaction.snapshot, self.store)


class CountingReads(Reads):
    def __init__(self, reads, store):
        self.reads = reads
        self.store = store

    def get_many(self, keys):
        self.store.asked += len(keys)
        return self.reads.get_many(keys)

    def get_ranges(self, reads):
        self.store.asked += len(reads)
        pages = self.reads.get_ranges(reads)
        self.store.answered += sum(len(page.entries) for page in pages)
        return pages


def test_a_look_up_and_a_listing_deep_down_read_no_more_than_at_the_first_level(open_lake):
    """After the first touch: what the store is asked for at depth 1 and at depth 100."""
    with CountingStore(MemoryStore()) as store:
        main = open_lake(store).catalog()
        main.create_namespace("n")
        for number in range(20):
            main.create_table(f"n.t{number}", {"id": "long"})
        line, costs = main, {}
        for depth in range(1, 101):
            line = line.create_branch(f"at {depth}")
            line.create_namespace(f"own {depth}")
            if depth in (1, 100):
                same = line.branch(f"at {depth}")
                for _ in range(2):
                    store.asked = 0
                    assert line.branch(f"at {depth}").table("n.t3").name == "n.t3"
                    assert len(same.tables("n")) == 20
                    costs[depth] = store.asked
        assert costs[100] <= costs[1]
