"""Merging branches: what comes over, once; bases, structure, keys."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Conflict, Forbidden, Invalid, NotFound
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import table_state


@pytest.fixture
def grown(main: Catalog) -> Catalog:
    main.create_namespace("s")
    for name in ("s.a", "s.b"):
        main.create_table(name, {"id": "long", "note": "string"}).append(rows(0))
    return main


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(line: Catalog, name: str) -> list[int]:
    return sorted(line.table(name).scan().to_arrow()["id"].to_pylist())


# What comes over


def test_new_objects_come_over_with_their_ids(grown):
    dev = grown.create_branch("dev")
    inner = dev.create_namespace("s.inner", properties={"owner": "ada"})
    table = dev.create_table("s.inner.t", {"x": "int"}, partition_by=["x"], comment="new")
    view = dev.create_view("s.inner.v", "select 1")
    table.append(pa.table({"x": pa.array([7], pa.int32())}))
    grown.merge(dev)
    assert (grown.namespace("s.inner").id, grown.namespace("s.inner").properties) == (inner.id, {"owner": "ada"})
    here = grown.table("s.inner.t")
    assert (here.id, here.comment, str(here.spec), here.schema) == (table.id, "new", str(table.spec), table.schema)
    assert here.scan().to_arrow()["x"].to_pylist() == [7]
    assert (grown.view("s.inner.v").id, grown.view("s.inner.v").sql) == (view.id, view.sql)


def test_what_came_over_can_be_written_on(grown):
    dev = grown.create_branch("dev")
    dev.create_table("s.new", {"id": "long"}).append(rows(1))
    grown.merge(dev)
    grown.table("s.new").append(rows(2))
    with grown.table("s.new").evolve() as change:
        change.add_column("more", "string")
    dev.table("s.new").append(rows(3))
    with dev.table("s.new").evolve() as change:
        change.add_column("other", "string")
    grown.merge(dev)
    assert ids(grown, "s.new") == [1, 2, 3]
    assert sorted(grown.table("s.new").schema.names) == ["id", "more", "other"]
    row_ids = [one.first_row_id for one in files(grown, "s.new")]
    assert len(set(row_ids)) == 3


def files(line: Catalog, name: str):
    table = line.table(name)
    work = table._scope.read()
    return list(live_files(work, table_state(work, table.id)).values())


def test_files_keep_their_row_ids_when_they_come_over(grown):
    dev = grown.create_branch("dev")
    grown.table("s.a").append(rows(1))
    dev.table("s.a").append(rows(2))
    theirs = {one.path: (one.first_row_id, one.seq_min) for one in files(dev, "s.a")}
    grown.merge(dev)
    merged = {one.path: (one.first_row_id, one.seq_min) for one in files(grown, "s.a")}
    assert {path: merged[path] for path in theirs} == theirs
    assert len({first for first, _ in merged.values()}) == 3


def test_a_merge_is_one_commit_with_both_parents_and_what_it_did_to_each_table(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    dev.table("s.b").set_properties({"k": "v"})
    before, history = grown.version, grown.log()
    commit = grown.merge(dev, message="bring it", author="bob").commit
    assert (commit.message, commit.author, len(commit.parents)) == ("bring it", "bob", 2)
    assert [one.line for one in commit.parents] == [grown._line.ref.line.id, dev._line.ref.line.id]
    assert [(one.type, one.name, one.detail) for one in commit.operations] == [
        ("merge_branch", "dev", ""),
        ("merge_branch", "s.a", "data"),
        ("merge_branch", "s.b", "properties"),
    ]
    assert commit.operations[1].counts["added_rows"] == 1
    assert grown.log() == [commit, *history]
    assert grown.table("s.a").history()[0] == commit
    assert ids(grown.at(before), "s.a") == [0]


def test_merging_again_adds_nothing(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    assert grown.merge(dev).commit is not None
    version = grown.version
    assert grown.merge(dev) == lakebed.MergeResult(None)
    assert grown.version == version
    dev.table("s.a").append(rows(2))
    grown.merge(dev)
    assert ids(grown, "s.a") == [0, 1, 2]


def test_parallel_merges_add_nothing_twice(lake, grown):
    dev = grown.create_branch("dev")
    for number in range(5):
        dev.table("s.a").append(rows(number + 1))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: lake.catalog().merge(dev), range(8)))
    assert sum(one.commit is not None for one in results) == 1
    assert ids(grown, "s.a") == [0, 1, 2, 3, 4, 5]


def test_branches_merge_back_and_forth(grown):
    dev = grown.create_branch("dev")
    for number in range(1, 5):
        dev.table("s.a").append(rows(number))
        grown.table("s.a").append(rows(number + 10))
        grown.merge(dev)
        dev.merge(grown)
        assert ids(grown, "s.a") == ids(dev, "s.a") == sorted([0, *range(1, number + 1), *range(11, number + 11)])
    assert grown.diff(dev) == []


def test_merges_that_cross_bring_nothing_twice(grown):
    """Both sides merge the other as it was before: there are two newest common ancestors."""
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    grown.table("s.a").append(rows(2))
    mine, other = grown.at(grown.version), dev.at(dev.version)
    grown.merge(other)
    dev.merge(mine)
    dev.table("s.a").append(rows(3))
    grown.merge(dev)
    assert ids(grown, "s.a") == [0, 1, 2, 3]
    dev.merge(grown)
    assert ids(dev, "s.a") == [0, 1, 2, 3]


def test_what_was_picked_and_then_merged_is_there_once(grown):
    dev = grown.create_branch("dev")
    picked = dev.table("s.a").append(rows(1))
    dev.table("s.a").append(rows(2))
    grown.cherry_pick(picked)
    assert ids(grown, "s.a") == [0, 1]
    grown.merge(dev)
    assert ids(grown, "s.a") == [0, 1, 2]


def test_a_grandchild_merges_into_its_grandparent(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    deep = dev.create_branch("deep")
    deep.table("s.a").append(rows(2))
    grown.merge(deep)
    assert ids(grown, "s.a") == [0, 1, 2]
    assert grown.merge(dev).commit is None
    dev.merge(deep)
    assert grown.diff(dev) == []


def test_siblings_merge(grown):
    one, other = grown.create_branch("one"), grown.create_branch("other")
    one.create_table("s.one", {"id": "long"}).append(rows(1))
    other.table("s.a").append(rows(2))
    one.merge(other)
    assert (ids(one, "s.a"), one.table_exists("s.one"), other.table_exists("s.one")) == ([0, 2], True, False)
    grown.merge(one)
    assert grown.merge(other).commit is None


def test_a_tag_or_a_version_of_a_branch_can_be_merged(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    dev.create_tag("half")
    at = dev.version
    dev.table("s.a").append(rows(2))
    other = grown.create_branch("other")
    grown.merge(dev.tag("half"))
    other.merge(dev.at(at))
    assert ids(grown, "s.a") == ids(other, "s.a") == [0, 1]


def test_a_commit_that_comes_between_is_not_lost_to_a_later_merge(grown, lake):
    """A merge's parent is what came before it on its line, not what it was computed from."""
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    other = grown.create_branch("other")
    between = []

    real = grown._line.context.metastore.commit

    def commit(change):
        if change.parents and not between:
            between.append(lake.catalog().table("s.b").append(rows(5)))
        return real(change)

    grown._line.context.metastore.commit = commit
    grown.merge(dev)
    grown._line.context.metastore.commit = real
    assert between
    other.merge(grown)
    assert ids(other, "s.b") == [0, 5]


def test_a_merge_that_met_a_change_is_made_anew(grown, lake):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    between = []
    real = grown._line.context.metastore.commit

    def commit(change):
        if change.parents and not between:
            between.append(lake.catalog().drop_table("s.a"))
        return real(change)

    grown._line.context.metastore.commit = commit
    with pytest.raises(Conflict) as caught:
        grown.merge(dev)
    grown._line.context.metastore.commit = real
    assert [row.what for row in caught.value.conflicts] == ["drop"]


# Structure


def test_two_namespaces_moved_into_each_other_are_a_conflict(grown, unchanged):
    grown.create_namespace("p")
    dev = grown.create_branch("dev")
    grown.rename_namespace("s", "p.s")
    dev.rename_namespace("p", "s.p")
    with unchanged(), pytest.raises(Conflict):
        grown.merge(dev)
    grown.merge(dev, strategy="theirs")
    assert grown.namespace_exists("s.p")
    assert grown.merge(dev).commit is None


def test_names_that_are_swapped_come_over(grown):
    dev = grown.create_branch("dev")
    with dev.transaction("swap") as tx:
        tx.rename_table("s.a", "s.c")
        tx.rename_table("s.b", "s.a")
        tx.rename_table("s.c", "s.b")
    before = grown.table("s.a").id, grown.table("s.b").id
    grown.merge(dev)
    assert (grown.table("s.b").id, grown.table("s.a").id) == before


def test_a_table_that_moved_into_a_new_namespace_comes_over(grown):
    dev = grown.create_branch("dev")
    dev.create_namespace("other")
    dev.rename_table("s.a", "other.moved")
    grown.table("s.a").append(rows(1))
    grown.merge(dev)
    assert ids(grown, "other.moved") == [0, 1]


def test_what_was_undropped_comes_back_by_a_merge(grown):
    grown.drop_table("s.a")
    dev = grown.create_branch("dev")
    dev.undrop_table("s.a")
    grown.merge(dev)
    assert ids(grown, "s.a") == [0]


# Keys


def test_one_key_with_two_contents_is_a_conflict_of_that_row(main, unchanged):
    main.create_table("t", {"id": "long", "note": "string"}, primary_key=["id"])
    dev = main.create_branch("dev")
    main.table("t").append(rows(1, 5, 9))
    dev.table("t").append([{"id": 4, "note": "theirs"}, {"id": 5, "note": "theirs"}])
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev)
    [row] = caught.value.conflicts
    assert (row.what, row.key, row.columns, row.base) == ("key", {"id": 5}, ("note",), None)
    assert (row.ours["note"], row.theirs["note"]) == (None, "theirs")


def test_one_key_with_the_same_contents_on_both_sides_is_one_row(main):
    main.create_table("t", {"id": "long", "note": "string"}, primary_key=["id"])
    dev = main.create_branch("dev")
    main.table("t").append(rows(1, 5, 9))
    dev.table("t").append(rows(4, 5))
    assert main.merge(dev).conflicts == ()
    assert ids(main, "t") == [1, 4, 5, 9]


@pytest.mark.parametrize("theirs", [(4, 6), (20, 30)])
def test_files_of_two_sides_without_a_common_key_merge(main, theirs):
    """Their bounds may overlap: then the keys are read."""
    main.create_table("t", {"id": "long", "note": "string"}, primary_key=["id"])
    dev = main.create_branch("dev")
    main.table("t").append(rows(1, 5, 9))
    dev.table("t").append(rows(*theirs))
    main.merge(dev)
    assert ids(main, "t") == sorted([1, 5, 9, *theirs])


# Bad input


def test_lines_of_two_catalogs_do_not_merge(grown, lake, unchanged):
    other = lake.create_catalog("other")
    other.create_namespace("n")
    for call in (grown.merge, grown.diff):
        with unchanged(), pytest.raises(Invalid, match="different catalogs"):
            call(other)
    with unchanged(), pytest.raises(Invalid, match="not on a branch of this catalog"):
        grown.cherry_pick(other.log(limit=1)[0])


@pytest.mark.parametrize("wrong", ["itself", "a name", "a strategy", "a past handle", "an unknown commit", "no commit"])
def test_what_can_not_be_merged_is_refused(grown, unchanged, wrong):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    calls = {
        "itself": (Invalid, lambda: grown.merge(grown)),
        "a name": (Invalid, lambda: grown.merge("dev")),
        "a strategy": (Invalid, lambda: grown.merge(dev, strategy="mine")),
        "a past handle": (Forbidden, lambda: grown.at(grown.version).merge(dev)),
        "an unknown commit": (NotFound, lambda: grown.cherry_pick(lakebed.event_id("nothing"))),
        "no commit": (Invalid, lambda: grown.revert(17)),
    }
    kind, call = calls[wrong]
    with unchanged(), pytest.raises(kind):
        call()


def test_the_same_event_id_is_one_merge(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    once = lakebed.event_id("merge")
    first = grown.merge(dev, event_id=once)
    dev.table("s.a").append(rows(2))
    assert grown.merge(dev, event_id=once).commit == first.commit
    assert ids(grown, "s.a") == [0, 1]
    with pytest.raises(Invalid):
        grown.merge(dev, strategy="ours", event_id=once)


def test_parallel_merges_of_branches_that_share_files_add_none_twice(lake, grown):
    """P22: a child has what its parent had at the fork, and both are merged at once, each by many."""
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1, 2))
    dev.create_table("s.new", {"id": "long"}).append(rows(7))
    child = dev.create_branch("child")
    child.table("s.a").append(rows(3))
    dev.table("s.a").append(rows(4))
    before = grown.log()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda line: lake.catalog().merge(line), [dev, child] * 4))
    commits = {one.commit.id for one in results if one.commit is not None}
    merges = grown.log()[: -len(before)]
    assert {one.id for one in merges} == commits
    assert len(merges) == 2
    assert all(one.operations[0].type == "merge_branch" for one in merges)
    assert grown.table("s.a").history()[:2] == merges
    assert grown.log()[2:] == before
    assert (ids(grown, "s.a"), ids(grown, "s.new")) == ([0, 1, 2, 3, 4], [7])
    assert sum(one.operations[1].counts.get("added_rows", 0) for one in merges if one.operations[1].name == "s.a") == 4


@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_a_column_that_one_side_dropped_and_the_other_wrote_is_gone_and_the_rows_are_there(grown, direction):
    """P23, the cell S: schema with data."""
    ours, theirs = grown, grown.create_branch("dev")
    if direction == "into dev":
        ours, theirs = theirs, ours
    with ours.table("s.a").evolve() as change:
        change.drop_column("note")
    theirs.table("s.a").append(pa.table({"id": [1], "note": ["written"]}))
    before = theirs.version
    ours.merge(theirs)
    assert (ours.table("s.a").schema.names, ids(ours, "s.a")) == (("id",), [0, 1])
    assert theirs.at(before).table("s.a").scan("id = 1").to_arrow()["note"].to_pylist() == ["written"]


@pytest.mark.parametrize("direction", ["into main", "into dev"])
def test_a_column_that_one_side_made_required_and_the_others_rows_lack_is_a_conflict(main, unchanged, direction):
    """P23, the cell S: a column becomes required when the commit that made it optional is reverted."""
    required = lakebed.Field("note", "string", required=True)
    table = main.create_table("t", lakebed.Schema([lakebed.Field("id", "long"), required]))
    with table.evolve() as change:
        change.make_optional("note")
    ours, theirs = main, main.create_branch("dev")
    if direction == "into dev":
        ours, theirs = theirs, ours
    main.revert(change.committed)
    main.branch("dev").table("t").append(rows(1))
    with unchanged(), pytest.raises(Conflict) as caught:
        ours.merge(theirs)
    [row] = caught.value.conflicts
    assert "note" in row.what


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
