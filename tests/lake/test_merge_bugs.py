"""What merges, picks, reverts and resets once did wrong to people, each named after what it did."""

from uuid import uuid4

import pyarrow as pa
import pytest

from lakebed import Catalog, Expired, Field
from lakebed.metastore import Change
from lakebed.metastore import Commit as StoredCommit


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(line: Catalog, name: str) -> list[int]:
    return sorted(line.table(name).scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def before_the_merge(lake, monkeypatch):
    """Do something once, when a merge is decided and not yet committed."""

    def before_the_merge(do):
        metastore, waiting = lake._context.metastore, [do]
        commit = metastore.commit

        def late(change: Change) -> StoredCommit:
            if change.parents and waiting:
                waiting.pop()()
            return commit(change)

        monkeypatch.setattr(metastore, "commit", late)

    return before_the_merge


def purge(line: Catalog, name: str) -> None:
    line.drop_table(name)
    line.purge_table(name)


# Purges


def test_a_merge_brought_a_table_whose_files_were_purged_meanwhile(main, before_the_merge):
    dev = main.create_branch("dev")
    dev.create_table("t", {"id": "long"}).append(rows(1))
    before_the_merge(lambda: purge(dev, "t"))
    with pytest.raises(Expired, match="purged"):
        main.merge(dev)
    assert not main.table_exists("t")
    main.merge(dev)
    assert not main.table_exists("t")


def test_a_merge_brought_back_a_table_whose_files_were_purged_meanwhile(main, before_the_merge):
    main.create_table("t", {"id": "long"}).append(rows(1))
    main.drop_table("t")
    dev = main.create_branch("dev")
    dev.undrop_table("t")
    before_the_merge(lambda: purge(dev, "t"))
    with pytest.raises(Expired, match="purged"):
        main.merge(dev)
    assert not main.table_exists("t")


def test_branches_could_never_merge_again_after_a_purge_of_what_was_dropped_at_the_fork(main):
    main.create_namespace("s")
    main.create_table("s.t", {"id": "long"})
    main.create_table("s.u", {"id": "long"})
    main.drop_table("s.t")
    main.drop_namespace("s", cascade=True)
    dev = main.create_branch("dev")
    dev.create_table("x", {"id": "long"})
    main.purge_namespace("s")
    main.create_table("y", {"id": "long"})
    assert {one.name for one in main.diff(dev)} == {"x", "y"}
    main.merge(dev)
    dev.merge(main)
    assert {one.name for one in main.tables()} == {one.name for one in dev.tables()} == {"x", "y"}


def test_branches_could_never_merge_again_after_a_purge_of_what_both_had_dropped(main):
    dev = main.create_branch("dev")
    main.create_table("t", {"id": "long"})
    dev.merge(main)
    for line in (dev, main):
        line.drop_table("t")
    main.purge_table("t")
    dev.create_table("x", {"id": "long"})
    main.merge(dev)
    main.create_table("y", {"id": "long"})
    dev.merge(main)
    assert {one.name for one in dev.tables()} == {"x", "y"}


@pytest.mark.parametrize("back", ["revert", "reset"])
def test_going_back_into_a_purged_namespace_ended_in_a_python_error_or_a_riddle(main, unchanged, back):
    main.create_namespace("s")
    main.create_table("s.t", {"id": "long"})
    version = main.version
    renamed = main.rename_table("s.t", "t")
    main.drop_namespace("s")
    main.purge_namespace("s")
    with unchanged(), pytest.raises(Expired, match="purged"):
        main.revert(renamed) if back == "revert" else main.reset(version)


@pytest.mark.parametrize("call", ["revert", "cherry_pick"])
def test_a_commit_of_a_purged_branch_was_undone_or_picked_to_no_effect_without_a_word(main, unchanged, call):
    main.create_table("t", {"id": "long"})
    dev = main.create_branch("dev")
    loaded = dev.table("t").append(rows(1))
    main.merge(dev)
    main.drop_branch("dev")
    main.purge_branch("dev")
    with unchanged(), pytest.raises(Expired, match="dev"):
        getattr(main, call)(loaded)


def test_branches_that_had_merged_a_branch_lost_their_base_with_its_purge(main):
    main.create_table("t", {"id": "long"}).append(rows(0))
    other, dev = main.create_branch("other"), main.create_branch("dev")
    dev.rename_table("t", "u")
    dev.create_table("n", {"id": "long"}).append(rows(1))
    main.merge(dev)
    other.merge(dev)
    main.drop_branch("dev")
    main.purge_branch("dev")
    other.rename_table("n", "n2")
    other.table("n2").append(rows(2))
    main.table("n").append(rows(3))
    other.table("u").append(rows(4))
    main.merge(other)
    assert (ids(main, "n2"), ids(main, "u")) == ([1, 2, 3], [0, 4])


def test_a_change_that_was_undone_came_back_by_a_merge_after_the_purge_of_a_branch_that_both_had_merged(main):
    main.create_table("t", {"id": "long"})
    other, dev = main.create_branch("other"), main.create_branch("dev")
    deep = dev.create_branch("deep")
    deep.table("t").set_properties({"k": "v"})
    for line in (main, other):
        line.merge(deep)
    for name in ("deep", "dev"):
        main.drop_branch(name)
        main.purge_branch(name)
    main.table("t").unset_properties(["k"])
    other.merge(main)
    assert other.table("t").properties == {}
    with pytest.raises(Expired):
        deep.at(deep._line.ref.line.ancestry[0].version).tables()


# Event ids


def test_a_merge_that_came_again_failed_since_its_branch_was_dropped_meanwhile(main):
    main.create_table("t", {"id": "long"})
    dev = main.create_branch("dev")
    dev.table("t").append(rows(1))
    event = uuid4()
    first = main.merge(dev, event_id=event).commit
    main.drop_branch("dev")
    assert main.merge(dev, event_id=event).commit == first
    main.purge_branch("dev")
    assert main.merge(dev, event_id=event).commit == first


# Keys and columns


def keyed(main: Catalog, type: str = "long", **given) -> None:
    main.create_table("t", [Field("id", type, required=True), Field("x", "long", required=True)], **given)


def pair(id: int, x: int) -> pa.Table:
    return pa.table({"id": pa.array([id], pa.int64()), "x": pa.array([x], pa.int64())})


@pytest.mark.parametrize(("key", "new_key"), [((), ["id"]), (["x"], ["id"])])
@pytest.mark.parametrize("same", [True, False])
def test_a_key_that_theirs_had_set_was_not_looked_at_or_ended_in_an_error_of_arrow(main, key, new_key, same):
    keyed(main, primary_key=key)
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.primary_key(new_key)
    dev.table("t").append(pair(1, 10))
    main.table("t").append(pair(1 if same else 2, 20))
    for ours, theirs in ((main, dev), (dev, main)):
        found = ours.merge(theirs, dry_run=True).conflicts
        assert [one.what for one in found] == (["keys"] if same else [])


@pytest.mark.parametrize("conflict", [True, False])
def test_a_key_column_that_theirs_had_widened_was_called_corrupt(main, conflict):
    keyed(main, "int", primary_key=["id"])
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.widen_column("id", "long")
        if conflict:
            change.rename_column("x", "y")
    dev.table("t").append(pair(1 << 40, 1).rename_columns(["id", "y" if conflict else "x"]))
    with main.table("t").evolve() as change:
        if conflict:
            change.rename_column("x", "z")
        else:
            change.add_column("more", "int")
    own = {"id": pa.array([1], pa.int32()), "z" if conflict else "x": pa.array([2], pa.int64())}
    main.table("t").append(pa.table(own))
    found = main.merge(dev, dry_run=True).conflicts
    assert [one.what for one in found] == (["column x: name"] if conflict else [])


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
@pytest.mark.parametrize("direction", ["into", "from"])
def test_a_settled_merge_left_a_table_that_could_not_be_read(main, strategy, direction):
    main.create_table("t", {"id": "long", "x": "int", "y": "int"})
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.partition_by(["x"])
        change.widen_column("y", "long")
    with main.table("t").evolve() as change:
        change.drop_column("x")
    dev.table("t").append(pa.table({"id": [1], "x": pa.array([1], pa.int32()), "y": [1 << 40]}))
    main.table("t").append(rows(2))
    ours, theirs = (main, dev) if direction == "into" else (dev, main)
    [conflict] = ours.merge(theirs, strategy=strategy).conflicts
    assert conflict.what == "schema"
    table = ours.table("t")
    assert {row["id"]: row["y"] for row in table.scan().to_arrow().to_pylist()} == {1: 1 << 40, 2: None}
    kept = (ours if strategy == "ours" else theirs) is dev
    assert ("x" in table.schema.names, str(table.spec)) == ((True, "x") if kept else (False, ""))


def test_a_merge_lost_the_new_columns_of_a_view(main):
    main.create_view("v", "select 1", schema={"a": "long"})
    dev = main.create_branch("dev")
    dev.view("v").set_sql("select 1", schema={"b": "long"})
    assert [one.name for one in main.diff(dev)] == ["v"]
    main.merge(dev)
    assert main.view("v").schema.names == ("b",)


# Picks


def test_what_a_commit_had_made_did_not_come_again_when_it_was_picked_after_its_revert(main):
    with main.transaction() as work:
        work.create_namespace("s")
        work.create_table("s.t", {"id": "long"}).append(rows(1))
        work.create_view("s.v", "select 1")
    made = work.committed
    before = main.table("s.t").id
    main.revert(made)
    assert not main.namespace_exists("s")
    main.cherry_pick(made)
    assert (main.table("s.t").id, ids(main, "s.t"), main.view("s.v").sql) == (before, [1], {"spark": "select 1"})


# Strategies


def test_a_conflict_that_was_settled_came_back_when_the_other_side_merged_it(main):
    main.create_table("t", {"id": "long"})
    main.drop_table("t")
    dev = main.create_branch("dev")
    main.undrop_table("t")
    dev.create_table("t", {"id": "long"}).append(rows(1))
    [conflict] = dev.merge(main, strategy="ours").conflicts
    assert conflict.what == "name"
    main.merge(dev)
    assert (ids(main, "t"), main.table("t").id) == ([1], dev.table("t").id)


# Namespaces that come back


def test_a_table_in_a_namespace_that_both_sides_had_brought_back_never_came_over(main):
    main.create_namespace("s")
    dev = main.create_branch("dev")
    dev.create_table("s.t", {"id": "long"}).append(rows(1))
    main.drop_namespace("s")
    dev.merge(main, strategy="theirs")
    main.merge(dev)
    main.undrop_namespace("s")
    dev.undrop_namespace("s")
    main.merge(dev)
    assert ids(main, "s.t") == [1]
