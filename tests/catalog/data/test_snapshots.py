"""A table's manifests, put together from its history; ME-8 and ME-22."""

import pyarrow
import pytest

from lakebed.catalog.data import snapshots
from lakebed.catalog.data.deltas import history
from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import NotFound
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from tests.support.manifests import manifests


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def live_files(table):
    work = table._scope.read()
    return table_files(work, table_state(work, table.id)).all(work.context)


@pytest.fixture
def table(main):
    # Its entries are looked at as files.
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    for number in range(3):
        table.append(numbers(number, number))
    return table


def assert_chained(chain, table):
    """ME-8."""
    assert not chain[0].HasField("previous_snapshot_id")
    assert [one.previous_snapshot_id for one in chain[1:]] == [one.snapshot_id for one in chain[:-1]]
    assert [one.sequence_number for one in chain] == list(range(1, len(chain) + 1))
    assert {one.table_uuid for one in chain} == {table.id}


def test_the_first_manifest_has_no_previous_and_the_others_follow_it(table):
    """ME-8."""
    chain = manifests(table)
    assert len(chain) == 4
    assert_chained(chain, table)


def test_the_manifests_of_a_branch_go_on_from_those_of_its_parent(main, table):
    """ME-8: on each line by itself, and no snapshot id is used twice."""
    dev = main.create_branch("dev")
    there = dev.table("t")
    for number in range(2):
        there.append(numbers(number))
        table.append(numbers(number))
    for one in (table, there):
        assert_chained(manifests(one), table)
    used = [manifest.snapshot_id for one in (table, there) for manifest in manifests(one)[4:]]
    assert len(set(used)) == 4
    assert manifests(table)[:4] == manifests(there)[:4]


def test_a_file_is_added_in_its_commit_and_existing_afterwards(table):
    """ME-22."""
    for manifest in manifests(table):
        assert {file.status for file in manifest.data_files} <= {ADDED}
    live, newest = live_files(table).values(), table.snapshots()[0].id
    assert [one.snapshot_id == newest for one in live] == [False, False, True]
    files = table._scope.context.files
    assert [files.location(one.file.path) for one in live] == table.scan().files()


# Each with the rows that are left.
REMOVALS = {
    "a delete of a whole file": (lambda table: table.delete("id = 1"), [0, 0]),
    "a truncation": (lambda table: table.truncate(), []),
    "an overwrite": (lambda table: table.overwrite(numbers(9), "id = 1"), [0, 0, 9]),
    "a compaction": (lambda table: table.compact(), [0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_file_is_deleted_in_the_manifest_that_removes_it_and_absent_later(table, removal):
    """ME-22: what the manifests of all commits say of each file: added, perhaps existing, deleted, nothing more."""
    table.delete("id = 2")  # the third file's only rows: it goes at once
    table.append(numbers(1, 5))
    table.delete("id = 5")  # the newest file gets a vector, and is existing in this manifest
    before = set(live_files(table))
    change, left = REMOVALS[removal]
    change(table)
    removed = before - set(live_files(table))
    assert removed
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == left
    newest = manifests(table)[-1]
    assert {file.path for file in newest.data_files if file.status == DELETED} == removed
    table.append(numbers(6))
    steps = {}
    for manifest in manifests(table):
        for file in manifest.data_files:
            steps.setdefault(file.path, []).append(file.status)
    assert all(one[0] == ADDED and set(one[1:-1]) <= {EXISTING} and ADDED not in one[1:] for one in steps.values())
    assert {path for path, one in steps.items() if one[-1] == DELETED} == steps.keys() - set(live_files(table))
    assert removed <= {path for path, one in steps.items() if one[-1] == DELETED}
    assert [ADDED, EXISTING] in [one[:2] for one in steps.values()]


def test_a_whole_manifest_has_what_the_commit_knew(table):
    chain = manifests(table)
    times = [one.last_updated_ms for one in chain]
    assert times == sorted(times)
    assert times == [int(one.time.timestamp() * 1000) for one in table.snapshots()[::-1]]
    assert [one.properties["total-rows"] for one in chain] == ["0", "2", "4", "6"]
    assert [(one.first_row_id, one.next_row_id) for one in chain] == [(1, 1), (1, 3), (3, 5), (5, 7)]
    for manifest in chain[1:]:
        [file] = manifest.data_files
        assert (file.seq_min, file.seq_max) == (manifest.sequence_number, manifest.sequence_number)
        assert file.first_row_id == manifest.first_row_id
    assert {one.last_column_id for one in chain} == {1}


def test_row_ids_are_given_to_the_rows_of_all_lines_once(main, table):
    dev = main.create_branch("dev")
    spans = []
    for line in (main, dev, main, dev):
        line.table("t").append(numbers(1, 2))
        newest = manifests(line.table("t"))[-1]
        spans.append((newest.first_row_id, newest.next_row_id))
    assert spans == [(7, 9), (9, 11), (11, 13), (13, 15)]


def test_totals_are_the_sums_of_counts_and_of_the_files(table, main):
    chain = table.snapshots()[::-1]
    for what in ("files", "rows", "bytes"):
        sums, total = [], 0
        for one in chain:
            total += one.counts.get(f"added_{what}", 0)
            sums.append(total)
        assert [one.totals[what] for one in chain] == sums
    files = [one.file for one in live_files(table).values()]
    assert chain[-1].totals == {
        "files": len(files),
        "rows": sum(one.num_rows for one in files),
        "bytes": sum(one.file_size for one in files),
    }


def test_a_history_goes_on_beyond_a_page(main, monkeypatch):
    table = main.create_table("many", {"id": "long"})
    for number in range(12):
        table.append(numbers(number))
    work = table._scope.read()
    whole = history(work, table_state(work, table.id).partition)
    real = type(work.reader).history

    def small_pages(self, *arguments, **options):
        return real(self, *arguments, **{**options, "limit": 5})

    monkeypatch.setattr(type(work.reader), "history", small_pages)
    assert history(work, table_state(work, table.id).partition) == whole
    assert len(whole) == 13


def test_a_snapshot_is_found_by_its_id(table):
    work = table._scope.read()
    state = table_state(work, table.id)
    for one in table.snapshots():
        assert snapshots.find_snapshot(work, state, one.id) == one.version
    with pytest.raises(NotFound, match="no snapshot 99"):
        snapshots.find_snapshot(work, state, 99)
