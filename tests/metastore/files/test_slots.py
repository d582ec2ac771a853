"""The store in nothing but files: the suite of stores and of metastores on it, races, kills, damage."""

import subprocess
import sys
import time
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from lakebed.errors import Corrupt, Invalid, Unavailable
from lakebed.files import LocalFiles
from lakebed.metastore.files import slot, slots
from lakebed.metastore.files.slots import SlotStore
from lakebed.metastore.records.form import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import KeyRange
from lakebed.store.conflicts import Batch
from lakebed.testing.metastore import MetastoreSuite
from lakebed.testing.store import StoreSuite
from lakebed.testing.store.machine import store_machine
from tests.support.examples import examples
from tests.support.objects_in_memory import InMemory


def machine_settings(tries, phases=tuple(Phase)):
    return settings(
        max_examples=tries,
        phases=phases,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
    )


class TestSlotStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with SlotStore(LocalFiles(tmp_path)) as store:
            yield store

    @pytest.fixture
    def other(self, store, tmp_path):
        with SlotStore(LocalFiles(tmp_path)) as other:
            yield other


@pytest.mark.sampled(3)
class TestMetastoreInFiles(MetastoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        return SlotStore(LocalFiles(tmp_path))

    @pytest.fixture
    def metastore(self, store):
        metastore = RecordsMetastore(store)
        yield metastore
        assert check(store) == []
        metastore.close()

    @pytest.fixture
    def reopen(self, tmp_path):
        return lambda: RecordsMetastore(SlotStore(LocalFiles(tmp_path)))


def put(store, **values):
    return store.run(lambda tx: [tx.set(key.encode(), value) for key, value in values.items()]).committed


def state(store):
    return dict(store.read(lambda tx: tx.get_range(KeyRange(b"", b"\xff"))).entries)


def two(kind):
    """Two handles on the same objects."""
    url = f"s3://{uuid4().hex}/lake"
    return [kind(InMemory(url)), kind(InMemory(url))]


def test_two_handles_on_files_do_as_the_model():
    run_state_machine_as_test(store_machine(lambda: two(SlotStore)), settings=machine_settings(examples(25, 200)))


class Blind(SlotStore):
    """A writer that lost its slot takes the next one without a look at the winner's."""

    def _validate(self, reads, since):
        pass


def test_a_writer_that_does_not_look_at_the_winners_slot_is_caught():
    with pytest.raises(AssertionError):
        run_state_machine_as_test(store_machine(lambda: two(Blind)), settings=machine_settings(100, [Phase.generate]))


def test_a_checkpoint_stands_for_the_slots_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(slots, "CHECKPOINT_EVERY", 4)
    files = LocalFiles(tmp_path)
    store = SlotStore(files)
    commits = [put(store, **{f"key{number}": b"%d" % number, "last": b"%d" % number}) for number in range(10)]
    store.run(lambda tx: tx.clear(b"key1"))
    assert files.read("checkpoints/newest") == b"8"
    for number in range(1, 9):
        files.delete(f"commits/{number:020}")
    again = SlotStore(files)
    assert state(again) == state(store)
    assert again.read(lambda tx: tx.times_of([one.stamp for one in commits])) == [one.time for one in commits]
    newest = store.read(lambda tx: tx.read_stamp)
    assert int.from_bytes(put(again, more=b"1").stamp) == int.from_bytes(newest) + 1
    assert state(store)[b"more"] == b"1"


def test_an_old_hint_costs_slots_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(slots, "CHECKPOINT_EVERY", 4)
    files = LocalFiles(tmp_path)
    store = SlotStore(files)
    for number in range(50):
        put(store, a=b"%d" % number)
    files.put("checkpoints/newest", b"4")
    assert state(SlotStore(files)) == state(store)


def test_a_checkpoint_that_fails_fails_no_commit(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(slots, "CHECKPOINT_EVERY", 1)
    store = SlotStore(LocalFiles(tmp_path))
    monkeypatch.setattr(LocalFiles, "put", lambda *_: (_ for _ in ()).throw(Unavailable("the disk is full")))
    put(store, a=b"1")
    assert state(SlotStore(LocalFiles(tmp_path))) == {b"a": b"1"}
    assert "a checkpoint of" in caplog.text


@pytest.mark.parametrize("place", [0, 7, 30, 60, -1])
def test_a_damaged_slot_is_named(tmp_path, place):
    files = LocalFiles(tmp_path)
    put(SlotStore(files), a=b"1")
    path = "commits/00000000000000000001"
    data = bytearray(files.read(path))
    data[place] ^= 1
    files.put(path, bytes(data))
    with pytest.raises(Corrupt, match=path):
        state(SlotStore(files))


def test_a_slot_of_a_newer_lakebed_is_refused(tmp_path, monkeypatch):
    files = LocalFiles(tmp_path)
    with monkeypatch.context() as newer:
        newer.setattr(slot, "VERSION", 2)
        put(SlotStore(files), a=b"1")
    with pytest.raises(Invalid, match="newer Lakebed"):
        state(SlotStore(files))


def test_a_slots_bytes_stay_as_they_are():
    batch = Batch((KeyRange(b"a", b"b"),), (b"gone",), {b"key": b"value"})
    written = slot.Slot(bytes(range(16)), 1_700_000_000_000_000, batch, {bytes(10): 5}).encode()
    assert (
        written.hex()
        == (
            "4c42534c4f540001000102030405060708090a0b0c0d0e0f00060a24181e40000000000100000001000000010000000100000001610000"
            "00016200000004676f6e65000000036b65790000000576616c75650000000a00000000000000000000000000080000000000000005"
            "00000000"
        )[: -len("00000000")]
        + written[-4:].hex()
    )
    assert slot.decode_slot("a", written) == slot.Slot(bytes(range(16)), 1_700_000_000_000_000, batch, {bytes(10): 5})


WORKER = """
import sys
from lakebed.files import LocalFiles
from lakebed.metastore.files.slots import SlotStore

store = SlotStore(LocalFiles(sys.argv[1]))
def raised(tx):
    value = int(tx.get(b"counter") or b"0") + 1
    tx.set(b"counter", b"%d" % value)
    tx.set(b"twin", b"%d" % value)
while True:
    store.run(raised, seconds=60)
    print(".", end="", flush=True)
"""


def test_processes_that_are_killed_lose_no_increment_and_leave_no_half(tmp_path):
    acknowledged = 0
    for _ in range(2):
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(3)
        ]
        time.sleep(2)
        for worker in workers:
            worker.kill()
        acknowledged += sum(len(worker.communicate()[0]) for worker in workers)
    found = state(SlotStore(LocalFiles(tmp_path)))
    assert acknowledged > 0
    assert acknowledged <= int(found[b"counter"]) <= acknowledged + 6
    assert found[b"twin"] == found[b"counter"]
