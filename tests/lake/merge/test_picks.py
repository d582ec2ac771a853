"""Cherry-pick and revert: one commit done again, or undone."""

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Conflict, Invalid
from tests.support.changed_files import append_file, compact, live


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


def test_a_commit_of_many_tables_is_picked_and_reverted_as_a_whole(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(7))
    with dev.transaction("both") as tx:
        tx.table("s.a").append(rows(1))
        tx.table("s.b").append(rows(2))
        tx.create_table("s.c", {"id": "long"}).append(rows(3))
        tx.table("s.b").set_properties({"k": "v"})
    picked = grown.cherry_pick(tx.committed, message="pick")
    assert [ids(grown, name) for name in ("s.a", "s.b", "s.c")] == [[0, 1], [0, 2], [3]]
    assert (picked.message, picked.parents, picked.operations[0].type) == ("pick", (), "cherry_pick")
    grown.revert(picked)
    assert [ids(grown, name) for name in ("s.a", "s.b")] == [[0], [0]]
    assert (grown.table_exists("s.c"), grown.table("s.b").properties) == (False, {})
    assert grown.diff(grown.at(picked.version.previous())) == []


def test_a_revert_leaves_what_came_later(grown):
    first = grown.table("s.a").append(rows(1))
    grown.table("s.a").append(rows(2))
    grown.table("s.a").set_properties({"k": "v"})
    grown.revert(first)
    assert (ids(grown, "s.a"), grown.table("s.a").properties) == ([0, 2], {"k": "v"})


def test_a_revert_of_a_revert_brings_it_back(grown):
    first = grown.table("s.a").append(rows(1))
    grown.revert(grown.revert(first))
    assert ids(grown, "s.a") == [0, 1]


def test_what_was_reverted_can_be_picked_again(grown):
    dev = grown.create_branch("dev")
    made = dev.table("s.a").append(rows(1))
    grown.revert(grown.merge(dev).commit)
    assert ids(grown, "s.a") == [0]
    grown.cherry_pick(made)
    assert ids(grown, "s.a") == [0, 1]


def test_a_merge_that_was_reverted_stays_reverted(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    grown.revert(grown.merge(dev).commit)
    dev.table("s.a").append(rows(2))
    grown.merge(dev)
    assert ids(grown, "s.a") == [0, 2]


def test_drops_and_renames_are_reverted(grown):
    dropped, table = grown.drop_table("s.a"), grown.table("s.b")
    grown.revert(dropped)
    assert ids(grown, "s.a") == [0]
    grown.revert(table.rename("s.c"))
    assert table.name == "s.b"
    grown.revert(grown.drop_namespace("s", cascade=True))
    assert ids(grown, "s.b") == [0]


def test_a_create_that_was_filled_since_is_no_longer_reverted(grown, unchanged):
    grown.create_table("s.c", {"id": "long"})
    made = grown.log(limit=1)[0]
    grown.table("s.c").append(rows(1))
    with unchanged(), pytest.raises(Conflict):
        grown.revert(made)


def test_schema_changes_are_reverted(grown):
    table = grown.table("s.a")
    with table.evolve() as change:
        change.add_column("x", "int")
    made = grown.log(limit=1)[0]
    table.append(rows(1))
    grown.revert(made)
    assert (table.schema.names, ids(grown, "s.a")) == (("id", "note"), [0, 1])


def test_a_column_whose_rows_are_null_since_does_not_become_required_again(main, unchanged):
    table = main.create_table("t", lakebed.Schema([lakebed.Field("id", "long", required=True)]))
    table.append(rows(1))
    with table.evolve() as change:
        change.make_optional("id")
    made = main.log(limit=1)[0]
    table.append(rows(2))
    reverted = main.revert(made)
    assert table.schema.field("id").required
    main.revert(reverted)
    table.append(pa.table({"id": pa.array([None], pa.int64())}))
    with unchanged(), pytest.raises(Conflict) as caught:
        main.revert(made)
    assert [row.what for row in caught.value.conflicts] == ["column id: required"]


def test_files_that_were_compacted_since_are_reverted_out_of_their_rewrite(main):
    main.create_table("t", {"id": "long"})
    kept = append_file(main.table("t"))
    gone = append_file(main.table("t"))
    made = main.log(limit=1)[0]
    compact(main.table("t"))
    main.revert(made)
    assert live(main.table("t")) == {kept: ""}
    assert gone not in live(main.table("t"))


def test_rows_are_followed_through_a_rewrite_that_was_changed_since(main, unchanged):
    table = main.create_table("t", {"id": "long"})
    table.append(rows(1, 2))
    made = table.append(rows(3, 4))
    table.compact()
    table.delete("id = 1")
    main.revert(made)
    assert table.scan().to_arrow()["id"].to_pylist() == [2]


def test_a_revert_of_rows_that_were_changed_since_is_a_conflict_of_these_rows(main, unchanged):
    table = main.create_table("t", {"id": "long", "note": "string"})
    made = table.append([{"id": 1, "note": "a"}, {"id": 2, "note": "b"}])
    table.update({"note": "'later'"}, "id = 2")
    with unchanged(), pytest.raises(Conflict) as caught:
        main.revert(made)
    [row] = caught.value.conflicts
    assert (row.ours, row.theirs) == ({"id": 2, "note": "later"}, None)


def test_an_overwrite_of_other_rows_lets_an_append_in(main, unchanged):
    main.create_table("t", {"id": "long"}).append(rows(1))
    dev = main.create_branch("dev")
    dev.table("t").append(rows(50))
    main.table("t").overwrite(rows(2), where="id < 10")
    main.merge(dev)
    assert ids(main, "t") == [2, 50]
    dev.table("t").append(rows(5))
    with unchanged(), pytest.raises(Conflict):
        main.merge(dev)


@pytest.mark.parametrize("where", [None, "id < 10"])
def test_an_overwrite_that_came_by_merge_still_meets_appends(main, unchanged, where):
    main.create_table("t", {"id": "long"}).append(rows(1))
    dev, late = main.create_branch("dev"), main.create_branch("late")
    dev.table("t").overwrite(rows(2), where=where)
    main.merge(dev)
    late.table("t").append(rows(50))
    if where is None:
        with unchanged(), pytest.raises(Conflict):
            main.merge(late)
    else:
        main.merge(late)
    late.table("t").append(rows(5))
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(late)
    assert {row.what for row in caught.value.conflicts} == {"overwrite"}


def test_a_commit_of_another_line_is_not_reverted(grown, unchanged):
    dev = grown.create_branch("dev")
    made = dev.table("s.a").append(rows(1))
    with unchanged(), pytest.raises(Invalid, match="not part of this branch"):
        grown.revert(made)
    grown.merge(dev)
    grown.revert(made)
    assert ids(grown, "s.a") == [0]


def test_a_pick_into_a_namespace_that_is_not_there_is_a_conflict(grown, unchanged):
    dev = grown.create_branch("dev")
    dev.create_namespace("n")
    dev.create_table("n.t", {"id": "long"})
    with unchanged(), pytest.raises(Conflict) as caught:
        grown.cherry_pick(dev.log(limit=1)[0])
    assert [row.what for row in caught.value.conflicts] == ["namespace n"]


def test_a_picked_change_of_a_table_that_is_not_there_is_a_conflict(grown, unchanged):
    dev = grown.create_branch("dev")
    made = dev.create_table("s.new", {"id": "long"}).append(rows(1))
    with unchanged(), pytest.raises(Conflict):
        grown.cherry_pick(made)


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


def test_rows_that_a_branch_brought_back_were_lost_where_both_had_brought_them_back_and_one_merged_their_end(main):
    """The machine of rows found it: main had given the rows up by a merge, so that they came back as any others."""
    table = main.create_table("t", {"id": "long"})
    added = table.append([{"id": 1}])
    dev = main.create_branch("dev")
    for line in (main, dev):
        undone = line.revert(added)
        if line is dev:
            without = line.at(line.version)
        line.revert(undone)
    main.merge(without)
    assert main.table("t").scan().count() == 0
    main.merge(dev)
    assert main.table("t").scan().to_arrow().to_pylist() == [{"id": 1}]


FORMS = {
    "inline": {},
    "in files": {"write.inline-bytes": "0"},
    "copied on write": {"write.inline-bytes": "0", "write.row-changes": "copy-on-write"},
}
AGAIN = {
    "an insert": lambda table: table.append([{"id": 9, "a": "new"}]),
    "an update": lambda table: table.update({"a": "'x'"}, "id < 2"),
    "a delete": lambda table: table.delete("id < 2"),
}


@pytest.mark.parametrize("key", [[], ["id"]], ids=["without a key", "keyed"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", AGAIN)
def test_what_was_reverted_is_picked_again(main, change, form, key):
    """What it did: a reverted delete was picked without an effect, and a reverted update was a conflict."""
    table = main.create_table("t", {"id": "long", "a": "string"}, primary_key=key, properties=FORMS[form])
    table.append([{"id": number, "a": "a"} for number in range(4)])
    commit = AGAIN[change](table)
    changed = sorted(table.scan().to_arrow().to_pylist(), key=str)
    main.revert(commit)
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) != changed
    main.cherry_pick(commit)
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == changed


def disputed(main: Catalog) -> tuple[Catalog, lakebed.Commit]:
    """A commit of dev, and a later change of main: one row in dispute, and two that nobody disputes."""
    columns = {"id": "long", "a": "string", "b": "string"}
    main.create_table("t", columns, primary_key=["id"]).append([{"id": id, "a": "a", "b": "b"} for id in range(3)])
    dev = main.create_branch("dev")
    made = dev.table("t").update({"a": "'theirs'"}, "id < 2")
    main.table("t").update({"a": "'ours'", "b": "'kept'"}, "id = 1")
    return dev, made


def cells(line: Catalog) -> list[tuple[str, str]]:
    rows = sorted(line.table("t").scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    return [(row["a"], row["b"]) for row in rows]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"strategy": "ours"}, ("ours", "kept")),
        ({"strategy": "theirs"}, ("theirs", "kept")),
        ({"resolve": lambda found: {"a": f"{found.ours['a']}+{found.theirs['a']}"}}, ("ours+theirs", "kept")),
        ({"resolve": {"t": {1: "theirs"}}}, ("theirs", "kept")),
        ({"resolve": [{"name": "t", "key": 1, "decision": "theirs"}]}, ("theirs", "kept")),
        ({"resolve": pa.table({"name": ["t"], "key": [1], "decision": ["theirs"]})}, ("theirs", "kept")),
        ({"resolve": lambda found: None, "strategy": "ours"}, ("ours", "kept")),
    ],
    ids=["ours", "theirs", "a function", "a mapping", "rows", "a table", "nothing, then ours"],
)
def test_a_pick_settles_the_disputed_row_alone(main, given, expected):
    _, made = disputed(main)
    with pytest.raises(Conflict):
        main.cherry_pick(made)
    main.cherry_pick(made, **given)
    assert cells(main) == [("theirs", "b"), expected, ("a", "b")]


@pytest.mark.parametrize(("strategy", "expected"), [("ours", "later"), ("theirs", "a")])
def test_a_revert_settles_the_disputed_row_alone(main, strategy, expected):
    main.create_table("t", {"id": "long", "a": "string", "b": "string"}, primary_key=["id"]).append(
        [{"id": id, "a": "a", "b": "b"} for id in range(3)]
    )
    made = main.table("t").update({"a": "'wrong'"})
    main.table("t").update({"a": "'later'", "b": "'kept'"}, "id = 1")
    with pytest.raises(Conflict):
        main.revert(made)
    main.revert(made, strategy=strategy)
    assert cells(main) == [("a", "b"), (expected, "kept"), ("a", "b")]


@pytest.mark.parametrize("call", ["cherry_pick", "revert"])
def test_an_unknown_strategy_of_a_pick_or_revert_is_refused(main, call):
    _, made = disputed(main)
    with pytest.raises(Invalid, match="not a strategy"):
        getattr(main, call)(made, strategy="mine")


def test_a_pick_with_an_event_id_is_done_once_whatever_its_strategy(main):
    _, made = disputed(main)
    event = "0191d1f0-0000-7000-8000-000000000001"
    first = main.cherry_pick(made, strategy="theirs", event_id=event)
    assert main.cherry_pick(made, strategy="theirs", event_id=event) == first
