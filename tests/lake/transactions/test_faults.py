"""P7: the answer of a commit is lost, before or after it took effect; the call succeeds, with one commit and effect."""

import re
from contextlib import nullcontext

import pytest

from lakebed import OutcomeUnknown, Unavailable, event_id
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.examples import diagonal
from tests.support.faults import Fault, FaultyStore
from tests.support.grown_lakes import grown_store, held_in
from tests.support.mutations import (
    CALLS,
    PURGES,
    commit_count,
    grown,
    numbers,
    without_branches,
)

FAULTS = {
    "before": (Fault.BEFORE_COMMIT,),
    "after": (Fault.AFTER_COMMIT,),
    "before and then after": (Fault.BEFORE_COMMIT, Fault.AFTER_COMMIT),
}

ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # a staged stream is named by its id

PICTURES = {}
"""What is to be seen after each call whose answer came: the same for all faults, so it is made once."""


@pytest.fixture
def faulty(request):
    """An empty one, or that of the small lake for tests of its calls."""
    with FaultyStore(grown_store() if "call" in request.fixturenames else MemoryStore()) as store:
        yield store
        assert check(store.store) == []


def picture(lake):
    """All that can be seen of a lake, without ids, times and paths."""
    seen = {}
    for catalog in lake.catalogs():
        refs = catalog.branches(), catalog.tags(), catalog.shares()
        seen[catalog.name] = [sorted(name(one) for one in kind) for kind in refs]
        for line in refs[0]:
            here = seen[catalog.name, line.ref] = {"properties": line.properties, "log": operations(line)}
            for namespace in line.namespaces(recursive=True):
                here[namespace.name] = namespace.properties
            for view in line.views(recursive=True):
                here[view.name] = (view.sql, view.properties)
            for table in line.tables(recursive=True):
                chain = [(one.operation, one.sequence_number, one.totals["rows"]) for one in table.snapshots()]
                shape = str(table.schema), str(table.spec), str(table.sort_order), table.primary_key
                here[table.name] = (table.properties, table.scan().to_arrow().to_pylist(), chain, shape)
    return seen


def name(line):
    return line.ref


def operations(line):
    return [[(one.type, ID.sub("<id>", one.name)) for one in commit.operations] for commit in line.log()]


FINDS_NOTHING = ("restore_table", "unset_properties", "namespace.unset_properties", "table.delete nothing")
"""Calls that change nothing here: they commit only with an event id."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("call", "faults"), diagonal(CALLS, FAULTS))
def test_a_lost_answer_makes_one_commit_and_one_effect(faulty, open_lake, call, faults):
    held = held_in(open_lake(faulty))
    before = commit_count(faulty)
    faulty.arm(*faults)
    told = {"event_id": event_id(call)} if call in FINDS_NOTHING else {}
    CALLS[call](held, **told)
    assert faulty.armed == ()
    assert commit_count(faulty) == before + 1
    if call not in PICTURES:
        sure = held_in(open_lake(grown_store()))
        CALLS[call](sure, **told)
        PICTURES[call] = picture(sure.lake)
    assert picture(held.lake) == PICTURES[call]


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("call", PURGES)
def test_a_purge_whose_answer_is_lost_is_one_commit_and_whole(faulty, open_lake, call, faults):
    held = without_branches(held_in(open_lake(faulty)))
    before = commit_count(faulty)
    faulty.arm(*faults)
    PURGES[call](held)
    assert faulty.armed == ()
    assert commit_count(faulty) == before + 1
    sure = without_branches(held_in(open_lake(grown_store())))
    PURGES[call](sure)
    assert picture(held.lake) == picture(sure.lake)


class UnsettledStore(FaultyStore):
    """One that can't be asked again what became of a commit, as when it stays away for good."""

    def run_idempotent(self, work, **options):
        return self.run(work, **options)


@pytest.fixture
def unsettled():
    with UnsettledStore(MemoryStore()) as store:
        yield store
        assert check(store.store) == []


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("fault", Fault)
def test_an_append_whose_outcome_is_unknown_keeps_its_files(unsettled, open_lake, files, fault):
    """The commit may have taken effect, and then they are the table's; the event id tells later."""
    table = grown(open_lake(unsettled)).main.table("sales.orders")
    before, event = set(files()), event_id("unsettled")
    unsettled.arm(fault)
    with pytest.raises(OutcomeUnknown) if fault is Fault.BEFORE_COMMIT else nullcontext():
        table.append(numbers(2), event_id=event)  # looked up by its event id, where the caller has given one
    assert len(set(files()) - before) == 1
    table.append(numbers(2), event_id=event)
    assert table.scan().to_arrow()["id"].to_pylist() == [1, 2]
    assert len(table.snapshots()) == 3


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("fault", Fault)
def test_an_unknown_outcome_names_the_event_id_that_settles_it(unsettled, open_lake, files, fault):
    table = grown(open_lake(unsettled)).main.table("sales.orders")
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
        main = grown(open_lake(store)).main
        table = main.table("sales.orders")
        store.arm(Fault.AFTER_COMMIT)
        with pytest.raises(OutcomeUnknown):
            if in_transaction:
                with main.transaction("load") as tx:
                    tx.table("sales.orders").append(numbers(2))
            else:
                table.append(numbers(2))
        assert table.scan().to_arrow()["id"].to_pylist() == [1, 2]


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("fault", Fault)
def test_a_transaction_whose_outcome_is_unknown_keeps_its_files(unsettled, open_lake, files, fault):
    main = grown(open_lake(unsettled)).main
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
