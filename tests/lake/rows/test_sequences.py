"""The sequence numbers in a file's entry bound those of its rows, whatever moved the rows."""

import json
from pathlib import Path

import pyarrow
import pytest
from pyiceberg.table import StaticTable

from tests.support.seed_reader import read_manifest
from tests.support.sequences import check_bounds

pytestmark = pytest.mark.usefixtures("in_files")


def ids(*given):
    return pyarrow.table({"id": pyarrow.array(given, pyarrow.int64())})


def numbers(table, **asked):
    """The sequence number of each row's last change, by its id."""
    found = table.scan(columns=["id", "_last_updated_sequence_number"], **asked).to_arrow().to_pylist()
    return {row["id"]: row["_last_updated_sequence_number"] for row in found}


def newest(table):
    return table.snapshots()[0].sequence_number


@pytest.mark.parametrize("key", [[], ["id"]], ids=["sizes", "levels"])
def test_a_compacted_file_has_the_sequences_of_its_rows(main, key):
    table = main.create_table("t", {"id": "long"}, primary_key=key, properties={"write.row-group-rows": "3"})
    for number in range(5):
        table.append(ids(number + 10, 5 - number))  # so that the newest row is in the first row group
    assert check_bounds(table) == [(number, number) for number in range(2, 7)]
    table.compact()
    assert check_bounds(table) == [(2, 6)]
    table.update({"id": "id + 100"}, "id = 3")
    table.compact()
    assert check_bounds(table) == [(2, 8)]


def test_rows_that_are_copied_on_write_keep_theirs(main):
    table = main.create_table("t", {"id": "long"}, properties={"write.row-changes": "copy-on-write"})
    table.append(ids(1, 2, 3))
    table.append(ids(4, 5))
    table.delete("id in (1, 4)")
    assert check_bounds(table) in ([(2, 2), (3, 3)], [(2, 3)])
    table.update({"id": "id + 100"}, "id = 2")
    table.upsert(ids(5, 9), on="id")
    check_bounds(table)
    table.compact()
    assert check_bounds(table)[0][0] == 2


def test_rows_that_a_transaction_wrote_and_copied_get_the_number_of_its_commit(main):
    table = main.create_table("t", {"id": "long"}, properties={"write.row-changes": "copy-on-write"})
    table.append(ids(1, 2, 3))
    with main.transaction() as tx:
        own = tx.table("t")
        own.append(ids(4, 5))
        own.delete("id in (1, 4)")
    bounds = check_bounds(table)
    assert (bounds[0][0], bounds[-1][1]) == (2, 3)


def test_a_merge_brings_files_with_their_sequences(main):
    table = main.create_table("t", {"id": "long"})
    table.append(ids(1))
    dev = main.create_branch("dev")
    for number in range(3):
        dev.table("t").append(ids(number))
    dev.table("t").compact()
    expected = check_bounds(dev.table("t"))
    main.merge(dev)
    assert check_bounds(table) == expected == [(2, 5)]
    assert newest(table) == 6


def test_a_commit_after_a_merge_has_a_greater_number_than_any_row_that_it_brought(main):
    """A row with 8 got 5 when it was updated, and an export's last number fell."""
    table = main.create_table("t", {"id": "long"}, properties={"write.manifests": "files"})
    dev = main.create_branch("dev")
    for number in range(5):
        dev.table("t").append(ids(number))
    exported = []
    for _ in range(2):
        main.merge(dev)
        check_bounds(table)
        exported.append(last_exported(table))
        table.update({"id": "id + 10"}, "id = 4")
        check_bounds(table)
        assert numbers(table)[14] == newest(table) > max(numbers(table, where="id != 14").values())
        table.delete("id = 14")
        exported.append(last_exported(table))
        dev.merge(main)
        dev.table("t").append(ids(4))
        check_bounds(dev.table("t"))
    assert exported == sorted(set(exported))


def last_exported(table):
    return json.loads(Path(table.export_iceberg()).read_text())["last-sequence-number"]


def test_a_table_that_a_merge_creates_goes_on_from_the_numbers_of_its_rows(main):
    dev = main.create_branch("dev")
    made = dev.create_table("t", {"id": "long"})
    for number in range(4):
        made.append(ids(number))
    main.merge(dev)
    table = main.table("t")
    assert (numbers(table), newest(table)) == ({0: 2, 1: 3, 2: 4, 3: 5}, 6)
    check_bounds(table)


def test_a_restore_and_a_pick_bring_rows_with_their_numbers_and_count_on(main):
    table = main.create_table("t", {"id": "long"})
    table.append(ids(1))
    version = main.version
    table.truncate()
    table.restore(version)
    dev = main.create_branch("dev")
    for number in range(5):
        picked = dev.table("t").append(ids(number + 10))
    main.cherry_pick(picked)
    check_bounds(table)
    assert (numbers(table), newest(table)) == ({1: 2, 14: 9}, 10)
    main.revert(main.log()[0])
    assert newest(table) == 11
    check_bounds(table)


def test_rows_of_a_staged_partition_are_newer_than_all_that_readers_saw(main):
    """Whoever asked for what is newer than the last snapshot missed the rebuild of a day."""
    copied = {"write.row-changes": "copy-on-write"}
    table = main.create_table("t", {"id": "long", "d": "string"}, partition_by=["d"], properties=copied)
    table.append([{"id": id, "d": day} for id, day in [(1, "a"), (2, "b")]])
    staged = table.stage_partition({"d": "a"})
    staged.append(ids(10, 11))
    staged.append(ids(12, 13))
    assert numbers(staged) == {10: None, 11: None, 12: None, 13: None}
    staged.delete("id = 13")
    for number in range(4):
        table.append([{"id": 20 + number, "d": "b"}])
    seen = newest(table)
    staged.commit()
    check_bounds(table)
    rebuilt = {id: number for id, number in numbers(table).items() if number > seen}
    assert rebuilt == dict.fromkeys((10, 11, 12), newest(table))
    assert numbers(table.at(snapshot=table.snapshots()[1].id))[1] == 2


@pytest.mark.parametrize("rows", ["copy-on-write", "merge-on-read"])
def test_rows_of_a_staged_stream_get_the_number_of_its_commit_however_they_were_changed(main, rows):
    """A stream of six appends was shown with the numbers 2 to 7 at 3, and the next update went back to 5."""
    table = main.create_table("t", {"id": "long"}, properties={"write.row-changes": rows})
    table.append(ids(1))
    stream = table.stage_stream()
    for number in range(6):
        stream.append(ids(60 + number, 70 + number))
    stream.compact()
    stream.delete("id = 61")
    stream.update({"id": "id + 10"}, "id = 65")
    files = main.inspect("__files").to_pylist()
    assert {row["sequence_number"] for row in files if row["table_name"] != "t"} <= {None}
    stream.commit()
    assert set(numbers(table).values()) == {newest(table)} == {3}
    check_bounds(table)
    table.update({"id": "id + 100"}, "id = 62")
    table.compact()
    assert (numbers(table)[162], newest(table)) == (4, 5)
    check_bounds(table)


def test_a_stream_that_a_branch_staged_and_filled_is_numbered_where_it_is_shown(main):
    main.create_table("t", {"id": "long"}).append(ids(1))
    dev = main.create_branch("dev")
    stream = dev.table("t").stage_stream()
    for number in range(5):
        stream.append(ids(number))
    main.merge(dev)
    table = main.table("t")
    shown = table.stream(stream.stream_id)
    shown.append(ids(9))
    assert set(numbers(shown).values()) == {None}
    shown.commit()
    assert (set(numbers(table).values()), newest(table)) == ({3}, 3)
    check_bounds(table)


def test_an_export_of_what_is_staged_has_numbers(main):
    table = main.create_table("t", {"id": "long"})
    stream = table.stage_stream()
    stream.append(ids(1))
    stream.append(ids(2))
    exported = StaticTable.from_metadata(stream.export_iceberg())
    assert sorted(exported.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert exported.inspect.entries()["sequence_number"].to_pylist() == [3, 3]


def test_the_files_table_shows_both_ends(main):
    table = main.create_table("t", {"id": "long"})
    table.append(ids(1))
    table.append(ids(2))
    table.compact()
    [row] = main.inspect("__files").to_pylist()
    assert (row["min_sequence_number"], row["sequence_number"]) == (2, 3)


def test_a_manifest_says_which_spec_its_files_were_written_for(main):
    table = main.create_table("t", {"id": "long"}, partition_by=["id"])
    table.append(ids(1))
    with table.evolve() as change:
        change.partition_by(["bucket(4, id)"])
    table.append(ids(2))
    found = [read_manifest(table.manifest(info.id).data)["partition_spec_id"] for info in reversed(table.snapshots())]
    assert found == [1, 1, 2]
    assert found == [info.spec_id for info in reversed(table.snapshots())]
