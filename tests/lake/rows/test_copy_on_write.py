"""Copy-on-write: a table that asks for it never has a vector, and every row is what it would be with one."""

import pyarrow
import pytest

import lakebed
from lakebed import Conflict, Invalid, when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.arrow.engine import ArrowEngine
from tests.support.unchecked import set_unchecked

pytestmark = pytest.mark.sampled(2)

COPY = {"write.row-changes": "copy-on-write", "write.inline-bytes": "0"}


def rows(*ids, note="x"):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "note": [note] * len(ids)})


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def lineage(table):
    columns = ["id", "note", "_row_id", "_last_updated_sequence_number"]
    return sorted(tuple(one.values()) for one in table.scan(columns=columns).to_arrow().to_pylist())


CHANGES = {
    "delete": lambda table: table.delete("id IN (2, 5)"),
    "update": lambda table: table.update({"note": "note || id"}, "id > 4"),
    "upsert": lambda table: table.upsert(rows(3, 9, note="new"), "id"),
    "merge": lambda table: table.merge(
        rows(1, 4, 8, note="m"),
        "id",
        when_matched_delete("target.id = 1"),
        when_matched_update(),
        when_not_matched_insert(),
    ),
    "overwrite": lambda table: table.overwrite(rows(7, note="o"), "id < 3"),
}


@pytest.mark.parametrize("layout", [{}, {"partition_by": ["bucket(2, id)"]}, {"primary_key": ["id"]}])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_rows_and_their_lineage_are_those_of_a_table_with_vectors(main, change, layout):
    schema = {"id": "long", "note": "string"}
    copied = main.create_table("copied", schema, properties=COPY, **layout)
    merged = main.create_table("merged", schema, properties={"write.inline-bytes": "0"}, **layout)
    for table in (copied, merged):
        table.append(rows(1, 2, 3))
        table.append(rows(4, 5, 6))
        change(table)
    assert not any(one.HasField("dv_path") for one in entries(copied))
    assert any(one.HasField("dv_path") for one in entries(merged)) or "partition_by" in layout
    assert [one[:2] for one in lineage(copied)] == [one[:2] for one in lineage(merged)]
    kept = {one[0]: one[2:] for one in lineage(merged) if one[2] <= 6}  # those that were there before
    assert {one[0]: one[2:] for one in lineage(copied) if one[0] in kept} == kept
    assert copied.scan().count() == sum(one.num_rows for one in entries(copied))


def test_the_commit_says_what_was_copied(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    [operation] = table.delete("id = 2").operations
    assert (operation.type, operation.counts["removed_rows"], operation.counts["added_rows"]) == ("delete", 3, 2)
    assert "2 other rows of 1 files copied" in operation.detail
    assert operation.detail.startswith("id = 2")


def test_files_of_which_all_rows_go_are_removed_and_nothing_is_copied(main, files):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    before = set(files())
    table.delete("id > 0")
    assert set(files()) == before
    assert table.scan().count() == 0


@pytest.mark.parametrize("error", [Conflict("others were quicker"), KeyboardInterrupt()], ids=["conflict", "interrupt"])
def test_an_overwrite_that_was_made_again_lost_the_rows_that_it_had_written(main, files, monkeypatch, error):
    """What copies files failed once, which took away the rows of the next attempt too."""
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    before, own, errors = set(files()), ArrowEngine.rewrite, [error]

    def rewritten(*arguments):
        if errors:
            raise errors.pop()
        return own(*arguments)

    monkeypatch.setattr(ArrowEngine, "rewrite", rewritten)
    if isinstance(error, Conflict):
        table.overwrite(rows(7), "id < 2")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 7]
    else:
        with pytest.raises(KeyboardInterrupt):
            table.overwrite(rows(7), "id < 2")
        assert set(files()) == before


def test_no_vector_and_no_copy_stays_behind(main, files):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    table.delete("id = 2")
    assert {one for one in files() if one.endswith(".puffin")} == set()
    assert (
        len([one for one in files() if one.endswith(".parquet")]) == 2
    )  # the old one, for earlier versions, and its copy


def test_a_change_that_loses_a_race_leaves_no_copy(main, lake, files):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    with pytest.raises(Conflict), main.transaction() as transaction:
        transaction.table("t").delete("id = 2")
        lake.catalog().table("t").delete("id = 3")
    assert len([one for one in files() if one.endswith(".parquet")]) == 2
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_a_transaction_copies_what_it_wrote_itself(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2))
    with main.transaction() as transaction:
        inside = transaction.table("t")
        inside.append(rows(3, 4))
        inside.delete("id IN (1, 3)")
        inside.update({"note": "'y'"}, "id = 4")
    found = lineage(table)
    assert [one[:2] for one in found] == [(2, "x"), (4, "y")]
    assert found[0][2] == 2
    assert len({one[2] for one in found}) == 2


def test_a_branch_with_copies_merges_as_one_with_vectors(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5, 6))
    branch = main.create_branch("work")
    branch.table("t").delete("id = 2")
    table.delete("id = 5")
    main.merge(branch)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 3, 4, 6]


def test_rows_of_one_file_that_two_branches_deleted_are_gone_after_a_merge(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    branch = main.create_branch("work")
    branch.table("t").delete("id = 2")
    table.delete("id = 3")
    main.merge(branch)
    assert table.scan().to_arrow()["id"].to_pylist() == [1]


def test_another_word_is_refused_and_nothing_changes(main, unchanged):
    table = main.create_table("t", {"id": "long", "note": "string"})
    set_unchecked(table, {"write.row-changes": "sometimes"})
    table.append(rows(1, 2, 3))
    with unchanged(), pytest.raises(Invalid, match="copy-on-write") as caught:
        table.delete("id = 2")
    assert caught.value.subject == "write.row-changes"


def test_earlier_versions_have_their_rows_still(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, properties=COPY)
    table.append(rows(1, 2, 3))
    before = table.version
    table.delete("id = 2")
    assert table.at(version=before).scan().count() == 3
    assert isinstance(table, lakebed.Table)
