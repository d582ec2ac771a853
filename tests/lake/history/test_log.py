"""What the log tells of a table: every operation once, with its type and its counts; P8."""

from dataclasses import replace

import pyarrow
import pytest

import lakebed
from lakebed import Invalid
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


# Every kind of change to a table t, in the order in which they can be made: what the log has to say of each.
DEEDS = {
    "create": (lambda main: main.create_table("n.t", {"id": "long"}), [("create", {})]),
    "append": (
        lambda main: main.table("n.t").append(numbers(1, 2, 3)),
        [("insert", {"added_files": 1, "added_rows": 3})],
    ),
    "append nothing": (lambda main: main.table("n.t").append(numbers()), [("insert", {})]),
    "set": (lambda main: main.table("n.t").set_properties({"a": "b"}), [("set_properties", {})]),
    "unset": (lambda main: main.table("n.t").unset_properties(["a"]), [("unset_properties", {})]),
    "evolve": (
        lambda main: evolve(main),
        [
            (what, {})
            for what in ("add_column", "rename_column", "retype_column", "move_column", "change_spec", "change_sort")
        ],
    ),
    "drop a column": (lambda main: drop_column(main), [("drop_column", {})]),
    "rename": (lambda main: main.rename_table("n.t", "n.renamed"), [("rename", {})]),
    "rename back": (lambda main: main.table("n.renamed").rename("n.t"), [("rename", {})]),
    "a transaction": (
        lambda main: load(main),
        [("insert", {"added_files": 2, "added_rows": 3}), ("set_properties", {})],
    ),
    "merge": (
        lambda main: main.merge(branch(main, "merged", numbers(5))),
        [("merge_branch", {"added_files": 1, "added_rows": 1})],
    ),
    "cherry-pick": (
        lambda main: main.cherry_pick(branch(main, "picked", numbers(6, 7)).log(limit=1)[0]),
        [("cherry_pick", {"added_files": 1, "added_rows": 2})],
    ),
    "revert": (
        lambda main: main.revert(main.log(table="n.t", limit=1)[0]),
        [("revert", {"removed_files": 1, "removed_rows": 2})],
    ),
    "drop": (lambda main: main.drop_table("n.t"), [("drop", {})]),
    "undrop": (lambda main: main.undrop_table("n.t"), [("undrop", {})]),
    "restore": (
        lambda main: main.restore_table("n.t", main.log(table="n.t")[-2].version),
        [("restore", {"removed_files": 3, "removed_rows": 4})],
    ),
    "append again": (
        lambda main: main.table("n.t").append(numbers(8)),
        [("insert", {"added_files": 1, "added_rows": 1})],
    ),
    "reset": (
        lambda main: main.reset(main.log(table="n.t", limit=2)[1].version),
        [("reset", {"removed_files": 1, "removed_rows": 1})],
    ),
}


def evolve(main):
    with main.table("n.t").evolve() as change:
        change.add_column("price", "int")
        change.rename_column("price", "cost")
        change.widen_column("cost", "long")
        change.move_column("cost", first=True)
        change.partition_by(["truncate(1000, id)"])
        change.sort_by(["id"])


def drop_column(main):
    with main.table("n.t").evolve() as change:
        change.drop_column("cost")


def load(main):
    with main.transaction("load") as tx:
        tx.table("n.t").append(numbers(2))
        tx.table("other").append(numbers(9))
        tx.table("n.t").append(numbers(3, 4))
        tx.table("n.t").set_properties({"c": "d"})


def branch(main, name, added):
    line = main.create_branch(name)
    line.table("n.t").append(added)
    return line


def test_the_log_of_a_table_tells_every_kind_of_operation_with_its_counts(main):
    """P8: one commit for each, and none of what was done to others, on other lines, or above it."""
    main.create_namespace("n")
    main.create_table("other", {"id": "long"})
    expected = []
    for deed, (do, expect) in DEEDS.items():
        before = len(main.log())
        do(main)
        assert len(main.log()) == before + 1, deed
        expected.insert(0, expect)
        main.table("other").append(numbers(1))
        main.namespace("n").set_properties({"last": deed})
    table = main.table("n.t")
    found = [[told(one) for one in commit.operations if one.object_id == table.id] for commit in table.history()]
    assert found == expected
    assert main.log(table="n.t") == table.history()
    versions = [commit.version for commit in table.history()]
    assert versions == sorted(versions, reverse=True)
    assert main.merge(main.branch("merged")).commit is None


def told(operation):
    counts = {key: value for key, value in operation.counts.items() if not key.endswith("bytes")}
    return operation.type, counts


def test_the_log_of_a_lake_has_refs_and_catalogs_too(lake, main):
    main.create_namespace("n", message="a namespace")
    dev = main.create_branch("dev", message="a branch")
    dev.create_namespace("m", message="on the branch", author="bob")
    main.create_tag("t", message="a tag")
    other = lake.create_catalog("other", message="a catalog")
    other.create_namespace("o", message="in the catalog")
    lake.drop_catalog("other", cascade=True, message="no catalog")
    main.drop_branch("dev", message="no branch")
    shown = [commit.message for commit in lake.log()]
    begun = ["in the catalog", "a catalog", "a tag", "on the branch", "a branch", "a namespace"]
    assert shown[:-1] == ["no branch", "no catalog", *begun]  # with all that was done on what was dropped since
    main.undrop_branch("dev", message="again")
    assert [commit.message for commit in lake.log(4)] == ["again", "no branch", "no catalog", "in the catalog"]
    main.drop_branch("dev")
    main.purge_branch("dev")
    assert "on the branch" in [commit.message for commit in lake.log()]
    assert [commit.message for commit in lake.log(author="bob")] == ["on the branch"]
    assert lake.log(since="1 hour ago") == lake.log()
    assert lake.log(until="1 hour ago") == lake.log(0) == []
    versions = [commit.version for commit in lake.log()]
    assert versions == sorted(set(versions), reverse=True)
    with pytest.raises(Invalid, match="a limit is a whole number"):
        lake.log(-1)


def test_the_log_of_a_lake_shows_no_other_project(tmp_path):
    with lakebed.connect(tmp_path) as lake, lakebed.connect(tmp_path, project="other") as other:
        other.catalog().create_namespace("n", message="theirs")
        other.create_catalog("secret", message="a catalog of theirs")
        lake.create_catalog("ours", message="ours")
        assert not {"theirs", "a catalog of theirs"} & {commit.message for commit in lake.log()}
        assert "secret" not in {done.name for commit in lake.log() for done in commit.operations}
        assert [commit.message for commit in other.log(2)] == ["a catalog of theirs", "theirs"]


def test_a_commit_prints_as_one_line_whatever_was_said(main):
    """A message with a line break used to break the log."""
    table = main.create_table("t", {"id": "long"}, primary_key=["id"])
    said = ["load november\n\nwith the rows\nof three shops", "\n  padded\r\n", "one\u2028two", "plain", "  "]
    lines = [str(table.append(numbers(1), message=message, author="ann\nand bob")) for message in said]
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert [line.partition("ann …  ")[2] for line in lines] == [
        "load november …",
        "padded",
        "one …",
        "plain",
        "insert t",
    ]


def test_the_log_calls_upserts_and_truncations_so(main):
    """They used to be called "merge rows" and "delete"."""
    table = main.create_table("t", {"id": "long"}, primary_key=["id"])
    commits = [table.upsert(numbers(1, 2)), table.delete("id = 1"), table.truncate()]
    assert [commit.operations[0].type for commit in commits] == ["upsert", "delete", "truncate"]
    assert [str(commit).rpartition("  ")[2] for commit in commits] == ["upsert t", "delete t", "truncate t"]
    assert [one.operation for one in table.snapshots()] == ["truncate", "delete", "upsert", "create"]
    assert main.inspect("__commits")["operations"].to_pylist()[:2] == [["truncate"], ["delete"]]


def test_commits_from_before_print_as_new_ones_do(main):
    """Older lakes know upserts and truncations only by the details of their operations."""
    commit = main.create_table("t", {"id": "long"}).append(numbers(1))
    old = {
        ("merge_rows", "upsert by id"): "upsert t",
        ("merge_rows", "when matched update"): "merge rows t",
        ("delete", "all rows"): "truncate t",
        ("delete", "id = 1"): "delete t",
        ("operation_99", ""): "operation 99 t",
    }
    for (kind, detail), line in old.items():
        operation = replace(commit.operations[0], type=kind, detail=detail)
        assert str(replace(commit, operations=(operation,))).endswith(f"  {line}")


def test_an_operation_of_a_later_lakebed_is_shown_by_its_number():
    assert (operation_name(pb.UPSERT), operation_name(99)) == ("upsert", "operation_99")
