"""Checkpoints in the records form: races, lost answers, old intents, damage, and what they cost."""

from time import time_ns

import pytest

from lakebed.errors import Corrupt, Invalid, NotFound, TooLarge
from lakebed.metastore import RecordsMetastore
from lakebed.metastore.records import erasure
from lakebed.records import codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import check
from lakebed.records.layout import Attribute, Space
from lakebed.store import MemoryStore, SQLiteStore
from lakebed.testing.metastore.writer import Writer, checkpoint_of, root_partition, trunk
from tests.support.faults import Fault, FaultyStore, WrappedStore, WrappedTransaction


class InterruptedStore(WrappedStore):
    """A store in which others act just before the next commit that is made through it."""

    def __init__(self, store):
        super().__init__(store)
        self.acts = []

    def begin(self):
        return _Interrupted(self.store.begin(), self.acts)


class _Interrupted(WrappedTransaction):
    def __init__(self, transaction, acts):
        super().__init__(transaction)
        self._acts = acts

    def commit(self):
        if self._acts:
            self._acts.pop()()
        return super().commit()


class Scene:
    """A table with three deltas and an intent, and somebody else on the same store."""

    def __init__(self, store):
        self.store = store
        self.others = RecordsMetastore(store)
        self.writer = Writer(self.others, trunk())
        self.table = self.writer.table("t")
        self.partition, self.line = root_partition(self.table), self.writer.line.id
        self.versions = [self.writer.append(self.table).version for _ in range(3)]
        self.record = checkpoint_of(self.writer.deltas(self.table)[self.versions[1]])
        self.intent = self.others.begin_checkpoint(self.line, self.partition, ["a"])

    def put(self, metastore, record=None):
        metastore.put_checkpoint(self.line, self.partition, self.versions[1], record or self.record, self.intent)

    def put_while(self, act):
        """Put the checkpoint, and let somebody act when the put has read all and written nothing yet."""
        store = InterruptedStore(self.store)
        metastore = RecordsMetastore(store)
        store.acts.append(act)
        self.put(metastore)
        assert store.acts == []

    @property
    def found(self):
        return [state.record for state in self.others.checkpoints(self.line, self.partition)]

    @property
    def intents(self):
        return [one.intent for one in self.others.unfinished_checkpoints(0)]


@pytest.fixture
def scene():
    scene = Scene(MemoryStore())
    yield scene
    assert check(scene.store) == []


# In the middle of a put


def test_data_that_is_erased_meanwhile_gets_no_checkpoint(scene):
    with pytest.raises(Invalid, match="no delta"):
        scene.put_while(lambda: scene.others.erase(scene.line, [scene.table, scene.partition]))
    assert (scene.found, scene.intents) == ([], [scene.intent])


def test_a_line_that_is_erased_meanwhile_gets_no_checkpoint(scene):
    branch = scene.writer.fork()
    version = branch.append(scene.table).version
    record = checkpoint_of(branch.deltas(scene.table)[version])
    store = InterruptedStore(scene.store)
    metastore = RecordsMetastore(store)
    store.acts.append(lambda: scene.others.erase_line(branch.line.id))
    with pytest.raises(Invalid, match="no delta"):
        metastore.put_checkpoint(branch.line.id, scene.partition, version, record)
    assert scene.others.checkpoints(branch.line.id, scene.partition) == []


def test_a_checkpoint_that_is_abandoned_meanwhile_is_refused(scene):
    with pytest.raises(Invalid, match="was abandoned"):
        scene.put_while(lambda: scene.others.abandon_checkpoint(scene.intent))
    assert (scene.found, scene.intents) == ([], [scene.intent])


def test_who_abandons_a_checkpoint_that_is_put_meanwhile_is_told(scene):
    store = InterruptedStore(scene.store)
    metastore = RecordsMetastore(store)
    store.acts.append(lambda: scene.put(scene.others))
    with pytest.raises(NotFound, match="put or ended already"):
        metastore.abandon_checkpoint(scene.intent)
    assert (scene.found, scene.intents) == ([scene.record], [])


def test_a_commit_meanwhile_does_not_make_a_put_run_again(scene):
    runs = []
    store = InterruptedStore(scene.store)
    metastore = RecordsMetastore(store)
    begin = store.begin
    store.begin = lambda: runs.append(1) or begin()
    store.acts.append(lambda: scene.writer.append(scene.table))
    scene.put(metastore)
    assert len(runs) == 1
    assert scene.found == [scene.record]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_checkpoint_that_is_put_between_two_steps_of_an_erasure_goes_too(scene, monkeypatch, step):
    monkeypatch.setattr(erasure, "ROWS", 2)
    for _ in range(6):
        scene.writer.append(scene.table)
    [last, *_] = deltas = scene.writer.deltas(scene.table)
    store = InterruptedStore(scene.store)
    metastore = RecordsMetastore(store)
    put = lambda: scene.others.put_checkpoint(scene.line, scene.partition, last, checkpoint_of(deltas[last]))  # noqa: E731
    store.acts += [put, *[lambda: check_sound(scene)] * step]
    metastore.erase(scene.line, [scene.partition])
    assert store.acts == []
    assert scene.found == []


def check_sound(scene):
    assert check(scene.store) == []


# Lost answers


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_lost_answer_changes_nothing_of_what_is_done(tmp_path, kind, fault):
    store = FaultyStore(MemoryStore() if kind == "memory" else SQLiteStore(tmp_path / "lake.db"))
    scene = Scene(store)
    store.arm(fault)
    scene.put(scene.others)
    assert (scene.found, scene.intents, store.armed) == ([scene.record], [], ())
    store.arm(fault)
    intent = scene.others.begin_checkpoint(scene.line, scene.partition, ["b"])
    assert (scene.intents, store.armed) == ([intent], ())
    for step in (scene.others.abandon_checkpoint, scene.others.end_checkpoint):
        store.arm(fault)
        step(intent)
        assert store.armed == ()
    assert scene.intents == []
    store.arm(fault)
    scene.others.drop_checkpoint(scene.line, scene.partition, scene.versions[1])
    assert (scene.found, store.armed) == ([], ())
    store.close()


# Intents


def test_only_intents_that_are_old_enough_are_unfinished(scene):
    def written(seconds_ago):
        intent = scene.others.begin_checkpoint(scene.line, scene.partition, [str(seconds_ago)])
        record = pb.CheckpointIntent(paths=["x"], begun_ms=time_ns() // 1_000_000 - seconds_ago * 1000)
        key = layout.intent_key(*intent.split("/"))
        scene.store.run(lambda transaction: transaction.set(key, codec.encode(record)))
        return intent

    hour, day = written(3_600), written(86_400)
    for seconds, expected in ((0, {scene.intent, hour, day}), (1_800, {hour, day}), (7_200, {day}), (100_000, set())):
        assert {one.intent for one in scene.others.unfinished_checkpoints(seconds)} == expected


def test_more_paths_than_a_row_holds_are_too_large_and_nothing_is_written(scene):
    with pytest.raises(TooLarge, match="folder"):
        scene.others.begin_checkpoint(scene.line, scene.partition, ["x" * 1000] * 101)
    assert scene.intents == [scene.intent]


def test_another_process_finishes_and_sees_what_one_has_begun(tmp_path):
    scene = Scene(SQLiteStore(tmp_path / "lake.db"))
    with SQLiteStore(tmp_path / "lake.db") as store:
        again = RecordsMetastore(store)
        assert [one.intent for one in again.unfinished_checkpoints(0)] == [scene.intent]
        scene.put(again)
    assert (scene.found, scene.intents) == ([scene.record], [])
    scene.store.close()


# Damage and cost


def test_a_damaged_checkpoint_is_corrupt_and_not_another_one(scene):
    scene.put(scene.others)
    key = layout.checkpoint_prefix(scene.line, scene.partition) + layout.version_element(scene.versions[1])
    good = scene.store.read(lambda transaction: transaction.get(key))
    for place in range(len(good)):
        broken = good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
        scene.store.run(lambda transaction, broken=broken: transaction.set(key, broken))
        with pytest.raises(Corrupt):
            scene.writer.reader().checkpoint(scene.partition)
    scene.store.run(lambda transaction: transaction.set(key, good))


def test_a_checkpoint_of_another_type_is_corrupt(scene):
    scene.put(scene.others)
    key = layout.checkpoint_prefix(scene.line, scene.partition) + layout.version_element(scene.versions[1])
    good = scene.store.read(lambda transaction: transaction.get(key))
    scene.store.run(lambda transaction: transaction.set(key, codec.encode(pb.TableSpec(spec_id=1))))
    with pytest.raises(Corrupt, match="TableCheckpoint"):
        scene.writer.reader().checkpoint(scene.partition)
    scene.store.run(lambda transaction: transaction.set(key, good))


class CountingTransaction(WrappedTransaction):
    def __init__(self, transaction, asked):
        super().__init__(transaction)
        self._asked = asked

    @property
    def snapshot(self):
        return self

    def get_ranges(self, reads):
        pages = super().get_ranges(reads)
        self._asked.append((len(reads), sum(len(page.entries) for page in pages)))
        return pages


def test_a_checkpoint_is_found_in_one_round_trip_however_many_there_are(scene):
    """A ranged read of one row for each line."""
    for _ in range(50):
        version = scene.writer.append(scene.table).version
        scene.writer.checkpoint(scene.table, version)
    store, asked = WrappedStore(scene.store), []
    reader = RecordsMetastore(store).reader(scene.writer.fork().fork().line)
    store.begin = lambda: CountingTransaction(scene.store.begin(), asked)
    assert reader.checkpoint(scene.partition).version == version
    assert asked == [(3, 1)]


def test_a_put_writes_its_row_and_takes_its_intent_and_nothing_else(scene):
    def everything():
        page = scene.store.read(lambda transaction: transaction.get_range(layout.KeyRange(b"", b"\xff")))
        return dict(page.entries)

    before = everything()
    scene.put(scene.others)
    after = everything()
    assert {key[:2] for key in after.keys() - before.keys()} == {layout.PREFIX[Space.CHECKPOINT]}
    assert {key[:2] for key in before.keys() - after.keys()} == {layout.PREFIX[Space.INTENT]}
    assert all(before[key] == after[key] for key in before.keys() & after.keys())


def test_the_deltas_since_a_checkpoint_are_all_that_has_to_be_read(scene):
    """MO-22 at this level: as many as came after it, however many came before."""
    for count in (10, 40):
        for _ in range(count):
            version = scene.writer.append(scene.table).version
        scene.writer.checkpoint(scene.table, version)
        for _ in range(3):
            scene.writer.append(scene.table)
        reader = scene.writer.reader()
        since = reader.checkpoint(scene.partition).version
        assert len(reader.history(scene.partition, Attribute.DATA, since=since).items) == 3
