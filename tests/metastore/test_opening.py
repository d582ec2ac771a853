"""Opening a lake that is not as expected, and a database that goes away in the middle of a commit."""

import pytest

from lakebed.errors import Corrupt, Invalid, OutcomeUnknown
from lakebed.metastore import RecordsMetastore, new_id
from lakebed.records import codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.store import MemoryStore
from lakebed.testing.metastore.writer import Writer, trunk
from tests.support.faults import Fault, FaultyStore


def test_a_lake_of_a_newer_format_is_refused_and_left_alone():
    store = MemoryStore()
    newer = codec.encode(pb.LakeRecord(format_version=3, lake_id=new_id()))
    store.run(lambda transaction: transaction.set(layout.lake_key(), newer))
    with pytest.raises(Invalid, match=r"newer format.*expected format 2, found format 3.*Upgrade"):
        RecordsMetastore(store)
    assert store.read(lambda transaction: transaction.get(layout.lake_key())) == newer


def test_a_lake_of_an_older_format_is_raised_to_this_one_and_stays_the_same_lake():
    store, id = MemoryStore(), new_id()
    older = codec.encode(pb.LakeRecord(format_version=1, lake_id=id, incarnation=0, create_time=17))
    store.run(lambda transaction: transaction.set(layout.lake_key(), older))
    metastore = RecordsMetastore(store)
    assert (metastore.format_version, metastore.lake_id) == (2, id)
    stored = codec.decode(store.read(lambda transaction: transaction.get(layout.lake_key())))
    assert (stored.format_version, stored.lake_id, stored.create_time) == (2, id, 17)


def test_a_damaged_lake_record_is_corrupt():
    store = MemoryStore()
    store.run(lambda transaction: transaction.set(layout.lake_key(), b"no record at all"))
    with pytest.raises(Corrupt):
        RecordsMetastore(store)


@pytest.mark.parametrize("fault", Fault)
def test_a_database_that_stays_away_leaves_a_commit_that_its_event_id_settles(fault, monkeypatch):
    """The first try takes effect or not; every later one is lost too, until the caller is told and asks again."""
    monkeypatch.setattr("lakebed.store.store._pause", lambda tries: 0.0 if tries < 3 else 1e9)
    faulty = FaultyStore(MemoryStore())
    metastore = RecordsMetastore(faulty)
    writer = Writer(metastore, trunk())
    event = new_id()
    before = metastore.newest()
    faulty.arm(*[Fault.BEFORE_COMMIT] * 2, fault)
    with pytest.raises(OutcomeUnknown):
        writer.commit(event_id=event, base=before)
    settled = metastore.find(event)
    assert (settled is not None) == (fault is Fault.AFTER_COMMIT)
    again = writer.commit(event_id=event, base=before)
    assert again == metastore.find(event)
    assert [commit.id for commit in writer.reader().log().items] == [event]
