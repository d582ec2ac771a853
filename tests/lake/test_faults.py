"""P7: the answer of a commit is lost, before or after it took effect; the call succeeds, with one commit and effect."""

from contextlib import nullcontext

import pyarrow
import pytest

from lakebed import OutcomeUnknown, Unavailable, event_id
from lakebed.records.check import check
from lakebed.store import MemoryStore
from lakebed.testing.faults import Fault, FaultyStore

FAULTS = {
    "before": (Fault.BEFORE_COMMIT,),
    "after": (Fault.AFTER_COMMIT,),
    "before and then after": (Fault.BEFORE_COMMIT, Fault.AFTER_COMMIT),
}


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def load(main):
    with main.transaction("load") as tx:
        tx.table("sales.orders").append(numbers(2))
        tx.create_table("sales.items", {"id": "long"}).append(numbers(3))
        tx.drop_namespace("empty")
    return tx


CALLS = {
    "create_catalog": lambda lake, main: lake.create_catalog("second"),
    "create_branch": lambda lake, main: main.create_branch("dev"),
    "create_namespace": lambda lake, main: main.create_namespace("n", properties={"a": "1"}),
    "rename_namespace": lambda lake, main: main.rename_namespace("empty", "full"),
    "drop_namespace": lambda lake, main: main.drop_namespace("empty"),
    "create_table": lambda lake, main: main.create_table("sales.new", {"id": "long"}),
    "rename_table": lambda lake, main: main.rename_table("sales.orders", "empty.orders"),
    "drop_table": lambda lake, main: main.drop_table("sales.orders"),
    "set_properties": lambda lake, main: main.set_properties({"k": "v"}),
    "unset_properties": lambda lake, main: main.unset_properties(["k"]),
    "namespace.set_properties": lambda lake, main: main.namespace("empty").set_properties({"k": "v"}),
    "namespace.unset_properties": lambda lake, main: main.namespace("empty").unset_properties(["k"]),
    "table.append": lambda lake, main: main.table("sales.orders").append(numbers(2)),
    "table.rename": lambda lake, main: main.table("sales.orders").rename("sales.renamed"),
    "table.set_properties": lambda lake, main: main.table("sales.orders").set_properties({"k": "v"}),
    "table.unset_properties": lambda lake, main: main.table("sales.orders").unset_properties(["old"]),
    "transaction": lambda lake, main: load(main),
}


@pytest.fixture
def faulty():
    with FaultyStore(MemoryStore()) as store:
        yield store
        assert check(store.store) == []


def grown(lake):
    main = lake.catalog()
    main.create_namespace("sales")
    main.create_table("sales.orders", {"id": "long"}, properties={"old": "1"}).append(numbers(1))
    main.create_namespace("empty")
    return main


def picture(lake):
    """All that can be seen of a lake, without ids, times and paths."""
    seen = {}
    for catalog in lake.catalogs():
        for line in catalog.branches():
            here = seen[catalog.name, line.ref] = {"properties": line.properties, "log": operations(line)}
            for namespace in line.namespaces(recursive=True):
                here[namespace.name] = namespace.properties
            for table in line.tables(recursive=True):
                chain = [(one.operation, one.sequence_number, one.totals["rows"]) for one in table.snapshots()]
                here[table.name] = (table.properties, table.scan().to_arrow()["id"].to_pylist(), chain)
    return seen


def operations(line):
    return [[(one.type, one.name, one.detail) for one in commit.operations] for commit in line.log()]


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("call", CALLS)
def test_a_lost_answer_makes_one_commit_and_one_effect(faulty, open_lake, call, faults):
    lake = open_lake(faulty)
    main = grown(lake)
    version = lake._home.metastore.newest()
    faulty.arm(*faults)
    CALLS[call](lake, main)
    assert faulty.armed == ()
    assert lake._home.metastore.newest() == version.next(), "one commit"
    sure = open_lake(MemoryStore())
    CALLS[call](sure, grown(sure))
    assert picture(lake) == picture(sure)


class UnsettledStore(FaultyStore):
    """One that can't be asked again what became of a commit, as when it stays away for good."""

    def run_idempotent(self, work, **options):
        return self.run(work, **options)


@pytest.fixture
def unsettled():
    with UnsettledStore(MemoryStore()) as store:
        yield store
        assert check(store.store) == []


@pytest.mark.parametrize("fault", Fault)
def test_an_append_whose_outcome_is_unknown_keeps_its_files(unsettled, open_lake, files, fault):
    """The commit may have taken effect, and then they are the table's; the event id tells later."""
    table = grown(open_lake(unsettled)).table("sales.orders")
    before, event = set(files()), event_id("unsettled")
    unsettled.arm(fault)
    with pytest.raises(OutcomeUnknown) if fault is Fault.BEFORE_COMMIT else nullcontext():
        table.append(numbers(2), event_id=event)  # looked up by its event id, where the caller has given one
    assert len(set(files()) - before) == 1
    table.append(numbers(2), event_id=event)
    assert table.scan().to_arrow()["id"].to_pylist() == [1, 2]
    assert len(table.snapshots()) == 3


@pytest.mark.parametrize("fault", Fault)
def test_an_unknown_outcome_names_the_event_id_that_settles_it(unsettled, open_lake, files, fault):
    table = grown(open_lake(unsettled)).table("sales.orders")
    before = set(files())
    unsettled.arm(fault)
    with pytest.raises(OutcomeUnknown) as caught:
        table.append(numbers(2))
    assert len(set(files()) - before) == 1
    event = caught.value.subject.removeprefix("event id ")
    table.append(numbers(2), event_id=event)
    assert table.scan().to_arrow()["id"].to_pylist() == [1, 2]


class FailingStore(FaultyStore):
    """After a commit whose answer was lost, the store is away for a moment."""

    away = False

    def take_fault(self):
        fault = super().take_fault()
        self.away = fault is not None
        return fault

    def begin(self):
        if self.away:
            self.away = False
            raise Unavailable("away", advice="nothing was written")
        return super().begin()


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_commit_that_took_effect_never_loses_its_files_to_a_later_error(open_lake, files, in_transaction):
    """The answer was lost, then the store was away: the append said that nothing was written, and deleted its files."""
    with FailingStore(MemoryStore()) as store:
        main = grown(open_lake(store))
        table = main.table("sales.orders")
        store.arm(Fault.AFTER_COMMIT)
        with pytest.raises(OutcomeUnknown):
            if in_transaction:
                with main.transaction("load") as tx:
                    tx.table("sales.orders").append(numbers(2))
            else:
                table.append(numbers(2))
        assert table.scan().to_arrow()["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("fault", Fault)
def test_a_transaction_whose_outcome_is_unknown_keeps_its_files(unsettled, open_lake, files, fault):
    main = grown(open_lake(unsettled))
    before, event = set(files()), event_id("unsettled")

    def load():
        with main.transaction("load", event_id=event) as tx:
            tx.table("sales.orders").append(numbers(2))

    unsettled.arm(fault)
    with pytest.raises(OutcomeUnknown):
        load()
    assert len(set(files()) - before) == 1
    load()
    assert main.table("sales.orders").scan().to_arrow()["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("fault", Fault)
def test_a_lake_is_opened_once_though_the_answer_was_lost(faulty, open_lake, fault):
    faulty.arm(fault, fault)
    lake = open_lake(faulty)
    assert faulty.armed == ()
    assert [one.name for one in lake.catalogs()] == ["default"]
