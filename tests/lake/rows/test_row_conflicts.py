"""Changes of rows that meet: who read what was changed is told so, or does it again; nothing is lost or done twice."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pyarrow
import pytest

import lakebed
from lakebed import Conflict, Invalid, when_matched_update
from lakebed.arrow import engine
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore

pytestmark = pytest.mark.sampled(3)

ISOLATIONS = ["serializable", "snapshot"]


def numbers(*ids, place="x"):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "place": [place] * len(ids)})


def ids(table, **asked):
    return sorted(table.scan(**asked).to_arrow()["id"].to_pylist())


@pytest.fixture(params=["0", "64000"], ids=["files", "inline"])
def table(main, request):
    """Two files, or two inline ones: ids 0 to 9 and 10 to 19."""
    table = main.create_table(
        "t",
        {"id": "long", "place": "string"},
        primary_key=["id"],
        properties={"write.inline-bytes": request.param},
    )
    table.append(numbers(*range(10)))
    table.append(numbers(*range(10, 20)))
    return table


@pytest.fixture
def other(main):
    return main.create_table("other", {"id": "long", "place": "string"})


@pytest.fixture
def meanwhile(main, monkeypatch):
    """Have something done just before the next commit; how many commits were tried since is told."""
    metastore = main._scope.context.metastore
    commit, todo, tried = metastore.commit, [], []

    def overtaken(change):
        tried.append(change)
        if todo:
            todo.pop()()
        return commit(change)

    monkeypatch.setattr(metastore, "commit", overtaken)

    def meanwhile(do):
        todo.append(do)
        tried.clear()
        return tried

    return meanwhile


def test_a_filter_that_was_read_and_gained_rows_is_a_conflict_that_says_who(main, table, other):
    with pytest.raises(Conflict) as lost, main.transaction("reads") as tx:
        assert tx.table("t").scan("id > 100").count() == 0
        tx.table("other").append(numbers(1))
        commit = table.append(numbers(200), author="bob", message="late")
    [clash] = lost.value.conflicts
    assert (clash.type, clash.name, clash.object_id) == ("table", "t", table.id)
    assert clash.commit == commit
    for word in ("table t", commit.id, "bob", "late"):
        assert word in str(lost.value)
    assert ids(other) == []


def test_a_filter_that_gained_no_rows_is_none(main, table, other):
    with main.transaction("reads") as tx:
        assert tx.table("t").scan("id > 100").count() == 0
        tx.table("other").append(numbers(1))
        table.append(numbers(50))
        table.delete("id = 3")
        table.upsert(numbers(4, 60))
    assert ids(other) == [1]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.delete("id = 3"),
        lambda table: table.upsert(numbers(3)),
        lambda table: table.update({"place": "'y'"}, "id = 3"),
        lambda table: table.overwrite(numbers(77), "id = 3"),
        lambda table: table.truncate(),
    ],
    ids=["delete", "upsert", "update", "overwrite", "truncate"],
)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_rows_that_were_read_and_changed_are_a_conflict_unless_a_snapshot_is_enough(
    main, table, other, isolation, change
):
    def work():
        with main.transaction("reads", isolation=isolation) as tx:
            assert ids(tx.table("t"), where="id = 3") == [3]
            tx.table("other").append(numbers(1))
            change(table)

    if isolation == "snapshot":
        work()
        assert ids(other) == [1]
    else:
        with pytest.raises(Conflict):
            work()
        assert ids(other) == []


def test_a_row_got_by_its_key_is_read(main, table, other):
    with pytest.raises(Conflict), main.transaction("reads") as tx:
        assert tx.table("t").get(33) is None
        tx.table("other").append(numbers(1))
        table.append(numbers(33))
    with main.transaction("reads") as tx:
        assert tx.table("t").get(3) == {"id": 3, "place": "x"}
        tx.table("other").append(numbers(1))
        table.append(numbers(34))
    assert ids(other) == [1]


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.delete("id = 3"),
        lambda table: table.delete("id < 10"),
        lambda table: table.upsert(numbers(3)),
        lambda table: table.overwrite(numbers(99), "id = 3"),
    ],
    ids=["a row", "a file", "upsert", "overwrite"],
)
def test_a_file_that_goes_or_loses_rows_has_to_be_live_still(main, table, isolation, change):
    """ME-11."""
    for overtaking in (lambda: table.delete("id = 5"), lambda: table.truncate()):
        before = ids(table)
        with pytest.raises(Conflict) as lost, main.transaction("loses", isolation=isolation) as tx:
            change(tx.table("t"))
            commit = overtaking()
            after = ids(table)
        assert lost.value.conflicts[0].commit == commit
        assert ids(table) == after != before
        main.revert(commit)
        assert ids(table) == before


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_appends_conflict_with_nothing(main, table, isolation):
    with main.transaction("appends", isolation=isolation) as tx:
        tx.table("t").append(numbers(100))
        table.delete("id < 5")
        table.upsert(numbers(7, 30))
        table.append(numbers(31))
        table.compact()
    assert ids(table) == [*range(5, 20), 30, 31, 100]
    with main.transaction("appends", isolation=isolation) as tx:
        tx.table("t").append(numbers(101))
        table.truncate()
    assert ids(table) == [101]


def test_deletes_of_different_files_both_pass(main, table):
    with main.transaction("first") as tx:
        tx.table("t").delete("id = 3")
        table.delete("id = 13")
        table.delete("id >= 15")
    assert ids(table) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14]


def test_a_write_skew_is_a_conflict(main, table):
    """Each takes away what the other has read."""
    with pytest.raises(Conflict), main.transaction("second") as second:
        assert second.table("t").scan("id = 3").count() == 1
        second.table("t").delete("id = 13")
        with main.transaction("first") as first:
            assert first.table("t").scan("id = 13").count() == 1
            first.table("t").delete("id = 3")
    assert (3 in ids(table), 13 in ids(table)) == (False, True)


# Handles do it again

CHANGES = {
    "delete": (lambda table: table.delete("id in (3, 4)"), lambda had: had - {3, 4}),
    "delete by what is not there": (
        lambda table: table.delete("id > 100", event_id=str(uuid4())),  # else it would commit nothing
        lambda had: {i for i in had if i <= 100},
    ),
    "truncate": (lambda table: table.truncate(), lambda had: set()),
    "upsert": (lambda table: table.upsert(numbers(3, 200)), lambda had: had | {3, 200}),
    "update": (lambda table: table.update({"place": "'y'"}, "id < 5"), lambda had: had),
    "overwrite": (lambda table: table.overwrite(numbers(300)), lambda had: {300}),
    "overwrite by a condition": (
        lambda table: table.overwrite(numbers(300), "id < 5 or id > 100"),
        lambda had: {i for i in had if 5 <= i <= 100} | {300},
    ),
    "compact": (lambda table: table.compact(), lambda had: had),
}
OVERTAKING = {
    "a delete": (lambda table: table.delete("id in (4, 5)"), lambda had: had - {4, 5}),
    "an upsert": (lambda table: table.upsert(numbers(3, 4, 200)), lambda had: had | {3, 4, 200}),
    "an append": (lambda table: table.append(numbers(201)), lambda had: had | {201}),
    "a truncate": (lambda table: table.truncate(), lambda had: set()),
    "a compaction": (lambda table: table.compact(), lambda had: had),
}


WRITING = {
    **{name: do for name, (do, _) in CHANGES.items() if name.startswith(("up", "over"))},
    "merge": lambda table: table.merge(numbers(3), "id", when_matched_update()),
    "update, copied": CHANGES["update"][0],
}


@pytest.mark.parametrize("change", WRITING)
def test_a_change_brought_in_rows_that_break_a_check_added_while_it_ran(table, meanwhile, files, change):
    before = set(files())
    if change == "update, copied":
        table.set_properties({"write.row-changes": "copy-on-write"})
    meanwhile(lambda: table.set_properties({"check.none": "id < 0"}))
    with pytest.raises(Invalid, match=r"check\.none: rows violate a check"):
        WRITING[change](table)
    assert ids(table) == list(range(20))
    assert set(files()) == before


@pytest.mark.parametrize("overtaking", OVERTAKING)
@pytest.mark.parametrize("change", CHANGES)
def test_a_call_that_is_overtaken_is_done_again_by_itself(table, meanwhile, files, change, overtaking):
    """Both effects are there, as if the other had come first; and no file is left that nothing refers to."""
    do, effect = CHANGES[change]
    first, earlier = OVERTAKING[overtaking]
    meanwhile(lambda: first(table))
    do(table)
    assert ids(table) == sorted(effect(earlier(set(range(20)))))
    if change == "update":
        assert ids(table, where="place = 'y'") == [one for one in ids(table) if one < 5]
    used = set()
    for snapshot in table.snapshots():
        for one in table.at(snapshot=snapshot.id).scan()._plan.files:
            used |= {one.file.path, one.file.dv_path}
    assert set(files()) <= used


def test_what_does_not_touch_is_not_done_again(table, meanwhile):
    tried = meanwhile(lambda: table.delete("id = 13"))
    table.delete("id = 3")
    assert len(tried) == 2
    tried = meanwhile(lambda: table.append(numbers(50)))
    table.upsert(numbers(4))
    assert len(tried) == 2
    assert ids(table) == [*(one for one in range(20) if one not in (3, 13)), 50]


def test_partitions_are_overwritten_again_if_they_gained_rows(main, meanwhile):
    table = main.create_table("p", {"id": "long", "place": "string"}, partition_by=["place"])
    table.append(numbers(1, place="a"))
    table.append(numbers(2, place="b"))
    tried = meanwhile(lambda: table.append(numbers(3, place="b")))
    table.overwrite_partitions(numbers(9, place="a"))
    assert len(tried) == 2
    assert ids(table) == [2, 3, 9]
    tried = meanwhile(lambda: table.append(numbers(4, place="a")))
    table.overwrite_partitions(numbers(10, place="a"))
    assert len(tried) == 3
    assert ids(table) == [2, 3, 10]


def test_a_schema_that_changes_meanwhile_has_the_rows_changed_by_the_new_one(table, meanwhile):
    def evolve():
        with table.evolve() as change:
            change.add_column("note", "string", default="none")

    meanwhile(evolve)
    table.upsert(numbers(3, 50, place="new"))
    assert table.get(3) == {"id": 3, "place": "new", "note": "none"}
    assert table.get(50) == {"id": 50, "place": "new", "note": "none"}


def test_a_reader_is_written_once_and_refused_if_the_partitions_change(table, meanwhile):
    meanwhile(lambda: table.delete("id = 4"))
    table.overwrite(numbers(300, 301).to_reader(), "id < 5")
    assert ids(table) == [*range(5, 20), 300, 301]

    def evolve():
        with table.evolve() as change:
            change.partition_by(["bucket(4, id)"])

    meanwhile(evolve)
    before = ids(table)
    with pytest.raises((lakebed.Invalid, Conflict)):
        table.overwrite(numbers(400).to_reader())
    assert ids(table) == before


def test_the_same_event_done_twice_at_once_is_one_commit(table, meanwhile):
    event = lakebed.event_id("twice")
    first = []
    meanwhile(lambda: first.append(table.delete("id = 3", event_id=event)))
    assert [table.delete("id = 3", event_id=event)] == first
    assert ids(table) == [one for one in range(20) if one != 3]


# Threads and processes

ACCOUNTS, EACH = 12, 100


def accounts(line, inline="0"):
    """Rows of a table, in a few files, whose balances add up to the same for ever."""
    table = line.create_table(
        "accounts",
        {"id": "long", "balance": "long"},
        primary_key=["id"],
        properties={"write.inline-bytes": inline, "checkpoint.deltas": "16"},
    )
    for first in range(0, ACCOUNTS, 4):
        table.append(pyarrow.table({"id": range(first, first + 4), "balance": [EACH] * 4}))
    return table


def transfer(line, give, take, amount):
    """Move from one row to another, as often as it takes; the two reads and the write are one."""
    while True:
        try:
            with line.transaction("transfer") as tx:
                table = tx.table("accounts")
                left, right = table.get(give)["balance"], table.get(take)["balance"]
                balances = [left - amount, right + amount]
                table.upsert(pyarrow.table({"id": [give, take], "balance": balances}))
            return
        except Conflict:
            continue


def work(line, number, steps, seed):
    """Mixed changes; answers the ids of own rows, which have to be there in the end, and of what was taken."""
    table, chance = line.table("accounts"), random.Random(seed)
    own, first = [], 1000 * (number + 1)
    for step in range(steps):
        match chance.randrange(6):
            case 0 | 1:
                give, take = chance.sample(range(ACCOUNTS), 2)
                transfer(line, give, take, chance.randrange(50))
            case 2:
                table.append(pyarrow.table({"id": [first + step], "balance": [0]}))
                own.append(first + step)
            case 3 if own:
                gone = own.pop(chance.randrange(len(own)))
                table.delete(f"id = {gone}")
            case 4:
                table.upsert(pyarrow.table({"id": [first + step, *own[:1]], "balance": [0] * len([0, *own[:1]])}))
                own.append(first + step)
            case _:
                table.compact()
    return own


def assert_conserved(table, own):
    found = table.scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted([*range(ACCOUNTS), *own])
    assert sum(found["balance"].to_pylist()) == ACCOUNTS * EACH
    newest = table.snapshots()[0]
    live = table.scan()._plan.files
    assert newest.totals == {
        "rows": found.num_rows,
        "files": len(live),
        "bytes": sum(one.file.file_size for one in live),
    }


@pytest.mark.parametrize("inline", ["0", "64000"], ids=["files", "inline"])
def test_threads_that_change_one_table_lose_nothing(main, inline):
    table = accounts(main, inline)
    results, errors = {}, []

    def run(number):
        try:
            results[number] = work(main, number, 12, number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert_conserved(table, [one for own in results.values() for one in own])


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
import lakebed
from test_row_conflicts import work

with lakebed.connect(sys.argv[2], author=f"process {sys.argv[3]}") as lake:
    print(*work(lake.catalog(), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[3]) + 100))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("inline", "steps"),
    [pytest.param("0", 15, marks=pytest.mark.long), ("64000", 15), pytest.param("2000", 300, marks=pytest.mark.long)],
    ids=["files", "inline", "mixed"],
)
def test_processes_that_change_one_table_lose_nothing(tmp_path, inline, steps):
    folder = tmp_path / "lake"
    with lakebed.connect(folder, author="ada") as lake:
        accounts(lake.catalog(), inline)
    place = str(Path(__file__).parent)
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, place, str(folder), str(number), str(steps)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(lakebed.__file__).parent.parent)},
        )
        for number in range(4)
    ]
    try:
        told = [process.communicate(timeout=500) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert [(process.returncode, err) for process, (_, err) in zip(started, told, strict=True)] == [(0, "")] * 4
    with lakebed.connect(folder) as lake:
        assert_conserved(lake.catalog().table("accounts"), [int(one) for out, _ in told for one in out.split()])
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []


def test_a_call_that_always_loses_says_who_it_lost_to(main, lake, monkeypatch):
    """It said only that the table was changed, not by whom."""
    table = main.create_table("contested", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    other = lake.catalog().table("contested")
    real = engine.delete_rows

    def overtaken(target, filter):
        made = real(target, filter)
        other.append(pyarrow.table({"id": [1]}), author="eve", message="always first")
        return made

    monkeypatch.setattr(engine, "delete_rows", overtaken)
    monkeypatch.setattr(engine.ArrowEngine, "attempts", 3)
    with pytest.raises(Conflict, match="contested") as caught:
        table.delete("id = 1")
    assert "eve" in str(caught.value)
    assert "3 times" in str(caught.value)
