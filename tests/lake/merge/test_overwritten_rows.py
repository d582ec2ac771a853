"""Overwrites on one side of a merge, and rows that the other side added or changed."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Catalog, Conflict, RowConflict
from tests.lake.changes.test_changes_laws import a_lake
from tests.support.examples import examples

ROWS = [{"id": number, "a": "old", "b": number} for number in range(6)]


def two_lines(main: Catalog, key: list[str]) -> tuple[Catalog, Catalog]:
    table = main.create_table("t", {"id": "long", "a": "string", "b": "long"}, primary_key=key)
    table.append(ROWS)
    return main, main.create_branch("dev")


@pytest.fixture(params=["keyed", "without a key"])
def lines(request, main: Catalog):
    return two_lines(main, ["id"] if request.param == "keyed" else [])


def seen(line: Catalog) -> list[tuple[int, str, int]]:
    return sorted(tuple(row.values()) for row in line.table("t").scan().to_arrow().to_pylist())


def conflicts(line: Catalog, other: Catalog) -> list[RowConflict]:
    return list(line.merge(other, dry_run=True).conflicts)


def row(id: int, a: str, b: int | None = None) -> dict:
    return {"id": id, "a": a, "b": id if b is None else b}


def test_an_overwrite_of_one_row_does_not_dispute_the_other_rows_of_its_file(lines):
    main, dev = lines
    main.table("t").overwrite([row(1, "ours")], where="id = 1")
    dev.table("t").update({"a": "'theirs'"}, "id = 3")
    dev.table("t").append([row(77, "theirs")])
    result = main.merge(dev)
    assert (result.conflicts, result.rows_read) == ((), 0)
    expected = [(0, "old", 0), (1, "ours", 1), (2, "old", 2), (3, "theirs", 3), (4, "old", 4), (5, "old", 5)]
    assert seen(main) == [*expected, (77, "theirs", 77)]
    dev.merge(main)
    assert seen(dev) == seen(main)


def test_overwrites_of_different_rows_of_one_file_both_take_effect(lines):
    main, dev = lines
    main.table("t").overwrite([row(1, "ours")], where="id = 1")
    dev.table("t").overwrite([row(2, "theirs")], where="id = 2")
    assert main.merge(dev).conflicts == ()
    assert seen(main)[:3] == [(0, "old", 0), (1, "ours", 1), (2, "theirs", 2)]


def test_a_new_row_among_overwritten_ones_is_a_conflict_of_that_row(lines, unchanged):
    main, dev = lines
    main.table("t").overwrite([row(100, "ours")], where="id >= 100")
    dev.table("t").append([row(50, "beside"), row(150, "inside")])
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev)
    [conflict] = caught.value.conflicts
    assert (conflict.what, conflict.base, conflict.ours, conflict.theirs) == (
        "overwrite",
        None,
        None,
        row(150, "inside"),
    )
    assert str(conflict).startswith("table t: overwrite of row ")
    assert "ours not there, theirs id = 150, a = 'inside', b = 150" in str(conflict)
    assert [turned.ours for turned in conflicts(dev, main)] == [row(150, "inside")]


@pytest.mark.parametrize(("strategy", "is_kept"), [("ours", False), ("theirs", True)])
def test_a_strategy_settles_a_new_row_among_overwritten_ones_alone(lines, strategy, is_kept):
    main, dev = lines
    main.table("t").overwrite([row(100, "ours")], where="id >= 100")
    dev.table("t").append([row(50, "beside"), row(150, "inside")])
    dev.table("t").delete("id = 0")
    main.merge(dev, strategy=strategy)
    assert [found[0] for found in seen(main)] == [1, 2, 3, 4, 5, 50, 100, *([150] if is_kept else [])]
    assert main.merge(dev, strategy=strategy).commit is None


@pytest.mark.parametrize("turned", [False, True], ids=["theirs changed it", "ours changed it"])
def test_a_row_that_was_changed_into_overwritten_ones_stays_as_the_winner_has_it(lines, turned):
    main, dev = lines[::-1] if turned else lines
    main.table("t").overwrite([row(100, "new")], where="b >= 100")
    dev.table("t").update({"b": "b + 100"}, "id = 3")
    dev.table("t").update({"a": "'beside'"}, "id = 4")
    one, other = (dev, main) if turned else (main, dev)
    [conflict] = conflicts(one, other)
    assert (conflict.what, conflict.columns, conflict.base) == ("overwrite", ("b",), row(3, "old"))
    row_id = conflict.row_id
    for strategy in ("ours", "theirs"):
        copy = one.create_branch(f"by {strategy}")
        copy.merge(other, strategy=strategy)
        stays = (strategy == "ours") is not turned
        assert [found for found in seen(copy) if found[0] in (3, 4)] == [
            (3, "old", 3 if stays else 103),
            (4, "beside", 4),
        ]
        [again] = copy.table("t").scan(where="id = 3", columns=["_row_id"]).to_arrow().to_pylist()
        assert again["_row_id"] == row_id
    copy = one.create_branch("by hand")
    copy.merge(other, resolve=lambda found: {"b": 7})
    assert [found for found in seen(copy) if found[0] == 3] == [(3, "old", 7)]


def test_a_whole_overwrite_disputes_what_the_other_side_added_or_changed_row_by_row(main):
    main, dev = two_lines(main, [])
    main.table("t").overwrite([row(9, "ours")])
    dev.table("t").update({"a": "'theirs'"}, "id = 3")
    dev.table("t").delete("id = 4")
    dev.table("t").append([row(50, "theirs")])
    found = conflicts(main, dev)
    assert sorted((one.what, one.theirs["id"]) for one in found) == [("overwrite", 50), ("row", 3)]
    copy = main.create_branch("ours")
    copy.merge(dev, strategy="ours")
    assert seen(copy) == [(9, "ours", 9)]
    main.merge(dev, strategy="theirs")
    assert seen(main) == [(3, "theirs", 3), (9, "ours", 9), (50, "theirs", 50)]


def test_a_row_that_stays_as_it_was_and_a_new_one_with_its_key_are_a_conflict(main, unchanged):
    """The side that moved the key away lost the dispute, and has given the key to another row."""
    main, dev = two_lines(main, ["id"])
    main.table("t").overwrite([row(100, "ours")], where="id >= 100")
    dev.table("t").update({"id": "150"}, "id = 3")
    dev.table("t").append([row(3, "again")])
    with unchanged(), pytest.raises(Conflict, match="keys"):
        main.merge(dev, strategy="ours")
    main.merge(dev, strategy="theirs")
    assert [found[:2] for found in seen(main) if found[0] in (3, 150)] == [(3, "again"), (150, "old")]


def test_a_row_that_an_overwrite_wrote_again_under_its_key_is_merged_cell_by_cell(main):
    main, dev = two_lines(main, ["id"])
    main.table("t").overwrite([row(1, "ours")], where="id = 1")
    dev.table("t").update({"b": "70"}, "id = 1")
    assert main.merge(dev).conflicts == ()
    assert seen(main)[1] == (1, "ours", 70)


def test_one_key_that_both_sides_overwrote_is_one_conflict(main):
    main, dev = two_lines(main, ["id"])
    main.table("t").overwrite([row(1, "ours"), row(10, "ours")], where="id in (1, 10)")
    dev.table("t").overwrite([row(1, "theirs"), row(10, "theirs")], where="id in (1, 10)")
    assert sorted((one.what, one.key["id"]) for one in conflicts(main, dev)) == [("key", 10), ("row", 1)]
    main.merge(dev, strategy="theirs")
    assert [found[:2] for found in seen(main) if found[0] in (1, 10)] == [(1, "theirs"), (10, "theirs")]


def test_rows_that_were_only_moved_are_not_among_overwritten_ones(lines):
    main, dev = lines
    main.table("t").overwrite([row(100, "ours")], where="id >= 100 and upper(a) = 'OURS'")
    dev.table("t").set_properties({"write.row-changes": "copy-on-write"})
    dev.table("t").delete("id = 0")
    dev.table("t").compact()
    assert main.merge(dev).conflicts == ()
    assert [found[0] for found in seen(main)] == [1, 2, 3, 4, 5, 100]


def test_an_overwrite_after_a_column_was_renamed_and_dropped_knows_its_rows(lines):
    main, dev = lines
    main.table("t").overwrite([row(100, "ours")], where="b >= 100")
    with main.table("t").evolve() as change:
        change.drop_column("b")
    dev.table("t").append([row(50, "beside"), row(150, "inside")])
    assert [one.theirs["id"] for one in conflicts(main, dev)] == [150]


@pytest.mark.parametrize(
    ("spec", "meets"),
    [("region", 1), ("day(at)", 1), ("month(at)", 1), ("hour(at)", 1), ("year(at)", 3), ("bucket(4, id)", 3)],
)
def test_an_overwrite_of_partitions_disputes_rows_of_these_partitions(main, spec, meets):
    columns = {"id": "long", "region": "string", "at": "timestamptz"}
    table = main.create_table("t", columns, partition_by=[spec])
    first, second = "2026-01-01T00:30:00Z", "2026-02-01T00:30:00Z"
    table.append([made(1, "us", first), made(2, "eu", second), made(3, None, None)])
    dev = main.create_branch("dev")
    table.overwrite_partitions([made(9, "us", first)])
    dev.table("t").append([made(4, "eu", second), made(5, "us", first), made(6, "eu", second)])
    found = conflicts(main, dev)
    assert {one.what for one in found} == {"overwrite"}
    assert len(found) == meets
    assert 5 in {one.theirs["id"] for one in found}


def made(id: int, region: str | None, at: str | None) -> dict:
    return {"id": id, "region": region, "at": None if at is None else datetime.fromisoformat(at)}


# Beside a dictionary of rows.

STEP = st.tuples(st.sampled_from(["insert", "update", "move", "delete", "compact"]), st.integers(0, 9))
OVERWRITE = st.none() | st.tuples(st.sampled_from(["id", "b"]), st.integers(0, 40), st.integers(0, 12))


class Side:
    """One line, and its rows by an id that they keep."""

    def __init__(self, line: Catalog, rows: dict[int, dict], place: int) -> None:
        self.line, self.rows, self.place, self.count = line, dict(rows), place, 0
        self.overwritten = lambda found: False

    def fresh(self) -> int:
        self.count += 1
        return 1000 * (self.place + 1) + self.count

    def step(self, name: str, number: int) -> None:
        table, chosen = self.line.table("t"), {uid for uid, found in self.rows.items() if found["id"] == number}
        value = self.fresh()
        if name == "insert":
            new = {"id": number + 10, "a": f"{value}", "b": number}
            table.append([new])
            self.rows[value] = new
        elif name == "compact":
            table.compact()
        elif name == "delete":
            table.delete(f"id = {number}")
            self.rows = {uid: found for uid, found in self.rows.items() if uid not in chosen}
        else:
            cells = {"a": f"{value}"} if name == "update" else {"b": value % 40}
            table.update({name: repr(cell) for name, cell in cells.items()}, f"id = {number}")
            self.rows |= {uid: self.rows[uid] | cells for uid in chosen}

    def overwrite(self, column: str, low: int, width: int) -> None:
        new = {"id": low, "a": "over", "b": low}
        self.line.table("t").overwrite([new], where=f"{column} >= {low} and {column} <= {low + width}")
        self.overwritten = lambda found: low <= found[column] <= low + width
        self.rows = {uid: found for uid, found in self.rows.items() if not self.overwritten(found)}
        self.rows[self.fresh()] = new


def expected(base: dict, ours: Side, theirs: Side, strategy: str) -> tuple[list[dict], int]:
    """The rows after a merge, and how many conflicts it has."""
    merged, found = [], 0
    for uid in sorted(base.keys() | ours.rows.keys() | theirs.rows.keys()):
        before, mine, other = base.get(uid), ours.rows.get(uid), theirs.rows.get(uid)
        winner = mine if strategy == "ours" else other
        if mine == before and other != before:
            is_disputed = other is not None and ours.overwritten(other)
            row = winner if is_disputed else other
        elif other == before and mine != before:
            is_disputed = mine is not None and theirs.overwritten(mine)
            row = winner if is_disputed else mine
        elif mine is None or other is None or before is None:
            is_disputed, row = mine != other, winner
        else:
            cells = {name: (before[name], mine[name], other[name]) for name in before}
            is_disputed = any(len(set(values)) == 3 for values in cells.values())
            row = {
                name: there if here == was else here if there == was or strategy == "ours" else there
                for name, (was, here, there) in cells.items()
            }
        found += is_disputed
        merged += [] if row is None else [row]
    return merged, found


@given(st.lists(STEP, max_size=3), OVERWRITE, st.lists(STEP, max_size=3), OVERWRITE, st.booleans())
@settings(max_examples=examples(6, 1500), deadline=None, derandomize=examples(1, 0) == 1)
def test_overwrites_merge_as_a_dictionary_of_rows_does(mine, my_overwrite, other, other_overwrite, in_files):
    with a_lake() as lake:
        main, dev = two_lines(lake.catalog(), [])
        if in_files:
            for line in (main, dev):
                line.table("t").set_properties({"write.inline-bytes": "0"})
        base = dict(enumerate(ROWS))
        sides = [Side(main, base, 0), Side(dev, base, 1)]
        for side, steps, overwrite in zip(sides, (mine, other), (my_overwrite, other_overwrite), strict=True):
            for step in steps:
                side.step(*step)
            if overwrite is not None:
                side.overwrite(*overwrite)
        for strategy in ("ours", "theirs"):
            rows, count = expected(base, *sides, strategy)
            copy = main.create_branch(strategy)
            assert len(copy.merge(dev, strategy=strategy).conflicts) == count
            assert seen(copy) == sorted(tuple(found.values()) for found in rows)
