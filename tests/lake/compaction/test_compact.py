"""Compaction: fewer files, the same rows with the same ids."""

import pyarrow
import pytest

from lakebed.catalog.data.deltas import history, stored_manifest
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Forbidden, Invalid
from tests.support.compacted_tables import entries, fill, ids, keyed_table, plain_table, rows


@pytest.fixture
def table(main):
    return plain_table(main)


@pytest.fixture
def keyed(main):
    return keyed_table(main)


def rewrites(table):
    work = table._scope.read()
    newest = history(work, table_state(work, table.id).partition)[0]
    return [(list(one.inputs), list(one.outputs)) for one in stored_manifest(work.context, newest).rewrites]


def test_small_files_become_one_and_no_row_changes(table):
    fill(table)
    before, version = rows(table), table.version
    inputs = [one.path for one in entries(table)]
    commit = table.compact(message="tidy")
    [output] = entries(table)
    assert rows(table) == before == rows(table.at(version=version))
    assert rewrites(table) == [(inputs, [output.path])]
    assert (commit.message, commit.operations[0].type) == ("tidy", "compact")
    counts = commit.operations[0].counts
    assert (counts["added_files"], counts["removed_files"], counts["added_rows"]) == (1, 5, 50)
    assert table.snapshots()[0].operation == "compact"


def test_nothing_to_do_is_no_commit(table, unchanged):
    with unchanged():
        assert table.compact() is None
    fill(table, 1)
    with unchanged():
        assert table.compact() is None
        assert table.compact(event_id="9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d") is None


def test_inline_rows_are_folded_into_a_file(table):
    table.set_properties({"write.inline-bytes": "64000"})
    fill(table)
    assert all(one.path.startswith("inline:") for one in entries(table))
    before = rows(table)
    table.compact()
    assert len(table.scan(columns=["id"]).files()) == 1  # which it refuses for inline rows
    assert rows(table) == before


def test_deleted_rows_are_left_out_and_the_ids_of_others_stay(table):
    fill(table, 1, 100)
    table.delete("id < 10 or id = 55")
    before = rows(table)
    table.compact()
    [file] = entries(table)
    assert (file.num_rows, file.HasField("dv_path")) == (89, False)
    assert rows(table) == before
    assert len(table.scan(columns=["id"]).files()) == 1


def test_rows_that_were_changed_keep_their_ids_over_two_compactions(table):
    fill(table)
    table.upsert(pyarrow.table({"id": [3, 30, 300], "name": ["x", "y", "z"]}), on="id")
    before = rows(table)
    table.compact()
    assert rows(table) == before
    table.append(ids(1000, 1010))
    table.upsert(pyarrow.table({"id": [4, 30], "name": ["v", "w"]}), on="id")
    again = rows(table)
    assert {row[2] for row in before} < {row[2] for row in again}
    table.compact()
    assert rows(table) == again


def test_files_of_an_older_spec_are_written_by_the_newest(table):
    fill(table)
    with table.evolve() as change:
        change.partition_by(["bucket(3, id)"])
        change.sort_by(["name desc"])
    before = rows(table)
    table.compact()
    files = entries(table)
    assert len(files) == 3
    assert {one.spec_id for one in files} == {table._state.spec.id}
    assert rows(table) == before
    assert table.compact() is None
    for one in files:
        names = pyarrow.parquet.read_table(table._scope.context.files.location(one.path))["name"].to_pylist()
        assert names == sorted(names, reverse=True)


def test_a_partition_with_nothing_to_do_is_left_alone(main, table):
    parted = main.create_table(
        "s.parted", {"id": "long", "p": "string"}, partition_by=["p"], properties={"write.inline-bytes": "0"}
    )
    for part in ("a", "b", "b"):
        parted.append(pyarrow.table({"id": [1, 2], "p": [part, part]}))
    [kept] = [one.path for one in entries(parted) if one.partition[0].value == b"a"]
    parted.compact()
    assert kept in [one.path for one in entries(parted)]
    assert len(entries(parted)) == 2


def test_only_files_that_may_have_rows_of_the_condition_are_taken(table):
    fill(table, 6)
    before = rows(table)
    table.compact(where="id < 25")
    assert len(entries(table)) == 4
    assert rows(table) == before
    with pytest.raises(Invalid, match="colour"):
        table.compact(where="colour = 1")


@pytest.mark.parametrize("kind", ["table", "keyed"])
def test_outputs_have_about_the_target(request, kind):
    table = request.getfixturevalue(kind)
    table.append(ids(0, 200_000))
    target = entries(table)[0].file_size // 4
    before = rows(table)
    table.delete("id = 7")
    table.compact(target_bytes=target)
    *full, last = [one.file_size for one in entries(table)]
    assert len(full) >= 3
    assert all(target <= size <= 2 * target for size in full)
    assert last <= 2 * target
    assert rows(table) == [row for row in before if row[0] != 7]
    assert table.compact(target_bytes=target) is None


@pytest.mark.parametrize("target", [0, -1, True, "10", 1.5])
def test_a_target_that_is_no_size_is_refused(table, target, unchanged):
    fill(table)
    with unchanged(), pytest.raises(Invalid, match="target"):
        table.compact(target_bytes=target)


def test_the_target_of_the_table_counts(table):
    table.set_properties({"write.target-file-bytes": "1"})
    fill(table)
    assert table.compact() is None
    table.unset_properties(["write.target-file-bytes"])
    assert table.compact() is not None


def test_the_past_is_not_compacted(table):
    fill(table)
    with pytest.raises(Forbidden, match="past"):
        table.at(version=table.version).compact()


def test_a_call_that_comes_again_answers_its_commit(table):
    fill(table)
    event = "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"
    first = table.compact(event_id=event)
    fill(table)
    assert table.compact(event_id=event).version == first.version
    assert len(entries(table)) == 6


def test_earlier_files_stay_and_nothing_else_does(table, files):
    fill(table)
    before = files()
    table.compact()
    assert before.items() <= files().items()
    assert len(files()) == len(before) + 1


def test_a_column_that_was_added_renamed_and_widened_reads_the_same(main):
    main.create_namespace("e")
    table = main.create_table("e.t", {"id": "int", "gone": "string", "s": "struct<a: int>"})
    struct = pyarrow.array([{"a": 1}, None], pyarrow.struct([("a", pyarrow.int32())]))
    table.append(pyarrow.table({"id": pyarrow.array([1, 2], pyarrow.int32()), "gone": ["x", "y"], "s": struct}))
    with table.evolve() as change:
        change.add_column("price", "double", default=1.5)
        change.widen_column("id", "long")
        change.widen_column("s.a", "long")
        change.rename_column("id", "number")
        change.drop_column("gone")
    table.append(pyarrow.table({"number": [3], "price": [float("nan")]}))
    before, version = rows(table), table.version
    table.compact()
    assert repr(rows(table)) == repr(before) == repr(rows(table.at(version=version)))
