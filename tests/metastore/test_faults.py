"""P7: the answer of a commit is lost, before or after it took effect; either way there is one commit and one effect."""

import pytest

from lakebed.errors import AlreadyExists
from lakebed.metastore import Change, DataChange, RecordsMetastore, life, new_id
from lakebed.metastore.change import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import check
from lakebed.records.layout import Attribute
from lakebed.store import MemoryStore, SQLiteStore
from lakebed.testing.metastore.writer import Writer, all_pages, appending, picture, root_partition, trunk
from tests.support.faults import Fault, FaultyStore

pytestmark = pytest.mark.sampled(3)

FAULTS = {
    "before": (Fault.BEFORE_COMMIT,),
    "after": (Fault.AFTER_COMMIT,),
    "before and then after": (Fault.BEFORE_COMMIT, Fault.AFTER_COMMIT),
    "before three times": (Fault.BEFORE_COMMIT,) * 3,
}


def calls(writer, table, dropped):
    """Every kind of change, each as the parts of one commit."""
    new = new_id()
    return {
        "create": {"lives": {new: life(pb.TABLE, writer.line.top, "new")}, "operations": (Operation("create", new),)},
        "rename": {"lives": {table: writer.life(table, name="renamed")}, "operations": (Operation("rename", table),)},
        "drop": {"lives": {table: writer.life(table, dropped=True)}, "operations": (Operation("drop", table),)},
        "undrop": {
            "lives": {dropped: writer.life(dropped, dropped=False)},
            "operations": (Operation("undrop", dropped),),
        },
        "set properties": {
            "attributes": {(table, Attribute.PROPERTIES): pb.TableProperties(properties={"number": "5"})}
        },
        "append": {"data": (appending(table, 7),), "operations": (Operation("insert", table, counts={"rows": 7}),)},
        "body": {"bodies": {(table, "schema", 9): b"x" * 200_000}},
        "ref": {"attributes": {(table, Attribute.REF): pb.CatalogRecord(parent_id=new_id())}},
        "nothing": {},
    }


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    inner = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "lake.db")
    with FaultyStore(inner) as store:
        yield store
        assert check(inner) == []


def grown(store):
    writer = Writer(RecordsMetastore(store), trunk())
    table, dropped = writer.table("t"), writer.table("gone")
    writer.append(table, 1)
    writer.drop(dropped)
    return writer, table, dropped


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("call", calls(*grown(MemoryStore())))
def test_a_lost_answer_makes_one_commit_and_one_effect(store, faults, call):
    writer, table, dropped = grown(store)
    logged = len(all_pages(writer.reader().log))
    parts = calls(writer, table, dropped)[call]
    event = new_id()
    store.arm(*faults)
    commit = writer.commit(event_id=event, **parts)
    assert store.armed == ()
    assert commit.id == event
    assert writer.metastore.find(event) == commit
    log = all_pages(writer.reader().log)
    assert (len(log), log[0]) == (logged + 1, commit)
    assert writer.rows(table) == (8 if call == "append" else 1)
    deltas = all_pages(writer.reader().history, root_partition(table), Attribute.DATA)
    assert len(deltas) == (2 if call == "append" else 1)
    assert commit.version == writer.metastore.newest()


@pytest.mark.parametrize("call", calls(*grown(MemoryStore())))
def test_the_effect_is_the_same_as_without_the_fault(call):
    """The same changes on a store that answers and on one that does not; ids and times aside, nothing differs."""
    pictures = []
    for faults in ((), *FAULTS.values()):
        store = FaultyStore(MemoryStore())
        writer, table, dropped = grown(store)
        store.arm(*faults)
        commit = writer.commit(**calls(writer, table, dropped)[call])
        seen = picture(writer.reader(), [table, dropped], ["t", "gone", "new", "renamed"])
        pictures.append((int(commit.version), writer.rows(table), [len(part) for part in seen["histories"].values()]))
    assert all(one == pictures[0] for one in pictures)


@pytest.mark.parametrize("fault", Fault)
def test_ids_are_never_given_twice_though_the_answer_was_lost(store, fault):
    metastore = RecordsMetastore(store)
    table = new_id()
    given = [metastore.allocate(table, "field")]
    store.arm(fault)
    given.append(metastore.allocate(table, "field", 2))
    given.append(metastore.allocate(table, "field"))
    assert given[0] < given[1] < given[1] + 1 < given[2]


@pytest.mark.parametrize("fault", Fault)
def test_a_lake_is_made_once_though_the_answer_was_lost(store, fault):
    store.arm(fault)
    first = RecordsMetastore(store)
    assert RecordsMetastore(store).lake_id == first.lake_id


def test_a_create_that_took_effect_is_not_already_exists_when_it_runs_again(store):
    writer, *_ = grown(store)
    store.arm(Fault.AFTER_COMMIT)
    table = writer.table("new")
    assert writer.resolve("new") == table
    store.arm(Fault.AFTER_COMMIT)
    with pytest.raises(AlreadyExists):
        writer.table("new")


def test_a_fold_runs_again_on_what_others_committed_in_between(store):
    writer, table, _ = grown(store)
    seen = []

    def fold(previous, first):
        if not seen:
            writer.append(table, 100)
        seen.append(previous.record.totals["rows"])
        record = pb.TableHistory()
        record.totals["rows"] = seen[-1] + 1
        return record

    writer.metastore.commit(
        Change(
            event_id=new_id(),
            line=writer.line,
            base=writer.metastore.newest(),
            data=(DataChange(table, root_partition(table), fold),),
        )
    )
    assert seen == [1, 101]
    assert writer.rows(table) == 102
