"""KV-4 and KV-19: the files and totals of every snapshot follow from those before it, whatever call made it."""

import inspect
import json
from collections.abc import Iterator

import pyarrow.parquet
import pytest

from lakebed import Catalog, Table, when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.catalog.partitions.partition import shown_and_staged
from lakebed.catalog.partitions.staged import cell_of
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bound import place_of, subject_of
from lakebed.catalog.transaction.objects import type_of
from lakebed.metastore.kinds import type_name
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from tests.support.grown_lakes import grown_store, held_in
from tests.support.manifests import manifests
from tests.support.mutations import CALLS as EVERY_COMMIT
from tests.support.mutations import PURGES, grown, numbers, without_branches
from tests.support.row_tables import arrow, assert_counted, entries, row

LAYOUTS = {
    "files with vectors": {"write.inline-bytes": "0"},
    "files that are rewritten": dict.fromkeys(
        ("write.delete.mode", "write.update.mode", "write.merge.mode"), "copy-on-write"
    )
    | {"write.inline-bytes": "0"},
    "inline rows": {"write.inline-bytes": "64000"},
}

EVERY = {**EVERY_COMMIT, **PURGES}

SCHEMA = {"id": "long", "region": "string", "amount": "double", "tags": "list<string>"}


def added_in_place(table, folder):
    path = folder.parent / "stranger.parquet"
    pyarrow.parquet.write_table(arrow(row(30), row(31)), path)
    return table.add_files(path)


def merged(table):
    clauses = when_matched_delete("target.id = 2"), when_matched_update({"amount": "9.0"}), when_not_matched_insert()
    return table.merge(arrow(row(2), row(3), row(40)), "id", *clauses)


# Every call on a table that makes a snapshot, in an order in which each finds something to do.
CALLS = {
    "append": lambda table, _: table.append(arrow(*(row(number) for number in range(1, 9)))),
    "append again": lambda table, _: table.append(arrow(row(9, "east"), row(10, "east"))),
    "append nothing": lambda table, _: table.append(arrow()),
    "delete some rows of a file": lambda table, _: table.delete("id in (1, 4)"),
    "delete more of the same file": lambda table, _: table.delete("id = 5"),
    "delete a whole file": lambda table, _: table.delete("region = 'east'"),
    "update": lambda table, _: table.update({"region": "'west'"}, "id = 6"),
    "upsert": lambda table, _: table.upsert(arrow(row(7, "up"), row(20, "up"))),
    "merge": lambda table, _: merged(table),
    "add_files": added_in_place,
    "overwrite some rows": lambda table, _: table.overwrite(arrow(row(30, "over")), "id >= 30"),
    "overwrite_partitions": lambda table, _: table.overwrite_partitions(arrow(row(50, "up"))),
    "compact": lambda table, _: table.compact(),
    "delete after compact": lambda table, _: table.delete("id = 8"),
    "truncate": lambda table, _: table.truncate(),
    "append after truncate": lambda table, _: table.append(arrow(row(60), row(61))),
    "overwrite": lambda table, _: table.overwrite(arrow(row(70), row(71), row(72))),
}


def snapshot_calls() -> set[str]:
    """The calls of a table that say what a snapshot is about: by their signatures."""
    calls = inspect.getmembers(Table, inspect.isfunction)
    return {name for name, call in calls if "summary" in inspect.signature(call).parameters}


def test_every_call_that_makes_a_snapshot_is_tried():
    assert {case.partition(" ")[0] for case in CALLS} == snapshot_calls()


def files(table):
    """The live files of a handle as a plan finds them, each with its vector."""
    return {file.path: vector(file) for file in entries(table)}


def vector(file):
    return (file.dv_path, file.dv_offset, file.dv_length, file.deleted_rows)


def stored_change(table):
    """What the newest manifest says by itself: removed, changed and added files."""
    listed = manifests(table)[-1].data_files
    return [{file.path: vector(file) for file in listed if file.status == one} for one in (DELETED, EXISTING, ADDED)]


def shown_change(main, snapshot):
    """The paths that `__changes` has of a snapshot, as `stored_change` has them."""
    told = main.inspect("__changes", where=f"snapshot_id = {snapshot}").to_pylist()
    return [
        {place["file_path"].rpartition("/")[2] for place in told if place["change"] == one}
        for one in ("removed", "changed", "added")
    ]


def shown_files(main):
    return {place["file_path"].rpartition("/")[2] for place in main.inspect("__files").to_pylist()}


def names(paths):
    return {path.rpartition("/")[2] for path in paths}


def assert_follows(main: Catalog, table: Table, before, call: str) -> None:
    """files(S_n) = (files(S_n-1) less the removed) with the added; a changed file has another vector."""
    removed, changed, added = stored_change(table)
    after = files(table)
    assert removed.keys() <= before.keys(), call
    assert changed.keys() <= before.keys() - removed.keys(), call
    assert added.keys().isdisjoint(before), call
    assert after == {path: one for path, one in before.items() if path not in removed} | changed | added, call
    assert all(one != before[path] for path, one in changed.items()), call
    shown = [set(names(one)) for one in (removed, changed, added)]
    assert shown_change(main, table.snapshots()[0].id) == shown, call
    assert shown_files(main) == names(after), call


def assert_told(main: Catalog, table: Table, commit, call: str) -> None:
    """KV-19: what the call answers is what is stored, in records, in `__snapshots` and in documents."""
    newest = table.snapshots()[0]
    [told] = [one.counts for one in commit.operations if one.object_id == table.id]
    assert told == {name: count for name, count in newest.counts.items() if name != "new_rows"}, call
    line = main.inspect("__snapshots").to_pylist()[-1]
    columns = ("added_files", "added_rows", "removed_files", "removed_rows")
    assert {name: line[name] for name in columns} == {name: told.get(name, 0) for name in columns}, call
    assert {name: line[f"total_{name}"] for name in ("files", "rows", "bytes")} == newest.totals, call
    summary = json.loads(line["summary"])
    assert summary["total-records"] == str(newest.totals["rows"]), call
    assert summary["deleted-records"] == str(told.get("removed_rows", 0)), call


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_files_of_a_snapshot_are_those_before_less_the_removed_with_the_added(main, folder, layout):
    """KV-4 and KV-19, of every call on a table, with checkpoints between; and no earlier snapshot changes."""
    parted = {"partition_by": ["region"], "primary_key": ["id"]}
    table = main.create_table("t", SCHEMA, properties=LAYOUTS[layout], **parted)
    seen = [(table.version, files(table))]
    for number, (call, change) in enumerate(CALLS.items()):
        commit = change(table, folder)
        assert_follows(main, table, seen[-1][1], call)
        assert_told(main, table, commit, call)
        seen.append((commit.version, files(table)))
        if number % 3 == 2:
            table.checkpoint()
    assert [files(table.at(version=version)) for version, _ in seen] == [then for _, then in seen]
    assert_counted(table)


# The calls on a line that change a table's files: each on a table that was appended to, deleted from and compacted.
LINE_CALLS = {
    "merge": lambda main, dev, past: main.merge(dev).commit,
    "cherry_pick": lambda main, dev, past: main.cherry_pick(dev.log(limit=1)[0]),
    "revert": lambda main, dev, past: main.revert(past[-1]),
    "restore_table": lambda main, dev, past: main.restore_table("t", past[1].version),
    "reset": lambda main, dev, past: main.reset(past[1].version),
}


@pytest.mark.parametrize("call", LINE_CALLS)
def test_a_call_on_a_line_changes_files_by_what_its_manifest_says(main, call):
    """KV-4 and KV-19 of what merges, picks, reverts, resets and restores do, vectors included."""
    table = main.create_table("t", SCHEMA, properties=LAYOUTS["files with vectors"])
    past = [
        table.append(arrow(*(row(number) for number in range(6)))),
        table.append(arrow(row(10), row(11))),
        table.delete("id in (1, 10)"),
    ]
    dev = main.create_branch("dev")
    dev.table("t").delete("id = 2")
    dev.table("t").upsert(arrow(row(3, "dev"), row(20, "dev")), on="id")
    if call == "cherry_pick":
        dev.table("t").delete("id = 11")
    before = files(table)
    commit = LINE_CALLS[call](main, dev, past)
    assert files(table) != before
    assert_follows(main, table, before, call)
    assert_told(main, table, commit, call)
    assert_counted(table)


def test_what_the_calls_of_a_transaction_do_to_one_file_is_one_change(main):
    """KV-4 and KV-19: rows that the first of two deletes took were not counted if only the second one was."""
    table = main.create_table("t", SCHEMA, properties=LAYOUTS["files with vectors"])
    table.append(arrow(*(row(number) for number in range(8))))
    before = files(table)
    with main.transaction("several") as tx:
        own = tx.table("t")
        own.delete("id in (1, 2)")
        own.delete("id = 3")
        own.append(arrow(row(20), row(21)))
        own.delete("id = 20")
        own.append(arrow(row(22)))
        own.delete("id = 22")
    assert_follows(main, table, before, "a transaction")
    newest = table.snapshots()[0]
    assert [newest.counts[f"{what}_rows"] for what in ("removed", "added")] == [3, 1]
    assert (newest.counts["changed_files"], newest.totals["rows"]) == (1, table.scan().count())
    assert_counted(table)


# Every call that handles have, on every table, edition, and staged stream and partition.


def cells(line: Catalog) -> dict[tuple[object, ...], Table]:
    """Whatever has rows on a line: the editions of its tables, and what is staged for them."""
    found = [cell for table in line.tables(recursive=True) for cell in cells_of(table)]
    return {place_of(cell.id): cell for cell in found}


def cells_of(table: Table) -> Iterator[Table]:
    for info in table.editions():
        edition = table.edition(info.id)
        yield edition
        yield from (edition.stream(one.id) for one in edition.streams() if one.state == "staged")
        yield from staged_partitions(edition)


def staged_partitions(edition: Table) -> list[Table]:
    work = edition._scope.read()
    state = table_state(work, edition.id)
    staged = shown_and_staged(work, state)[1]
    return [Table(cell_of(state, one.id), edition._scope) for one in staged]


def folded(changes):
    """The files that some manifests leave, oldest first."""
    live: dict[str, object] = {}
    for manifest in changes:
        for file in manifest.data_files:
            if file.status == DELETED:
                del live[file.path]
            else:
                assert (file.path in live) == (file.status == EXISTING)
                live[file.path] = vector(file)
    return live


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", EVERY)
def test_every_call_changes_files_by_what_the_manifests_say(open_lake, case):
    """KV-4 and KV-19 of whatever the handles have: partitions, editions, streams, merges, drops and restores too."""
    with grown_store() as store:
        held = held_in(open_lake(store))
        held = without_branches(held) if case in PURGES else held
        for rows_of in (held.orders, held.day):  # vectors, which calls change, bring back and leave behind
            rows_of.append(numbers(61, 62, 63))
            rows_of.delete("id = 61")
        before = {place: (files(one), len(manifests(one))) for place, one in cells(held.main).items()}
        EVERY[case](held)
        after = cells(held.main)
        assert before.keys() & after.keys() or case == "drop_namespace cascade"
        for place, cell in after.items():
            made, live = manifests(cell), entries(cell)
            assert folded(made) == {file.path: vector(file) for file in live}
            had, steps = before.get(place, ({}, 0))
            assert len(made) - steps in (0, 1) or place not in before, "a commit is at most one delta of a partition"
            assert folded(made[:steps]) == had, "what the deltas of before say"
            totals = {name: made[-1].properties[f"total-{name}"] for name in ("files", "rows", "bytes")} if made else {}
            rows = sum(file.num_rows - file.deleted_rows for file in live)
            found = {"files": len(live), "rows": rows, "bytes": sum(file.file_size for file in live)}
            assert totals == {name: str(count) for name, count in found.items() if made}


def test_the_lake_of_that_test_has_rows_on_every_level(lake):
    """Else it would look at tables alone."""
    found = cells(grown(lake).main).values()
    kinds = {type_name(type_of(cell._scope.read(), subject_of(cell.id))) for cell in found if files(cell)}
    assert kinds == {"table", "partition", "stream"}
    assert {len(cell.locator.canonical.split("|")) for cell in found} == {3, 4}
