"""Primary keys hold after a merge, or it is a conflict that shows the rows."""

import pytest

from lakebed import Catalog, Conflict, Field
from lakebed.arrow.read.read import read_except
from lakebed.arrow.rows import repeated_keys

ROWS = [{"a": 1, "b": 1, "v": "x"}, {"a": 5, "b": 6, "v": "y"}, {"a": 7, "b": 8, "v": "z"}]


@pytest.fixture(params=["0", "64000"], ids=["in files", "inline"])
def lines(request, main: Catalog):
    fields = [Field("a", "long", required=True), Field("b", "long", required=True), Field("v", "string")]
    table = main.create_table("t", fields, primary_key=["a", "b"])
    table.set_properties({"write.inline-bytes": request.param})
    table.append(ROWS)
    return main, main.create_branch("dev")


def found(line: Catalog, other: Catalog, **given) -> list[tuple]:
    """What each conflict is about, and the two rows that it shows."""
    conflicts = line.merge(other, dry_run=True, **given).conflicts
    return [(one.what, dict(one.key), one.ours and one.ours["v"], one.theirs and one.theirs["v"]) for one in conflicts]


def rows(line: Catalog) -> list[tuple]:
    return sorted(tuple(row.values()) for row in line.table("t").to_arrow().to_pylist())


def move(table, column: str, value: int, where: str) -> None:
    table.update({column: str(value)}, where)


def test_cells_of_both_sides_made_the_key_of_a_row_that_nobody_had_touched(lines, unchanged):
    main, dev = lines
    move(main.table("t"), "a", 5, "a = 1")
    move(dev.table("t"), "b", 6, "b = 1")
    clash = [("keys", {"a": 5, "b": 6}, "x", "y")]
    assert found(main, dev) == clash
    for given in ({}, {"strategy": "theirs"}, {"resolve": lambda conflict: "ours"}):
        with unchanged(), pytest.raises(Conflict, match="keys a = 5, b = 6"):
            main.merge(dev, **given)
    main.table("t").delete("v = 'y'")
    main.merge(dev)
    assert rows(main) == [(5, 6, "x"), (7, 8, "z")]


@pytest.mark.parametrize("far", [0, 10**6])
def test_cells_of_both_sides_made_the_key_of_a_row_that_one_side_added(lines, far):
    """Also where the bounds of the files of both sides have no key in common."""
    main, dev = lines
    move(main.table("t"), "a", far + 50, "a = 1")
    move(dev.table("t"), "b", far + 60, "b = 1")
    dev.table("t").append([{"a": far + 50, "b": far + 60, "v": "new"}])
    key = {"a": far + 50, "b": far + 60}
    assert found(main, dev) == [("key", key, "x", "new")]
    assert found(dev, main) == [("key", key, "new", "x")]
    for strategy, kept in (("ours", "x"), ("theirs", "new")):
        line = main.create_branch(strategy)
        line.merge(dev, strategy=strategy)
        assert rows(line) == sorted([(5, 6, "y"), (7, 8, "z"), (far + 50, far + 60, kept)])


def test_two_rows_with_cells_of_both_sides_got_one_key(lines, unchanged):
    main, dev = lines
    main.table("t").append([{"a": 10, "b": 20, "v": "one"}, {"a": 11, "b": 21, "v": "two"}])
    dev.merge(main)
    main.table("t").update({"a": "30"}, "a in (10, 11)")
    dev.table("t").update({"b": "40"}, "b in (20, 21)")
    [(what, key, *shown)] = found(main, dev)
    assert (what, key, sorted(shown)) == ("keys", {"a": 30, "b": 40}, ["one", "two"])
    with unchanged(), pytest.raises(Conflict):
        main.merge(dev, strategy="ours")


def test_a_row_that_was_given_for_a_conflict_had_the_key_of_another_one(lines, unchanged):
    main, dev = lines
    for line, value in ((main, "m"), (dev, "d")):
        line.table("t").update({"v": f"'{value}'"}, "a < 7")
    for given, clash in (
        (lambda conflict: {"a": 7, "b": 8}, {"a": 7, "b": 8}),  # of a row that nobody has changed
        (lambda conflict: {"a": 50, "b": 50}, {"a": 50, "b": 50}),  # of the other row that is given
    ):
        with unchanged(), pytest.raises(Conflict) as caught:
            main.merge(dev, resolve=given)
        assert {(one.what, *one.key.items()) for one in caught.value.conflicts} == {("keys", *clash.items())}
    swapped = {(1, 1): {"a": 5, "b": 6}, (5, 6): {"a": 1, "b": 1}}
    main.merge(dev, resolve={"t": swapped})
    assert rows(main) == [(1, 1, "m"), (5, 6, "m"), (7, 8, "z")]


def test_a_row_that_was_given_for_two_new_rows_had_the_key_of_a_third(lines, unchanged):
    main, dev = lines
    for line, value in ((main, "m"), (dev, "d")):
        line.table("t").append([{"a": 9, "b": 9, "v": value}])
    with unchanged(), pytest.raises(Conflict, match="keys a = 7, b = 8"):
        main.merge(dev, resolve=lambda conflict: {"a": 7, "b": 8})
    main.merge(dev, resolve=lambda conflict: {"a": 9, "b": 10})
    assert rows(main)[-1] == (9, 10, "m")


def test_rows_given_twice_for_a_key_that_one_side_added_had_one_key(lines):
    main, dev = lines
    for line, value in ((main, "m"), (dev, "d")):
        line.table("t").update({"v": f"'{value}'"}, "a < 7")
    dev.table("t").append([{"a": 70, "b": 70, "v": "new"}])
    with pytest.raises(Conflict, match="keys a = 70, b = 70"):
        main.merge(dev, resolve=lambda conflict: {"a": 70, "b": 70})


def test_a_kept_merge_was_finished_with_two_rows_under_one_key_and_can_be_decided_again(lines, unchanged):
    main, dev = lines
    for line, value in ((main, "m"), (dev, "d")):
        line.table("t").update({"v": f"'{value}'"}, "a = 1")
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    merging.decide({"t": {(1, 1): {"a": 5, "b": 6}}})
    assert [(one.what, one.key) for one in merging.conflicts] == [("keys", {"a": 5, "b": 6})]
    with unchanged(), pytest.raises(Conflict, match="keys a = 5, b = 6"):
        merging.finish()
    merging.decide({"t": {(1, 1): {"a": 5, "b": 60}}})
    merging.finish()
    assert rows(main) == [(5, 6, "y"), (5, 60, "m"), (7, 8, "z")]


@pytest.mark.parametrize("checked", ["true", "false"])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_key_that_one_side_narrowed_held_for_its_own_rows_alone(lines, unchanged, checked, compacted):
    main, dev = lines
    main.table("t").set_properties({"write.check-keys": checked})
    dev.table("t").append([{"a": 1, "b": 11, "v": "again"}, {"a": 8, "b": 1, "v": "p"}, {"a": 8, "b": 2, "v": "q"}])
    if compacted:
        dev.table("t").compact()
        main.table("t").compact()
    with main.table("t").evolve() as change:
        change.primary_key(["a"])
    here, there = found(main, dev), found(dev, main)
    for conflicts, turned in ((here, False), (there, True)):
        shown = {(what, key["a"], frozenset(sides)) for what, key, *sides in conflicts}
        assert shown == {("keys", 1, frozenset({"x", "again"})), ("keys", 8, frozenset({"p", "q"}))}, turned
        assert len(conflicts) == 2
    for line, other in ((main, dev), (dev, main)):
        with unchanged(), pytest.raises(Conflict):
            line.merge(other, strategy="theirs")
    dev.table("t").delete("b = 11 or b = 2")
    dev.merge(main)
    assert rows(dev) == [(1, 1, "x"), (5, 6, "y"), (7, 8, "z"), (8, 1, "p")]


def test_a_pick_of_one_cell_of_a_key_repeated_it(lines, unchanged):
    main, dev = lines
    move(main.table("t"), "a", 5, "a = 1")
    picked = dev.table("t").update({"b": "6"}, "a = 1")
    with unchanged(), pytest.raises(Conflict, match="keys a = 5, b = 6"):
        main.cherry_pick(picked)


def test_a_revert_of_one_cell_of_a_key_repeated_it(lines, unchanged):
    main, _ = lines
    table = main.table("t")
    undone = table.update({"a": "2"}, "a = 1")
    table.update({"b": "2"}, "a = 2")
    table.append([{"a": 1, "b": 2, "v": "taken"}])
    with unchanged(), pytest.raises(Conflict, match=r"keys? a = 1, b = 2"):
        main.revert(undone)


def test_a_pick_of_rows_with_a_key_that_has_been_narrowed_repeated_it(lines, unchanged):
    main, dev = lines
    with main.table("t").evolve() as change:
        change.primary_key(["a"])
    picked = dev.table("t").append([{"a": 1, "b": 11, "v": "again"}])
    with unchanged(), pytest.raises(Conflict, match="keys a = 1"):
        main.cherry_pick(picked)
    other = dev.table("t").append([{"a": 2, "b": 11, "v": "other"}])
    main.cherry_pick(other)
    assert (2, 11, "other") in rows(main)


def test_a_key_that_was_widened_again_by_a_revert_asks_for_nothing(lines):
    main, dev = lines
    with main.table("t").evolve() as change:
        change.primary_key(["a"])
    main.table("t").append([{"a": 3, "b": 1, "v": "n"}])
    main.revert(main.log(2)[1])
    dev.table("t").append([{"a": 3, "b": 2, "v": "n"}])
    main.merge(dev)
    assert main.table("t").primary_key == ("a", "b")
    assert len(rows(main)) == 5


def test_keys_are_read_only_of_files_that_may_have_one_that_was_written(lines, monkeypatch):
    main, dev = lines
    main.table("t").append([{"a": number, "b": number, "v": "far"} for number in range(1000, 1010)])
    dev.merge(main)
    read = []
    monkeypatch.setattr(
        repeated_keys, "read_except", lambda *given: read.append(given[1].file.num_rows) or read_except(*given)
    )
    main.table("t").update({"v": "'main'"}, "a = 5")
    dev.table("t").update({"b": "2"}, "a = 5")
    main.merge(dev)
    assert rows(main)[1] == (5, 2, "main")
    assert read == [3]  # not the far ones; rows whose key both sides have left as it was are not looked for at all
    main.table("t").update({"v": "'main'"}, "a = 7")
    dev.table("t").update({"v": "'dev'"}, "a = 7")
    main.merge(dev, strategy="theirs")
    assert read == [3]
