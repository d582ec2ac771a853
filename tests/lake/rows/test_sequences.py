"""The sequence numbers in a file's entry bound those of its rows, whatever moved the rows."""

import pyarrow
import pytest

from tests.support.seed_reader import read_manifest
from tests.support.sequences import check_bounds

pytestmark = pytest.mark.usefixtures("in_files")


def ids(*given):
    return pyarrow.table({"id": pyarrow.array(given, pyarrow.int64())})


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
