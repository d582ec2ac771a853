"""KV-10: a process that dies at any write of a change of rows leaves them as they were, or as they are after it."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

import lakebed
from lakebed.catalog.transaction.bound import Bound
from lakebed.lake.table import Stream
from lakebed.records.check.check import check
from lakebed.records.layout import Attribute
from lakebed.store import SQLiteStore

# Forks a child for each write that a change makes, on a copy of the lake of its own, and kills it just before that;
# the last one when all is written.
KILLER = """
import os, shutil, signal, sys, traceback
sys.path.insert(0, sys.argv[1])
import lakebed
import lakebed.arrow.engine, lakebed.lake.table, pandas, pyarrow.acero, pyarrow.dataset, pyarrow.parquet
from lakebed.catalog.transaction import pending_delta
from lakebed.files import local
from lakebed.store.sqlite import store
from test_row_crashes import CHANGES, EVENT

template, folder, name, manifest_bytes = sys.argv[2:]
pending_delta.INLINE_BYTES = int(manifest_bytes)
left = 0

def deadly(do):
    def killed_first(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return do(*arguments, **options)
    return killed_first

def arm():
    for place, names in (
        (os, ("write", "fsync", "link", "replace", "unlink", "mkdir")),
        (local._NewFile, ("write",)),
        (store, ("_write", "_end")),
    ):
        for one in names:
            setattr(place, one, deadly(getattr(place, one)))

for point in range(10_000):
    shutil.copytree(template, f"{folder}/{point}")
    child = os.fork()
    if child == 0:
        try:
            lake = lakebed.connect(f"{folder}/{point}", author="ada")
            main = lake.catalog()
            main.table("t").scan().count()
            left = point
            arm()
            CHANGES[name](main, EVENT)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        print(point)
        break
    if status != -signal.SIGKILL:
        sys.exit(f"point {point}: {status}")
"""

EVENT = "0b7f6a52-31a4-4a3c-8b9e-3f0c1d9a7e55"
STREAM = "7d3c0f5e-52b1-4a9e-9d2f-8f1b6c3a2e10"
START = {number: (number, "abc"[number % 3]) for number in range(12)}


def rows(*pairs):
    ids, places = zip(*pairs, strict=True)
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "place": list(places)})


def load(main, event):
    with main.transaction("load", event_id=event) as tx:
        table = tx.table("t")
        table.append(rows((20, "d"), (21, "d")))
        table.delete("id in (1, 20)")
        table.upsert(rows((2, "z"), (30, "z")))
        tx.table("other").append(rows((1, "x")))


def rebuild(main, event):
    with main.transaction("rebuild", event_id=event) as tx:
        table = tx.table("t")
        edition = table.create_edition("3")
        edition.append(rows((60, "e"), (61, "f")))
        staged = edition.stage_stream()
        staged.append(rows((62, "g")))
        staged.commit()
        table.activate("3")
        tx.table("other").append(rows((1, "x")))


CHANGES = {
    "append": lambda main, event: main.table("t").append(rows((20, "a")), event_id=event),
    "delete": lambda main, event: main.table("t").delete("id in (1, 2, 7)", event_id=event),
    "truncate": lambda main, event: main.table("t").truncate(event_id=event),
    "update": lambda main, event: main.table("t").update({"place": "'z'"}, "id in (1, 2, 7)", event_id=event),
    "upsert": lambda main, event: main.table("t").upsert(rows((1, "z"), (20, "z")), event_id=event),
    "overwrite": lambda main, event: main.table("t").overwrite(rows((20, "z")), "id < 5", event_id=event),
    "overwrite_partitions": lambda main, event: main.table("t").overwrite_partitions(rows((20, "a")), event_id=event),
    "compact": lambda main, event: main.table("t").compact(event_id=event),
    "transaction": load,
    "rebuild": rebuild,
    "activation": lambda main, event: main.table("t").activate("2", event_id=event),
    "new edition": lambda main, event: main.table("t").create_edition("4", event_id=event),
    "staged stream": lambda main, event: main.table("t").stage_stream(event_id=event),
    "swap of a stream": lambda main, event: swap(main, event),
    "merge of a branch": lambda main, event: main.merge(main.branch("dev"), event_id=event),
    "checkpoint": lambda main, event: main.table("t").checkpoint(),
}


def swap(main, event):
    table = main.table("t")
    bound = Bound(table.id, None, STREAM, cell_of(main))
    Stream(bound, table._scope, stream_id=STREAM).commit(event_id=event)


def cell_of(main):
    [state] = main._scope.read().reader.attributes([(STREAM, Attribute.STORAGE)])
    return state.record.partition_id


def without(*ids):
    return {id: place for id, (_, place) in START.items() if id not in ids}


AFTER = {
    "append": {**without(), 20: "a"},
    "delete": without(1, 2, 7),
    "truncate": {},
    "update": {**without(), 1: "z", 2: "z", 7: "z"},
    "upsert": {**without(), 1: "z", 20: "z"},
    "overwrite": {**without(0, 1, 2, 3, 4), 20: "z"},
    "overwrite_partitions": {**without(0, 3, 6, 9), 20: "a"},
    "compact": without(),
    "rebuild": {62: "g"},
    "activation": {80: "h"},
    "new edition": without(),
    "staged stream": without(),
    "swap of a stream": {70: "s", 71: "s"},
    "transaction": {**without(1), 2: "z", 21: "d", 30: "z"},
    "merge of a branch": {**without(3), 40: "d"},
    "checkpoint": without(),
}


@pytest.fixture
def template(tmp_path):
    """A lake of files and inline rows, some of them with deleted rows, and a branch."""
    folder = tmp_path / "template"
    with lakebed.connect(folder, author="ada") as lake:
        main = lake.catalog()
        main.create_table("other", {"id": "long", "place": "string"})
        table = main.create_table(
            "t",
            {"id": "long", "place": "string"},
            primary_key=["id"],
            partition_by=["place"],
            properties={"write.inline-bytes": "0"},
        )
        table.append(rows(*list(START.values())[:6], (50, "a"), (51, "b")))
        table.append(rows(*list(START.values())[6:10], (52, "c")))
        table.delete("id >= 50")
        table.set_properties({"write.inline-bytes": "64000"})
        table.append(rows(*list(START.values())[10:]))
        table.set_properties({"write.inline-bytes": "0"})
        table.create_edition("2").append(rows((80, "h")))
        staged = table.stage_stream(STREAM)
        staged.append(rows((70, "s")))
        staged.append(rows((71, "s")))
        dev = main.create_branch("dev").table("t")
        dev.delete("id = 3")
        dev.append(rows((40, "d")))
    return folder


def shown(table):
    found = table.scan().to_arrow().to_pylist()
    assert len(found) == len({one["id"] for one in found})
    return {one["id"]: one["place"] for one in found}


def assert_whole(main):
    """Every table has what its newest snapshot says."""
    for table in main.tables():
        live = [one.file for one in table.scan()._plan.files]
        found = {"rows": table.scan().to_arrow().num_rows, "files": len(live)}
        assert table.snapshots()[0].totals == {**found, "bytes": sum(one.file_size for one in live)}


QUICK = {"transaction, manifest inline"}
EVERY = [
    pytest.param(name, size, id=case, marks=[] if case in QUICK else [pytest.mark.long])
    for size, where in (("64000", "manifest inline"), ("10", "manifest in files"), ("0", "manifest as a file"))
    for name in CHANGES
    for case in (f"{name}, {where}",)
]


@pytest.mark.parametrize(("name", "manifest_bytes"), EVERY)
def test_a_kill_at_any_write_leaves_all_or_nothing(tmp_path, template, name, manifest_bytes):
    folder = tmp_path / "killed"
    if manifest_bytes == "0":
        keep_manifests_as_files(template)
    run = subprocess.run(
        [sys.executable, "-c", KILLER, str(Path(__file__).parent), str(template), str(folder), name, manifest_bytes],
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"PYTHONPATH": str(Path(lakebed.__file__).parent.parent)},
    )
    assert run.stderr == ""
    points = int(run.stdout)
    assert points >= 3  # the two of the store, and the end
    seen = [one_killed(folder / str(point), name) for point in range(points)]
    assert seen == sorted(seen), "once it is there, it stays"
    if name != "checkpoint":
        assert (seen[0], seen[-1]) == (False, True)


def keep_manifests_as_files(folder):
    with lakebed.connect(folder, author="ada") as lake:
        for table in lake.catalog().tables():
            table.set_properties({"write.manifests": "files"})


def one_killed(folder, name):
    """Whether the change took effect; all of it or nothing, and once more makes it be there once."""
    with lakebed.connect(folder, author="ada") as lake:
        main = lake.catalog()
        commit = lake._context.metastore.find(EVENT)
        assert shown(main.table("t")) == (without() if commit is None else AFTER[name])
        other = main.table("other").scan().count()
        assert other == (1 if commit is not None and name in ("transaction", "rebuild") else 0)
        assert_whole(main)
        CHANGES[name](main, EVENT)
        assert shown(main.table("t")) == AFTER[name]
        assert main.table("t").scan().count() == len(AFTER[name])
        if commit is not None:
            assert main.log()[0].id == commit.id
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []
    return commit is not None
