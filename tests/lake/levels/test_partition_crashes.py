"""A process that dies at any write of a change of partitions leaves them as they were, or as they are after it."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from tests.lake.rows.test_row_crashes import EVENT, KILLER

STAGED = "11111111-2222-4333-8444-555555555555"
MONDAY = "11111111-2222-4333-8444-777777777777"
GONE = "11111111-2222-4333-8444-666666666666"
COLUMNS = {"id": "long", "day": "string"}
BEFORE = {"mon": [1, 2], "tue": [3], "wed": [4]}


def rebuild(main, event):
    with main.transaction("rebuild", event_id=event) as tx:
        staged = tx.table("t").stage_partition({"day": "tue"})
        staged.append([{"id": 30}, {"id": 31}])
        staged.commit()
        tx.table("t").partition({"day": "mon"}).append([{"id": 32}])


CHANGES = {
    "create": lambda main, event: main.table("t").create_partition(
        {"day": "fri"}, location=folder_of(main), event_id=event
    ),
    "append": lambda main, event: main.table("t").partition({"day": "mon"}).append([{"id": 5}], event_id=event),
    "drop": lambda main, event: main.table("t").drop_partition({"day": "mon"}, event_id=event),
    "undrop": lambda main, event: main.table("t").undrop_partition(id=GONE, event_id=event),
    "rename": lambda main, event: main.table("t").partition(MONDAY).rename({"day": "fri"}, event_id=event),
    "alter": lambda main, event: (
        main.table("t").partition({"day": "mon"}).alter(location=folder_of(main), event_id=event)
    ),
    "commit of what is staged": lambda main, event: main.table("t").partition(STAGED).commit(event_id=event),
    "transaction": rebuild,
    "merge of a branch": lambda main, event: main.merge(main.branch("dev"), event_id=event),
}

AFTER = {
    "create": {**BEFORE, "fri": [8, 9]},
    "append": {**BEFORE, "mon": [1, 2, 5]},
    "drop": {"tue": [3], "wed": [4]},
    "undrop": {**BEFORE, "sun": [7]},
    "rename": {"fri": [1, 2], "tue": [3], "wed": [4]},
    "alter": {**BEFORE, "mon": [8, 9]},
    "commit of what is staged": {**BEFORE, "mon": [20, 21]},
    "transaction": {**BEFORE, "mon": [1, 2, 32], "tue": [30, 31]},
    "merge of a branch": {"mon": [1, 2], "wed": [4], "sat": [40]},
}

EXPLICIT = {
    "create": {"mon", "tue", "fri"},
    "drop": {"tue"},
    "undrop": {"mon", "tue", "sun"},
    "rename": {"fri", "tue"},
    "merge of a branch": {"mon", "sat"},
}


def folder_of(main):
    """A folder with a file of rows 8 and 9."""
    folder = Path(main._scope.context.files.location("elsewhere").removeprefix("file://"))
    if not folder.exists():
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": [8, 9]}), folder / "x.parquet")
    return str(folder)


@pytest.fixture
def template(tmp_path):
    """A lake with explicit, hidden, staged and dropped partitions, and a branch."""
    with lakebed.connect(tmp_path / "template", author="ada") as lake:
        main = lake.catalog()
        folder_of(main)
        table = main.create_table("t", COLUMNS, partition_by=["day"], properties={"write.inline-bytes": "0"})
        table.create_partition({"day": "mon"}, id=MONDAY)
        table.create_partition({"day": "tue"})
        table.append([{"id": id, "day": day} for day, ids in BEFORE.items() for id in ids])
        table.create_partition({"day": "sun"}, id=GONE).append([{"id": 7}])
        table.drop_partition({"day": "sun"})
        table.stage_partition({"day": "mon"}, id=STAGED).append([{"id": 20}, {"id": 21}])
        dev = main.create_branch("dev").table("t")
        dev.drop_partition({"day": "tue"})
        dev.create_partition({"day": "sat"}).append([{"id": 40}])
    return tmp_path / "template"


QUICK = {"commit of what is staged"}
EVERY = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long], id=name) for name in CHANGES]


@pytest.mark.parametrize("name", EVERY)
def test_a_kill_at_any_write_leaves_all_or_nothing(tmp_path, template, name):
    folder, killer = tmp_path / "killed", KILLER.replace("test_row_crashes", "test_partition_crashes")
    run = subprocess.run(
        [sys.executable, "-c", killer, str(Path(__file__).parent), str(template), str(folder), name, "64000"],
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"PYTHONPATH": str(Path(lakebed.__file__).parent.parent)},
    )
    assert run.stderr == ""
    seen = [one_killed(folder / str(point), name) for point in range(int(run.stdout))]
    assert seen == sorted(seen), "once it is there, it stays"
    assert (seen[0], seen[-1]) == (False, True)


def one_killed(folder, name):
    """Whether the change took effect; all of it or nothing, and once more makes it be there once."""
    with lakebed.connect(folder, author="ada") as lake:
        main = lake.catalog()
        is_there = lake._context.metastore.find(EVENT) is not None
        assert shown(main.table("t")) == (after(name) if is_there else (BEFORE, {"mon", "tue"}))
        CHANGES[name](main, EVENT)
        assert shown(main.table("t")) == after(name)
        if name not in QUICK or int(folder.name) % 4 == 0:
            assert lake.check() == []
    return is_there


def after(name):
    return AFTER[name], EXPLICIT.get(name, {"mon", "tue"})


def shown(table):
    """The ids by day, and the days that are explicit partitions."""
    found: dict[str, list[int]] = {}
    for row in sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]):
        found.setdefault(row["day"], []).append(row["id"])
    explicit = table.partitions()[1:]
    assert all(partition.count() == len(found.get(partition.values["day"], [])) for partition in explicit)
    return found, {partition.values["day"] for partition in explicit}
