"""Purge (P11): only the dropped, only what nobody can see, for good, and whole even if it is killed half-way."""

import multiprocessing
import os
import signal
from contextlib import suppress

import pyarrow
import pytest

import lakebed
from lakebed import Expired, Forbidden, Invalid, NotFound, Unavailable, event_id
from lakebed.catalog.objects import purge, undrop
from lakebed.files import LocalFiles
from lakebed.files.files import DeleteFailure
from lakebed.metastore.records import erasure
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import check
from lakebed.records.layout import PREFIX, Space, id_element, prefix_range
from lakebed.store import MemoryStore, SQLiteStore
from tests.support.faults import Fault, FaultyStore, WrappedStore, WrappedTransaction

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files

NOT_THE_LOG = [Space.CURRENT, Space.HISTORY, Space.ALLOCATOR, Space.BODY]


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def make(line, name, *rows):
    table = line.create_table(name, {"id": "long"}, properties={"a": "1"})
    for row in rows:
        table.append(numbers(row))
    return table


def purged(line, name, *rows):
    """A table that was dropped, and the version before."""
    table = make(line, name, *rows)
    version = line.version
    line.drop_table(name)
    return table, version


@pytest.fixture
def sales(main):
    main.create_namespace("sales")
    return main


def rows_about(store, *objects):
    """The rows of attributes, data, ids and bodies that name an object in their keys, but its lives and tombstone."""
    found = []
    for space in NOT_THE_LOG:
        for key, _ in store.read(lambda reads, space=space: reads.get_range(prefix_range(PREFIX[space]))).entries:
            if any(id_element(one) in key for one in objects):
                found.append((space, key))
    lives = [id_element(one) + b"\x15\x01" for one in objects]
    return [key for space, key in found if not any(life in key for life in lives) and b"purged" not in key]


def partition(table):
    return table._state.partition


# What goes, and what stays


def test_a_purged_table_is_gone_with_its_history_and_its_files(sales, store, files):
    """P11."""
    table, kept = make(sales, "sales.orders", 1, 2), make(sales, "sales.kept", 3)
    data = partition(table)
    before = sales.version
    assert rows_about(store, table.id, data)
    sales.drop_table("sales.orders")
    commit = sales.purge_table("sales.orders", message="no more", author="ada", event_id=event_id("purge"))
    assert (commit.message, commit.author, commit.id) == ("no more", "ada", event_id("purge"))
    [operation] = commit.operations
    assert (operation.type, operation.object_id, operation.name) == ("purge", table.id, "sales.orders")
    assert rows_about(store, table.id, data) == []
    assert not [path for path in files() if table.id in path]
    assert (ids(kept), [one.name for one in sales.tables("sales")]) == ([3], ["sales.kept"])
    [row] = sales._scope.read().dropped(sales.namespace("sales").id)
    assert (row.id, row.drop_type) == (table.id, pb.PURGED)
    assert [one.name for one in sales.at(version=before).tables("sales")] == ["sales.kept", "sales.orders"]


@pytest.mark.parametrize("properties", [{}, {"write.inline-bytes": "0"}], ids=["inline", "files"])
def test_a_scan_that_outlived_its_table_is_expired_and_not_corrupt(sales, properties):
    table = sales.create_table("sales.orders", {"id": "long"}, properties=properties)
    table.append(numbers(1))
    scan = table.scan()
    sales.drop_table("sales.orders")
    assert scan.to_arrow().num_rows == 1
    sales.purge_table("sales.orders")
    with pytest.raises(Expired, match="purged after the scan was planned"):
        scan.to_arrow()


def test_a_purged_table_is_expired_at_every_version_and_never_empty(sales):
    table, before = purged(sales, "sales.orders", 1)
    gone = sales.version
    commit = sales.purge_table("sales.orders")
    past = sales.at(version=before).table("sales.orders")
    assert past.name == "sales.orders"
    for look in (
        lambda: past.scan(),
        lambda: past.schema,
        lambda: past.properties,
        lambda: past.snapshots(),
        lambda: past.location,
        lambda: past.version,
    ):
        with pytest.raises(Expired, match=f"version {commit.version}") as caught:
            look()
        assert table.id in caught.value.subject
    assert not sales.at(version=gone).table_exists("sales.orders")
    with pytest.raises(NotFound, match="purged"):
        ids(table)


def test_the_log_still_says_what_a_purged_table_was(sales):
    table, _ = purged(sales, "sales.orders", 1)
    sales.purge_table("sales.orders")
    done = [one.type for commit in sales.log() for one in commit.operations if one.object_id == table.id]
    assert done == ["purge", "drop", "insert", "create"]


def test_a_namespace_is_purged_with_all_that_it_held(sales, store, files):
    sales.create_namespace("sales.eu")
    tables = [make(sales, "sales.orders", 1), make(sales, "sales.eu.items", 2), make(sales, "sales.old", 3)]
    before = sales.version
    objects = [one.id for one in tables] + [partition(one) for one in tables]
    spaces = [sales.namespace("sales").id, sales.namespace("sales.eu").id]
    sales.drop_table("sales.old")
    sales.drop_namespace("sales", cascade=True)
    commit = sales.purge_namespace("sales")
    assert {one.object_id for one in commit.operations} == {*(one.id for one in tables), *spaces}
    assert rows_about(store, *objects, *spaces) == []
    assert files() == {}
    past = sales.at(version=before)
    assert len(past.tables(recursive=True)) == 3
    for name in ("sales.orders", "sales.eu.items", "sales.old"):
        with pytest.raises(Expired):
            past.table(name).scan()
    with pytest.raises(Expired):
        past.namespace("sales.eu").properties  # noqa: B018
    for one in tables:
        with pytest.raises(Expired):
            sales.undrop_table(f"sales.{one.at(version=before).name.partition('.')[2]}", id=one.id, as_name="back")
    sales.create_namespace("sales")
    assert sales.tables("sales") == []


def test_a_table_at_a_location_of_its_own_takes_only_its_own_files(sales, files):
    one = sales.create_table("sales.one", {"id": "long"}, location="shared")
    other = sales.create_table("sales.other", {"id": "long"}, location="shared")
    one.append(numbers(1))
    other.append(numbers(2))
    sales.drop_table("sales.one")
    sales.purge_table("sales.one")
    assert ids(other) == [2]
    assert not [path for path in files() if one.id in path]


def test_a_name_whose_table_was_purged_is_as_good_as_new(sales):
    purged(sales, "sales.orders", 1)
    sales.purge_table("sales.orders")
    again = make(sales, "sales.orders", 2)
    sales.drop_table("sales.orders")
    sales.undrop_table("sales.orders")
    assert ids(again) == [2]
    sales.drop_table("sales.orders")
    assert sales.purge_table("sales.orders").operations[0].object_id == again.id


# Refusals


def test_only_what_was_dropped_is_purged(sales, unchanged):
    table = make(sales, "sales.orders", 1)
    with unchanged():
        for given in (None, table.id):
            with pytest.raises(Invalid, match="Drop it first"):
                sales.purge_table("sales.orders", id=given)
        with pytest.raises(Invalid, match="Drop it first"):
            sales.purge_namespace("sales")
        with pytest.raises(NotFound):
            sales.purge_table("sales.other")
        with pytest.raises(NotFound):
            sales.purge_table("sales.orders", id=event_id("nobody"))


def test_several_of_a_name_are_purged_by_their_ids(sales):
    first, _ = purged(sales, "sales.orders", 1)
    second, _ = purged(sales, "sales.orders", 2)
    with pytest.raises(lakebed.Ambiguous) as caught:
        sales.purge_table("sales.orders")
    assert {one.id for one in caught.value.candidates} == {first.id, second.id}
    sales.purge_table("sales.orders", id=first.id)
    sales.undrop_table("sales.orders")
    assert ids(second) == [2]


@pytest.mark.parametrize(
    "forked", ["at its newest version", "at its fork", "as a dropped branch", "as a deeper branch"]
)
def test_a_branch_that_can_still_see_it_makes_a_purge_fail(sales, unchanged, forked):
    """P11."""
    make(sales, "sales.orders", 1)
    dev = sales.create_branch("dev")
    if forked == "as a deeper branch":
        dev = dev.create_branch("deeper")
        sales.branch("dev").drop_table("sales.orders")
    sales.drop_table("sales.orders")
    if forked == "at its fork":
        dev.drop_table("sales.orders")
    if forked == "as a dropped branch":
        sales.drop_branch("dev")
    with unchanged(), pytest.raises(Invalid, match=r"dev|deeper") as caught:
        sales.purge_table("sales.orders")
    assert "can still see it" in str(caught.value)
    if forked == "as a deeper branch":
        sales.drop_branch("deeper")
        sales.purge_branch("deeper")
    if forked != "as a dropped branch":
        sales.drop_branch("dev")
    sales.purge_branch("dev")
    sales.purge_table("sales.orders")


def test_a_tag_that_can_still_see_it_makes_a_purge_fail(sales, unchanged):
    table = make(sales, "sales.orders", 1)
    sales.create_tag("q4")
    sales.drop_table("sales.orders")
    with unchanged(), pytest.raises(Invalid, match="tag 'q4'"):
        sales.purge_table("sales.orders")
    assert ids(sales.at(tag="q4").table("sales.orders")) == [1]
    sales.drop_tag("q4")
    with unchanged(), pytest.raises(Invalid, match="tag 'q4'"):
        sales.purge_table("sales.orders")
    sales.purge_tag("q4")
    assert sales.purge_table("sales.orders").operations[0].object_id == table.id


def test_branches_and_tags_that_can_not_see_it_are_no_hindrance(sales):
    sales.create_branch("before")
    table, _ = purged(sales, "sales.orders", 1)
    after = sales.create_branch("after")
    sales.create_tag("later")
    sales.purge_table("sales.orders")
    with pytest.raises(Expired):
        after.undrop_table("sales.orders", id=table.id)


def test_a_table_inside_a_namespace_that_a_branch_still_has_makes_its_purge_fail(sales, unchanged):
    """Though the namespace itself is dropped there too."""
    table = make(sales, "sales.orders", 1)
    sales.drop_namespace("sales", cascade=True)
    dev = sales.create_branch("dev")
    dev.undrop_table("sales.orders", id=table.id, as_name="mine")
    with unchanged(), pytest.raises(Invalid, match="dev"):
        sales.purge_namespace("sales")
    assert ids(dev.table("mine")) == [1]


def test_a_branch_whose_dropped_namespace_would_bring_it_back_makes_a_purge_fail(sales, unchanged):
    """Else to undrop the namespace there would show a name without a table."""
    dev = sales.create_branch("dev")
    make(dev, "sales.orders", 1)
    sales.merge(dev)
    dev.drop_namespace("sales", cascade=True)
    sales.drop_table("sales.orders")
    with unchanged(), pytest.raises(Invalid, match=r"dev.*in a namespace that was dropped"):
        sales.purge_table("sales.orders")
    dev.undrop_namespace("sales")
    assert ids(dev.table("sales.orders")) == [1]


def test_what_was_purged_on_one_line_is_gone_on_all(sales, store, files):
    """Dropped on both, purged on the branch: nothing of it is left on the trunk, nor can be brought back there."""
    dev = sales.create_branch("dev")
    table = make(dev, "sales.orders", 1)
    sales.merge(dev)
    before, data = sales.version, partition(table)
    dev.drop_table("sales.orders")
    with pytest.raises(Invalid, match="main"):
        dev.purge_table("sales.orders")
    sales.drop_table("sales.orders")
    dev.purge_table("sales.orders")
    assert rows_about(store, table.id, data) == []
    assert files() == {}
    with pytest.raises(Expired):
        sales.undrop_table("sales.orders")
    with pytest.raises(Expired):
        sales.at(version=before).table("sales.orders").scan()


def test_a_state_between_fork_and_now_that_had_it_is_expired(sales):
    """A branch that brought it back and dropped it again sees it at neither end."""
    table, _ = purged(sales, "sales.orders", 1)
    dev = sales.create_branch("dev")
    dev.undrop_table("sales.orders")
    dev.table("sales.orders").append(numbers(2))
    between = dev.version
    assert ids(dev.at(version=between).table("sales.orders")) == [1, 2]
    dev.drop_table("sales.orders")
    sales.purge_table("sales.orders")
    with pytest.raises(Expired):
        dev.at(version=between).table("sales.orders").scan()
    with pytest.raises(Expired):
        dev.undrop_table("sales.orders", id=table.id)


def test_a_transaction_or_the_past_purges_nothing(sales, unchanged):
    purged(sales, "sales.orders")
    with unchanged():
        with pytest.raises(Forbidden):
            sales.at(version=sales.version).purge_table("sales.orders")
        with pytest.raises(Invalid, match="transaction"), sales.transaction() as tx:
            tx.purge_table("sales.orders")


def test_nothing_brings_a_purged_table_back(sales, unchanged):
    _, before = purged(sales, "sales.orders", 1)
    drop = sales.log(limit=1)[0]
    sales.purge_table("sales.orders")
    calls = [
        lambda: sales.undrop_table("sales.orders"),
        lambda: sales.reset(before),
        lambda: sales.revert(drop),
        lambda: sales.restore_table("sales.orders", before),
    ]
    for call in calls:
        with unchanged(), pytest.raises(lakebed.LakebedError) as caught:
            call()
        assert caught.value.kind in ("expired", "conflict"), caught.value


# Races


def once(monkeypatch, module, name, meanwhile):
    """Let something happen when a function of a module has been called for the first time."""
    function, happened = getattr(module, name), []

    def called(*arguments):
        answer = function(*arguments)
        if not happened:
            happened.append(None)
            meanwhile()
        return answer

    monkeypatch.setattr(module, name, called)
    return happened


@pytest.mark.parametrize("meanwhile", ["undrop on a branch", "undrop here", "branch", "tag"])
def test_a_purge_that_others_overtake_looks_again(sales, monkeypatch, meanwhile):
    """Between its look around and its commit somebody makes the table seen: it is refused, and nothing is lost."""
    table, before = purged(sales, "sales.orders", 1)
    dev = sales.create_branch("dev")
    changes = {
        "undrop on a branch": lambda: dev.undrop_table("sales.orders"),
        "undrop here": lambda: sales.undrop_table("sales.orders"),
        "branch": lambda: sales.create_branch("old", at=before),
        "tag": lambda: sales.create_tag("old", at=before),
    }
    happened = once(monkeypatch, purge, "visible_states", changes[meanwhile])
    with pytest.raises(Invalid):
        sales.purge_table("sales.orders")
    assert happened
    assert ids(table.at(version=before)) == [1]


def test_an_undrop_on_a_branch_that_a_purge_overtakes_is_expired(sales, monkeypatch):
    purged(sales, "sales.orders", 1)
    dev = sales.create_branch("dev")
    happened = once(monkeypatch, undrop, "name_of", lambda: sales.purge_table("sales.orders"))
    with pytest.raises(Expired):
        dev.undrop_table("sales.orders")
    assert happened
    assert not dev.table_exists("sales.orders")


def test_a_table_that_leaves_a_namespace_while_that_is_purged_stays(sales, monkeypatch):
    table = make(sales, "sales.orders", 1)
    sales.drop_namespace("sales", cascade=True)
    once(monkeypatch, purge, "visible_states", lambda: sales.undrop_table("sales.orders", id=table.id, as_name="free"))
    commit = sales.purge_namespace("sales")
    assert table.id not in [one.object_id for one in commit.operations]
    assert ids(table) == [1]


# Again


def test_a_purge_that_comes_again_answers_the_first_commit(sales):
    table, _ = purged(sales, "sales.orders", 1)
    first = sales.purge_table("sales.orders", event_id=event_id(1))
    version = sales.version
    assert sales.purge_table("sales.orders", event_id=event_id(1)) == first
    assert sales.purge_table("sales.orders") == first
    assert sales.purge_table("sales.orders", id=table.id) == first
    assert sales.version == version
    make(sales, "sales.orders")
    assert sales.purge_table("sales.orders", event_id=event_id(1)) == first
    assert sales.table_exists("sales.orders")


@pytest.mark.parametrize("fault", Fault)
def test_a_purge_whose_answer_is_lost_is_made_once(open_lake, fault):
    """P7, at every store transaction of a purge."""
    steps = 0
    while True:
        store = FaultyStore(MemoryStore())
        main = open_lake(store).catalog()
        main.create_namespace("sales")
        table, before = purged(main, "sales.orders", 1)
        store.arm(*[None] * steps, fault)
        main.purge_table("sales.orders")
        if store.armed:
            break
        steps += 1
        assert len([one for one in main.log() if one.operations[0].type == "purge"]) == 1
        assert rows_about(store, table.id) == []
        with pytest.raises(Expired):
            main.at(version=before).table("sales.orders").scan()
        assert check(store.store) == []
    assert steps > 2


# Killed


class Killed(BaseException):
    """The process is gone."""


class MortalStore(WrappedStore):
    """A store whose process is killed at the commit that writes something as the n-th from now, before or after it."""

    def __init__(self, store):
        super().__init__(store)
        self.left = None
        self.after = False

    def begin(self):
        return _MortalTransaction(self.store.begin(), self)


class _MortalTransaction(WrappedTransaction):
    def __init__(self, transaction, store):
        super().__init__(transaction)
        self._store = store
        self._writes = False

    def _written(name):
        def write(self, *arguments):
            self._writes = True
            getattr(self.transaction, name)(*arguments)

        return write

    set, clear, clear_range = _written("set"), _written("clear"), _written("clear_range")
    set_stamped_key, set_stamped_value = _written("set_stamped_key"), _written("set_stamped_value")

    def commit(self):
        store = self._store
        if not self._writes or store.left is None:
            return super().commit()
        store.left -= 1
        if store.left < 0 and not store.after:
            raise Killed
        committed = super().commit()
        if store.left < 0:
            raise Killed
        return committed


def grown(main):
    """A namespace with tables, one with a long history, one dropped before; and the version before the drop."""
    main.create_namespace("sales")
    tables = [make(main, "sales.orders", *range(9)), make(main, "sales.items", 1), make(main, "sales.old", 2)]
    version = main.version
    main.drop_table("sales.old")
    main.drop_namespace("sales", cascade=True)
    return tables, version


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_purge_killed_between_any_two_steps_is_whole_when_called_again(open_lake, folder, after, monkeypatch):
    """P11: meanwhile nothing is damaged, and nobody reads half of it."""
    monkeypatch.setattr(erasure, "ROWS", 4)  # so that a history goes in several steps
    monkeypatch.setattr(erasure, "CELLS", 6)
    steps = 0
    while True:
        store = MortalStore(MemoryStore())
        main = open_lake(store).catalog()
        tables, version = grown(main)
        objects = [one for table in tables for one in (table.id, partition(table.at(version=version)))]
        store.left, store.after = steps, after
        try:
            main.purge_namespace("sales")
            break
        except Killed:
            store.left = None
        assert check(store.store) == []
        again = open_lake(store).catalog()
        for table in again.at(version=version).tables("sales"):
            with suppress(Expired):
                assert ids(table)
        first = [one for one in again.log() if one.operations[0].type == "purge"]
        commit = again.purge_namespace("sales")
        assert first in ([], [commit])
        assert rows_about(store, *objects) == []
        assert not [path for path in folder.rglob("*.parquet") if any(one in str(path) for one in objects)]
        assert check(store.store) == []
        steps += 1
    assert steps > 10


def test_a_purge_killed_before_the_files_went_takes_them_when_called_again(sales, files, monkeypatch):
    table, _ = purged(sales, "sales.orders", 1, 2)

    def killed(self, paths):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "delete_many", killed)
        with pytest.raises(Killed):
            sales.purge_table("sales.orders")
    assert [path for path in files() if table.id in path]
    sales.purge_table("sales.orders")
    assert not [path for path in files() if table.id in path]


def test_files_that_can_not_be_deleted_are_told_and_taken_later(sales, files, monkeypatch):
    """What the folder's owner forbids can't be tried here: root may delete anything."""
    table, _ = purged(sales, "sales.orders", 1)

    def refused(self, paths):
        return [DeleteFailure(path, Unavailable("the disk is away")) for path in paths]

    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "delete_many", refused)
        with pytest.raises(Unavailable, match="same call again") as caught:
            sales.purge_table("sales.orders")
    assert (table.id in caught.value.subject, caught.value.found) == (True, "the disk is away")
    sales.purge_table("sales.orders")
    assert not [path for path in files() if table.id in path]


def purge_in_another_process(folder, ready):
    with lakebed.connect(folder) as lake:
        ready.set()
        lake.catalog().purge_namespace("sales")


@pytest.mark.long
def test_a_purge_whose_process_is_killed_is_whole_when_called_again(tmp_path):
    """P11, with kill -9 at some moment of a purge."""
    context = multiprocessing.get_context("spawn")
    for wait in (0.0, 0.005, 0.02):
        folder = tmp_path / f"lake{wait}"
        with lakebed.connect(folder) as lake:
            tables, version = grown(lake.catalog())
        ready = context.Event()
        process = context.Process(target=purge_in_another_process, args=(str(folder), ready))
        process.start()
        assert ready.wait(60)
        process.join(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with lakebed.connect(folder) as lake:
            lake.catalog().purge_namespace("sales")
            with pytest.raises(Expired):
                lake.catalog().at(version=version).table("sales.orders").scan()
            assert not list(folder.rglob("*.parquet"))
        with SQLiteStore(folder / "catalog.db") as store:
            assert check(store) == []
            assert rows_about(store, *(one.id for one in tables)) == []
