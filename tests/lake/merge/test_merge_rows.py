"""Merges by row and by cell: what both sides may do to one file, one row and one cell."""

from datetime import date
from decimal import Decimal

import pytest

from lakebed import Catalog, Conflict, Invalid, RowConflict

ROWS = [{"id": number, "a": f"a{number}", "b": number} for number in range(1, 6)]


@pytest.fixture(params=["keyed", "without a key"])
def lines(request, main: Catalog):
    return two_lines(main, ["id"] if request.param == "keyed" else [])


@pytest.fixture
def keyed(main: Catalog):
    return two_lines(main, ["id"])


def two_lines(main: Catalog, key: list[str]) -> tuple[Catalog, Catalog]:
    """Two lines with one table whose five rows are in one file."""
    table = main.create_table("t", {"id": "long", "a": "string", "b": "long"}, primary_key=key)
    table.set_properties({"write.inline-bytes": "0"})
    table.append(ROWS)
    return main, main.create_branch("dev")


def seen(line: Catalog) -> dict[int, tuple[str, int]]:
    return {row["id"]: (row["a"], row["b"]) for row in line.table("t").scan().to_arrow().to_pylist()}


def conflicts(line: Catalog, other: Catalog) -> list[RowConflict]:
    return list(line.merge(other, dry_run=True).conflicts)


def test_changes_of_different_rows_of_one_file_both_take_effect_and_no_row_is_read(lines):
    main, dev = lines
    main.table("t").update({"a": "'main'"}, "id = 1")
    dev.table("t").update({"a": "'dev'"}, "id = 2")
    dev.table("t").delete("id = 3")
    result = main.merge(dev)
    assert seen(main) == {1: ("main", 1), 2: ("dev", 2), 4: ("a4", 4), 5: ("a5", 5)}
    assert result.conflicts == ()
    assert result.rows_read == 0


def test_cells_of_one_row_that_two_sides_changed_are_merged_and_the_row_keeps_its_id(lines):
    main, dev = lines
    before = {
        row["id"]: row["_row_id"] for row in main.table("t").scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    }
    main.table("t").update({"a": "'main'"}, "id = 1")
    dev.table("t").update({"b": "100"}, "id = 1")
    main.merge(dev)
    assert seen(main)[1] == ("main", 100)
    after = {
        row["id"]: row["_row_id"] for row in main.table("t").scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    }
    assert after == before
    dev.merge(main)
    assert seen(dev) == seen(main)
    assert main.diff(dev) == []


def update_b(value: int):
    return lambda table: table.update({"b": str(value)}, "id = 1")


def insert(text: str):
    return lambda table: table.append([{"id": 9, "a": text, "b": 9}])


def nothing_but_moved(table):
    table.compact()
    table.set_properties({"write.row-changes": "copy-on-write"})
    table.delete("id = 5")


MO_25 = {
    "update and another update": (update_b(7), update_b(8), ["row"]),
    "update and delete": (update_b(7), lambda table: table.delete("id = 1"), ["row"]),
    "insert and another insert": (insert("ours"), insert("theirs"), ["key"]),
    "the same update": (update_b(7), update_b(7), []),
    "the same delete": (lambda table: table.delete("id = 1"), lambda table: table.delete("id = 1"), []),
    "the same insert": (insert("same"), insert("same"), []),
    "update, and rows that were only moved": (update_b(7), nothing_but_moved, []),
    "delete, and rows that were only moved": (lambda table: table.delete("id = 1"), nothing_but_moved, []),
}


@pytest.mark.parametrize("case", MO_25)
@pytest.mark.parametrize("turned", [False, True])
def test_both_sides_change_a_row_as_mo_25_says(lines, unchanged, case, turned):
    main, dev = lines
    one, other, expected = MO_25[case]
    if "insert" in case and not main.table("t").primary_key:
        expected = []  # without a key they are two rows
    for line, change in zip((main, dev), (other, one) if turned else (one, other), strict=True):
        change(line.table("t"))
    assert [found.what for found in conflicts(main, dev)] == expected
    if expected:
        with unchanged(), pytest.raises(Conflict):
            main.merge(dev)
        return
    main.merge(dev)
    dev.merge(main)
    assert seen(main) == seen(dev)


@pytest.mark.parametrize("case", [name for name, (_, _, expected) in MO_25.items() if expected])
def test_taking_theirs_leaves_no_difference_in_disputed_rows(lines, case):
    main, dev = lines
    MO_25[case][0](main.table("t"))
    MO_25[case][1](dev.table("t"))
    main.table("t").update({"a": "'undisputed'"}, "id = 4")
    disputed = 9 if "insert" in case else 1
    main.merge(dev, strategy="theirs")
    if main.table("t").primary_key or "insert" not in case:
        assert seen(main).get(disputed) == seen(dev).get(disputed)
    assert seen(main)[4] == ("undisputed", 4)


def test_a_strategy_settles_the_disputed_cell_alone(lines):
    main, dev = lines
    main.table("t").update({"a": "'main'", "b": "10"}, "id = 1")
    dev.table("t").update({"b": "20"}, "id = 1")
    dev.table("t").update({"b": "30"}, "id = 2")
    main.merge(dev, strategy="theirs")
    assert (seen(main)[1], seen(main)[2]) == (("main", 20), ("a2", 30))


def test_a_conflict_shows_the_row_its_cells_and_who_changed_it(lines):
    main, dev = lines
    main.table("t").update({"b": "10"}, "id = 1", author="ada", message="tens")
    dev.table("t").update({"b": "20", "a": "'dev'"}, "id = 1", author="grace")
    [found] = conflicts(main, dev)
    assert (found.name, found.type, found.columns) == ("t", "table", ("b",))
    assert found.key == ({"id": 1} if main.table("t").primary_key else {})
    assert (found.base, found.ours) == ({"id": 1, "a": "a1", "b": 1}, {"id": 1, "a": "a1", "b": 10})
    assert found.theirs == {"id": 1, "a": "dev", "b": 20}
    assert (found.ours_commit.author, found.ours_commit.message, found.theirs_commit.author) == ("ada", "tens", "grace")
    assert "base b = 1, ours b = 10 by ada, theirs b = 20 by grace" in str(found)


def test_a_conflict_prints_decimals_and_dates_as_they_are_written_and_cuts_long_texts():
    row = {"price": Decimal("12.50"), "day": date(2026, 11, 1), "note": "n" * 80, "gone": None}
    printed = str(RowConflict("1", "t", "table", "row", {"price": Decimal("12.50")}, 1, (), None, row, None))
    assert printed.startswith("table t: row price = 12.50 (ours price = 12.50, day = 2026-11-01, note = 'nnnn")
    assert printed.endswith("nn…, gone = null, theirs deleted)")


def test_a_deleted_row_that_the_other_side_changed_shows_who_deleted_it(lines):
    main, dev = lines
    main.table("t").delete("id = 1", author="ada")
    dev.table("t").update({"b": "20"}, "id = 1", author="grace")
    [found] = conflicts(main, dev)
    assert (found.ours, found.theirs["b"], found.ours_commit.author) == (None, 20, "ada")
    assert "ours deleted by ada" in str(found)


def test_a_function_settles_each_row_by_itself(lines):
    main, dev = lines
    main.table("t").update({"b": "b + 10"}, "id < 5")
    dev.table("t").update({"b": "b + 20"}, "id < 4")
    dev.table("t").delete("id = 4")

    def decide(conflict):
        match conflict.base["id"]:
            case 1:
                return "ours"
            case 2:
                return "theirs"
            case 3:
                return {"b": conflict.ours["b"] + conflict.theirs["b"]}
            case _:
                return "theirs"

    result = main.merge(dev, resolve=decide)
    assert seen(main) == {1: ("a1", 11), 2: ("a2", 22), 3: ("a3", 36), 5: ("a5", 5)}
    assert len(result.conflicts) == 4


def test_decisions_by_table_and_key_settle_rows_and_the_rest_is_still_a_conflict(lines, unchanged):
    main, dev = lines
    main.table("t").update({"b": "b + 10"}, "id < 3")
    dev.table("t").update({"b": "b + 20"}, "id < 3")
    keyed = bool(main.table("t").primary_key)
    first, second = ((found.key["id"] if keyed else found.row_id) for found in conflicts(main, dev))
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev, resolve={"t": {first: "theirs"}})
    assert [found.base["id"] for found in caught.value.conflicts] == [2]
    main.merge(dev, resolve={"t": {first: "theirs", second: {"a": "decided"}}})
    assert (seen(main)[1], seen(main)[2]) == (("a1", 21), ("decided", 12))


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        (lambda conflict: "mine", "does not settle a conflict"),
        (lambda conflict: {"nope": 1}, "has a column that the table has not"),
        ({"t": "theirs"}, "not decisions"),
        ("theirs", "not decisions"),
    ],
)
def test_what_is_not_a_decision_is_refused(lines, unchanged, decision, problem):
    main, dev = lines
    main.table("t").update({"b": "10"}, "id = 1")
    dev.table("t").update({"b": "20"}, "id = 1")
    with unchanged(), pytest.raises(Invalid, match=problem):
        main.merge(dev, resolve=decision)


def test_a_row_that_was_replaced_by_another_with_its_key_is_the_same_row(keyed, unchanged):
    main, dev = keyed
    main.table("t").update({"a": "'main'"}, "id = 1")
    with dev.transaction("again") as transaction:
        transaction.table("t").delete("id = 1")
        transaction.table("t").append([{"id": 1, "a": "a1", "b": 50}])
    main.merge(dev)
    assert seen(main)[1] == ("main", 50)


def test_a_key_that_both_sides_give_to_different_rows_is_a_conflict(keyed, unchanged):
    main, dev = keyed
    main.table("t").update({"id": "9"}, "id = 1")
    dev.table("t").append([{"id": 9, "a": "new", "b": 9}])
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev)
    assert [(found.what, found.key) for found in caught.value.conflicts] == [("key", {"id": 9})]
    main.merge(dev, strategy="theirs")
    assert seen(main)[9] == ("new", 9)
    assert 1 not in seen(main)


def test_a_key_that_a_merged_row_gets_and_another_has_is_a_conflict(keyed, unchanged):
    """One side changes the key of a row, the other its cells, and inserts a row with the new key."""
    main, dev = keyed
    main.table("t").update({"id": "9"}, "id = 1")
    dev.table("t").update({"b": "50"}, "id = 1")
    dev.table("t").append([{"id": 9, "a": "new", "b": 9}])
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev)
    assert {found.what for found in caught.value.conflicts} == {"key"}
    for strategy, expected in (("ours", ("a1", 50)), ("theirs", ("new", 9))):
        line = main.create_branch(strategy)
        line.merge(dev, strategy=strategy)
        assert seen(line)[9] == expected
        assert line.table("t").scan("id = 9").count() == 1


def test_a_revert_leaves_later_changes_of_other_rows_of_its_files(lines):
    main, _ = lines
    table = main.table("t")
    undone = table.update({"a": "'wrong'"}, "id <= 2")
    table.update({"b": "40"}, "id = 4")
    table.delete("id = 5")
    table.update({"b": "20"}, "id = 2")
    main.revert(undone)
    assert seen(main) == {1: ("a1", 1), 2: ("a2", 20), 3: ("a3", 3), 4: ("a4", 40)}


def test_a_revert_of_a_delete_brings_the_rows_back_with_their_ids(lines):
    main, _ = lines
    table = main.table("t")
    before = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    undone = table.delete("id in (1, 2)")
    table.delete("id = 3")
    main.revert(undone)
    after = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    assert sorted(after, key=str) == sorted([row for row in before if row["id"] != 3], key=str)


def test_a_pick_takes_a_change_of_one_row_and_nothing_else(lines):
    main, dev = lines
    dev.table("t").update({"a": "'not this'"}, "id = 1")
    picked = dev.table("t").update({"b": "100"}, "id = 2")
    main.table("t").update({"a": "'main'"}, "id = 2")
    main.cherry_pick(picked)
    assert (seen(main)[1], seen(main)[2]) == (("a1", 1), ("main", 100))


def test_columns_that_one_side_added_and_set_meet_changes_of_the_other(lines):
    main, dev = lines
    with dev.table("t").evolve() as change:
        change.add_column("c", "long", default=5)
    dev.table("t").update({"c": "50"}, "id = 1")
    main.table("t").update({"a": "'main'"}, "id in (1, 2)")
    main.merge(dev)
    rows = {row["id"]: (row["a"], row["c"]) for row in main.table("t").scan().to_arrow().to_pylist()}
    assert rows == {1: ("main", 50), 2: ("main", 5), 3: ("a3", 5), 4: ("a4", 5), 5: ("a5", 5)}


def test_a_merge_with_an_event_id_is_one_commit(lines):
    main, dev = lines
    main.table("t").update({"a": "'main'"}, "id = 1")
    dev.table("t").update({"b": "9"}, "id = 1")
    first = main.merge(dev, event_id="7d7a5cbe-8a5b-4dd3-9a83-8f1b0cbf0a01")
    again = main.merge(dev, event_id="7d7a5cbe-8a5b-4dd3-9a83-8f1b0cbf0a01")
    assert first.commit == again.commit
    assert seen(main)[1] == ("main", 9)


def test_merges_of_disjoint_changes_give_the_same_rows_in_either_order(lines):
    main, dev = lines
    other = main.create_branch("other")
    dev.table("t").update({"a": "'dev'"}, "id in (1, 2)")
    other.table("t").update({"b": "7"}, "id in (2, 3)")
    other.table("t").delete("id = 5")
    one, two = main.create_branch("one"), main.create_branch("two")
    for line, sources in ((one, (dev, other)), (two, (other, dev))):
        for source in sources:
            line.merge(source)
    assert seen(one) == seen(two) == {1: ("dev", 1), 2: ("dev", 7), 3: ("a3", 7), 4: ("a4", 4)}


def test_a_merge_that_fails_or_is_tried_leaves_no_file(lines, lake):
    main, dev = lines
    main.table("t").update({"b": "10"}, "id = 1")
    dev.table("t").update({"b": "20"}, "id in (1, 2)")
    before = set(lake._context.files.list(""))
    with pytest.raises(Conflict):
        main.merge(dev)
    main.merge(dev, dry_run=True, strategy="theirs")
    assert set(lake._context.files.list("")) == before


def test_a_row_given_for_the_key_that_a_merged_row_got_was_lost_with_the_merged_row(keyed):
    main, dev = keyed
    main.table("t").update({"id": "9"}, "id = 1")
    dev.table("t").update({"b": "50"}, "id = 1")
    dev.table("t").append([{"id": 9, "a": "new", "b": 9}])
    main.merge(dev, resolve=lambda conflict: {"id": 9, "a": "decided", "b": 99})
    assert seen(main)[9] == ("decided", 99)
    assert main.table("t").scan("id = 9").count() == 1


def test_a_conflict_names_the_commit_that_changed_a_row_that_a_compaction_has_moved_since(keyed):
    main, dev = keyed
    main.table("t").update({"a": "'ours'"}, "id = 1", author="ann")
    main.table("t").append([{"id": 9, "a": "new", "b": 9}])
    main.table("t").compact(author="nobody")
    dev.table("t").update({"a": "'theirs'"}, "id = 1", author="bob")
    [conflict] = conflicts(main, dev)
    assert (conflict.ours_commit.author, conflict.theirs_commit.author) == ("ann", "bob")


@pytest.mark.parametrize("change", ["update", "delete"])
def test_a_conflict_names_the_author_on_the_branch_that_was_merged_and_not_who_merged_it(keyed, change):
    main, dev = keyed
    feature = dev.create_branch("feature")
    if change == "update":
        feature.table("t").update({"a": "'theirs'"}, "id = 1", author="eve")
    else:
        feature.table("t").delete("id = 1", author="eve")
    feature.table("t").append([{"id": 9, "a": "new", "b": 9}], author="later")
    dev.table("t").update({"a": "'other'"}, "id = 2", author="dan")
    dev.merge(feature, author="bob")
    dev.table("t").compact(author="nobody")
    main.table("t").update({"a": "'ours'"}, "id = 1", author="ann")
    [conflict] = conflicts(main, dev)
    assert (conflict.ours_commit.author, conflict.theirs_commit.author) == ("ann", "eve")
    main.drop_branch("feature")
    main.purge_branch("feature")
    assert conflicts(main, dev)[0].theirs_commit.author in ("bob", "eve")


def test_a_conflict_does_not_name_a_commit_that_only_copied_the_row(keyed):
    main, dev = keyed
    dev.table("t").update({"a": "'theirs'"}, "id = 1", author="eve")
    dev.table("t").set_properties({"write.row-changes": "copy-on-write"})
    dev.table("t").update({"a": "'beside'"}, "id = 2", author="copies")
    dev.table("t").delete("id = 3", author="copies too")
    main.table("t").update({"a": "'ours'"}, "id in (1, 3)", author="ann")
    found = {conflict.key["id"]: conflict.theirs_commit.author for conflict in conflicts(main, dev)}
    assert found == {1: "eve", 3: "copies too"}
